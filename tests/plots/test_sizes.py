import errands
from errands.plots.sizes import draw_sizes, machine_sizes, shown

VALUE = machine_sizes("Delivery", [errands.load(f"delivery-{n}").machine for n in (12, *range(2, 9))])


def test_sizes_are_those_counted_on_paper():
    assert VALUE.subtasks == (2, 3, 4, 5, 6, 7, 8, 12)
    assert VALUE.boolean[:7] == (9, 31, 129, 651, 3_913, 27_399, 219_201)
    assert VALUE.agenda == tuple(2 ** (n + 1) - 1 for n in VALUE.subtasks)
    assert VALUE.coupled == tuple(n * 2 ** (n - 1) + 2**n for n in VALUE.subtasks)
    assert VALUE.policies == tuple(n + 1 for n in VALUE.subtasks)


def test_the_figure_ends_each_line_with_its_count():
    words = [t.get_text() for t in draw_sizes(VALUE).axes[0].texts]
    assert words == ["boolean, 2.6e9", "coupled, 28,672", "agenda, 8,191", "policies, 13"]


def test_counts_beyond_a_million_are_rounded():
    assert (shown(999_999), shown(27 * 10**12)) == ("999,999", "2.7e13")
