"""Tests."""

from __future__ import annotations

import errands
from errands.analysis.compare import summarise_all
from errands.analysis.curve import curve_of
from errands.plots.charts import (
    Bar,
    Point,
    bars,
    count_text,
    draw_bars,
    draw_runtimes,
    draw_sizes,
    machine_sizes,
    runtimes,
)
from errands.plots.style import GREY
from errands.tables import Evaluation


def curve(name, *firsts):
    """Seeds whose first optimal evaluation is at these steps; None never."""
    rows = [[Evaluation(s, 10 if f and s >= f else 20, 1.0, True) for s in (100, 200, 300)] for f in firsts]
    return curve_of(name, "t", rows, 10.0)


CURVES = [curve("slow", 300, 300, 200), curve("never", None, None, 100), curve("fast", 100, 100, 100)]
VALUE = bars(summarise_all(CURVES))


def test_the_fastest_method_comes_first_and_one_that_mostly_fails_last():
    assert VALUE.bars == (
        Bar("fast", 100, 100, 100, 3, 3),
        Bar("slow", 250, 300, 300, 3, 3),
        Bar("never", None, None, None, 1, 3),
    )


def test_every_bar_says_how_many_seeds_got_there():
    axes = draw_bars(VALUE).axes[0]
    words = [t.get_text() for t in axes.texts]
    assert words == ["3 of 3 seeds, median 100", "3 of 3 seeds, median 300", "1 of 3 seeds"]
    assert axes.patches[2].get_hatch() == "////"


def test_what_was_not_run_is_grey_below_the_others():
    value = bars(summarise_all(CURVES), missing=("crm boolean",))
    axes = draw_bars(value).axes[0]
    labels = axes.get_yticklabels()
    assert [label.get_text() for label in labels] == ["fast", "slow", "never", "crm boolean"]
    assert labels[3].get_color() == GREY
    assert axes.texts[-1].get_text() == "not run"
    assert value.as_json()["missing"] == ("crm boolean",)


def test_bars_begin_at_a_stated_place_below_all_of_them():
    axes = draw_bars(VALUE).axes[0]
    assert VALUE.begin == 10
    assert axes.get_xlim()[0] == 10
    assert "bars begin at 10;" in axes.get_xlabel()


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
    assert SIZES.boolean[:7] == (9, 31, 129, 651, 3_913, 27_399, 219_201)
    assert SIZES.agenda == tuple(2 ** (n + 1) - 1 for n in SIZES.subtasks)
    assert SIZES.coupled == tuple(n * 2 ** (n - 1) + 2**n for n in SIZES.subtasks)
    assert SIZES.policies == tuple(n + 1 for n in SIZES.subtasks)


def test_the_figure_ends_each_line_with_its_count():
    words = [t.get_text() for t in draw_sizes(SIZES).axes[0].texts]
    assert words == ["boolean, 2.6e9", "coupled, 28,672", "agenda, 8,191", "policies, 13"]


def test_counts_beyond_a_million_are_rounded():
    assert (count_text(999_999), count_text(27 * 10**12)) == ("999,999", "2.7e13")
