"""Tests."""

from __future__ import annotations

import errands
from errands.plots.charts import (
    Point,
    count_text,
    draw_runtimes,
    draw_sizes,
    machine_sizes,
    runtimes,
)

MEASURED = [("qcorm", 3, 0.3), ("qcorm", 2, 0.1), ("qcorm", 2, 0.2), ("qcorm", 2, 0.3), ("crm agenda", 2, 1.0)]


def test_a_point_is_the_median_of_its_seeds_and_points_go_by_size():
    lines = runtimes("Delivery", MEASURED).lines
    assert [(p.subtasks, round(p.median, 3)) for p in lines["qcorm"]] == [(2, 0.2), (3, 0.3)]
    assert lines["crm agenda"] == (Point(2, 1.0, 1.0, 1.0),)


def test_the_axis_of_seconds_is_logarithmic_and_sizes_are_whole():
    axes = draw_runtimes(runtimes("Delivery", MEASURED)).axes[0]
    assert axes.get_yscale() == "log"
    assert [t.get_text() for t in axes.get_xticklabels()] == ["2", "3"]


def test_the_axis_does_not_zoom_into_noise():
    low, high = draw_runtimes(runtimes("Water", [("qcorm", 2, 1.00), ("qcorm", 3, 1.02)])).axes[0].get_ylim()
    assert high / low >= 2


SIZES = machine_sizes("Delivery", [errands.load(f"delivery-{n}").machine for n in (12, *range(2, 9))])


def test_sizes_are_those_counted_on_paper():
    assert SIZES.subtasks == (2, 3, 4, 5, 6, 7, 8, 12)
    assert SIZES.counts["boolean"][:7] == (9, 31, 129, 651, 3_913, 27_399, 219_201)
    assert SIZES.counts["agenda"] == tuple(2 ** (n + 1) - 1 for n in SIZES.subtasks)
    assert SIZES.counts["coupled"] == tuple(n * 2 ** (n - 1) + 2**n for n in SIZES.subtasks)
    assert SIZES.counts["policies"] == tuple(n + 1 for n in SIZES.subtasks)


def test_the_figure_ends_each_line_with_its_count():
    words = [t.get_text() for t in draw_sizes(SIZES).axes[0].texts]
    assert words == ["boolean, 2.6e9", "coupled, 28,672", "agenda, 8,191", "policies, 13"]


def test_counts_beyond_a_million_are_rounded():
    assert (count_text(999_999), count_text(27 * 10**12)) == ("999,999", "2.7e13")
