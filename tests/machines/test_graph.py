"""The boxes and arrows of the paper's Figures 1b and 2, as values."""

from __future__ import annotations

from errands.machines import NumericRM, couple, unfold_agenda, unfold_boolean
from errands.machines.graph import Edge, MachineGraph, graph_of
from errands.tables import FAILURE, RUNNING, SUCCESS
from errands.tasks.phrases import any_order, sequence

from .examples import FIGURE_1B, boxes


def arrows(graph: MachineGraph) -> set[tuple[str, str, str, str]]:
    """Arrows by the texts of their boxes; equal texts would hide a fault."""
    texts = [node.text for node in graph.nodes]
    assert len(set(texts)) == len(texts)
    return {(texts[e.source], texts[e.target], e.guard, e.reward) for e in graph.edges}


def test_the_numeric_machine_is_drawn_as_it_was_written() -> None:
    graph = graph_of(boxes(2))
    assert [(n.text, n.status, n.initial) for n in graph.nodes] == [
        ("u0", RUNNING, True), ("u1", RUNNING, False), ("u2", SUCCESS, False),
    ]  # fmt: skip
    texts = [n.text for n in graph.nodes]
    assert [f"{texts[e.source]} -> {texts[e.target]} : {e.guard} ; {e.reward}" for e in graph.edges] == FIGURE_1B


def test_the_agenda_machine_has_the_arrows_of_figure_2b() -> None:
    drawn = arrows(graph_of(unfold_agenda(boxes(2))))
    assert {a for a in drawn if a[0] != a[1]} == {
        ("0{b1,b2}{b1,b2}", "1{b2}s", "b1", "0"),
        ("0{b1,b2}{b1,b2}", "1{b1}s", "b2", "0"),
        ("1{b2}s", "2{b2}b2", "s", "0"),
        ("1{b1}s", "2{b1}b1", "s", "0"),
        ("2{b2}b2", "3{}s", "b2", "0"),
        ("2{b1}b1", "3{}s", "b1", "0"),
        ("3{}s", "4{}", "s", "1"),
    }
    assert ("0{b1,b2}{b1,b2}", "0{b1,b2}{b1,b2}", "~b1 & ~b2", "0") in drawn
    assert ("1{b2}s", "1{b2}s", "~s", "0") in drawn


def test_the_boolean_machine_is_a_tree_of_orders() -> None:
    graph = graph_of(unfold_boolean(boxes(2)))
    assert [n.text for n in graph.nodes] == [f"u{i}" for i in range(9)]
    entered = [e.target for e in graph.edges if e.source != e.target]
    assert sorted(entered) == list(range(1, 9))
    assert sum(n.status == SUCCESS for n in graph.nodes) == 2


def test_coupled_states_share_a_group_only_where_several_are_occupied() -> None:
    graph = graph_of(couple(unfold_agenda(boxes(2))))
    assert [n.text for n in graph.nodes if n.group is not None] == ["0{b1,b2}b1", "0{b1,b2}b2"]
    assert [n.text for n in graph.nodes if n.initial] == ["0{b1,b2}b1", "0{b1,b2}b2"]
    drawn = arrows(graph)
    assert ("0{b1,b2}b1", "1{b2}s", "b1", "0") in drawn
    assert ("0{b1,b2}b1", "0{b1,b2}b1", "~b1", "0") in drawn
    assert not any(a[0] == "0{b1,b2}b1" and a[1] == "1{b1}s" for a in drawn)


def test_an_arrow_into_a_failure_shows_its_guard_alone() -> None:
    lines = ["u0 -> u0 : n↓ & ~d ; 0", "u0 -> won : n⤓ & ~d ; 1", "u0 -> lost : d ; -2"]
    graph = graph_of(unfold_agenda(NumericRM.of("u0", ["won"], lines, failure=["lost"], numeric={"n": ["x"]})))
    (lost,) = [i for i, n in enumerate(graph.nodes) if n.status == FAILURE]
    assert [e for e in graph.edges if e.target == lost] == [Edge(0, lost, "d", "-2")]


def test_the_picture_of_a_machine_with_rules_says_them() -> None:
    machine = any_order(sequence("p1", "d1"), "b", choose=1)
    assert graph_of(machine).title == "numeric machine; Order: d1 after p1; Enough: 1 of (p1, d1), b"
    assert {edge.guard for edge in graph_of(unfold_agenda(machine)).edges} == {"p1", "b", "d1"}
