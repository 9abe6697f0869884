"""Columns: arrows run to the right unless they close a cycle."""

from __future__ import annotations

from itertools import combinations, pairwise

from errands.machines.graph import Edge, MachineGraph, Node
from errands.plots.layering import Layers, layers, order


def chain(*edges: tuple[int, int], count: int = 4) -> MachineGraph:
    nodes = tuple(Node(f"u{i}", initial=i == 0) for i in range(count))
    return MachineGraph("", nodes, tuple(Edge(a, b, "p", "0") for a, b in edges))


def test_depth_in_the_label_is_the_column_of_an_agenda_state(samples: dict[str, MachineGraph]) -> None:
    graph = samples["agenda-4"]
    for slot in layers(graph).slots:
        if slot.block is not None:
            assert slot.column == 2 * int(graph.nodes[slot.block].text[0])


def test_only_the_arrow_that_closes_a_cycle_runs_back() -> None:
    cut = layers(chain((0, 1), (1, 2), (2, 3), (3, 1)))
    column = [slot.column for slot in cut.slots[:4]]
    assert column == [0, 2, 4, 6]
    assert [cut.slots[route[1]].column for route in cut.routes] == [1, 3, 5, 5]


def test_edges_between_the_same_states_share_one_arrow_in_their_order() -> None:
    graph = MachineGraph("", (Node("a"), Node("b")), (Edge(0, 1, "p", "0"), Edge(0, 1, "q", "1"), Edge(1, 1, "r", "2")))
    cut = layers(graph)
    assert [arrow.labels for arrow in cut.arrows] == [("⟨p; 0⟩", "⟨q; 1⟩")]
    assert cut.loops == {1: ("⟨r; 2⟩",)}


def test_long_arrows_into_one_state_join() -> None:
    cut = layers(chain((0, 1), (1, 2), (2, 3), (0, 3), (1, 3)))
    first, second = cut.routes[3], cut.routes[4]
    assert first[1] != second[1]
    assert first[-2:] == second[-2:]


def test_a_coupled_group_is_one_block(samples: dict[str, MachineGraph]) -> None:
    assert layers(samples["figure-2c"]).blocks == ((0, 1), (2,), (3,), (4,), (5,), (6,), (7,))


def test_a_group_with_an_arrow_inside_is_not_stacked() -> None:
    nodes = (Node("a", initial=True, group=7), Node("b", group=7))
    assert layers(MachineGraph("", nodes, (Edge(0, 1, "p", "0"),))).blocks == ((0,), (1,))


def test_every_route_visits_neighbouring_columns_only(graph: MachineGraph) -> None:
    cut = layers(graph)
    for route in cut.routes:
        columns = [cut.slots[slot].column for slot in route]
        assert {b - a for a, b in pairwise(columns)} in ({1}, {-1})


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
