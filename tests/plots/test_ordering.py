"""Few crossings: none in a tree, and never more than before."""

from __future__ import annotations

from itertools import combinations

from errands.machines.graph import MachineGraph
from errands.plots.layering import Layers, layers
from errands.plots.ordering import order


def crossings(cut: Layers, columns: list[list[int]]) -> int:
    """Counted pair by pair, unlike the code under test."""
    place = {slot: float(i) for column in columns for i, slot in enumerate(column)}
    total = 0
    for a, b in combinations(cut.links, 2):
        if cut.slots[a.left].column == cut.slots[b.left].column:
            left = (place[a.left], a.left_member), (place[b.left], b.left_member)
            right = (place[a.right], a.right_member), (place[b.right], b.right_member)
            total += left[0] != left[1] and right[0] != right[1] and (left[0] < left[1]) != (right[0] < right[1])
    return total


def test_a_boolean_machine_is_a_tree_and_is_drawn_without_crossings(samples: dict[str, MachineGraph]) -> None:
    cut = layers(samples["boolean-3"])
    assert crossings(cut, order(cut)) == 0


def test_figure_2_is_drawn_without_crossings(samples: dict[str, MachineGraph]) -> None:
    for name in ("figure-1b", "figure-2a", "figure-2b", "figure-2c"):
        cut = layers(samples[name])
        assert crossings(cut, order(cut)) == 0, name


def test_ordering_moves_slots_only_within_their_column_and_adds_no_crossing(graph: MachineGraph) -> None:
    cut = layers(graph)
    columns = order(cut)
    assert [sorted(column) for column in columns] == [sorted(column) for column in cut.columns]
    assert crossings(cut, columns) <= crossings(cut, [list(column) for column in cut.columns])
