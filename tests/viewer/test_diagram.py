"""Machines as the page draws them, whole or in part."""

from __future__ import annotations

import errands
from errands.machines import couple, unfold_agenda
from errands.machines.graph import graph_of
from errands.viewer.diagram import diagram, part, small_machines


def test_figure_1_has_all_four_machines_with_the_papers_sizes() -> None:
    machines = small_machines(errands.load("figure-1").machine)
    assert {kind: len(graph_of(m).nodes) for kind, m in machines.items()} == {
        "numeric": 3, "boolean": 9, "agenda": 7, "coupled": 8,
    }  # fmt: skip


def test_machines_that_are_too_large_are_left_out() -> None:
    assert set(small_machines(errands.load("delivery-4").machine, 40)) == {"numeric", "agenda"}


def test_a_diagram_holds_every_state_and_every_arrow_of_the_machine() -> None:
    graph = graph_of(couple(unfold_agenda(errands.load("figure-1").machine)))
    drawn = diagram(graph)
    assert [state["text"] for state in drawn["states"]] == [node.text for node in graph.nodes]
    arrows = {(e.source, e.target) for e in graph.edges}
    wires = {(w["source"], w["target"]) for w in drawn["wires"]}
    loops = {(i, i) for i, state in enumerate(drawn["states"]) if state["loop"]}
    assert wires | loops == arrows
    assert len(drawn["rings"]) == 1


def test_the_part_of_all_states_is_the_whole_but_for_self_loops() -> None:
    numeric = errands.load("office-2").machine
    agenda = unfold_agenda(numeric)
    for coupled in (False, True):
        graph = graph_of(couple(agenda) if coupled else agenda)
        drawn, place = part(numeric, agenda.states, coupled)
        assert [state["text"] for state in drawn["states"]] == [node.text for node in graph.nodes]
        wanted = {(e.source, e.target) for e in graph.edges if e.source != e.target}
        assert {(w["source"], w["target"]) for w in drawn["wires"]} == wanted
        assert list(place) == list(agenda.states)
