"""The abstract graph: one vertex per agenda state that is no failure, one edge per pair of states that a step joins."""

from __future__ import annotations

import pytest

from errands.cli import show
from errands.errors import TaskError
from errands.learners.dirl.graph import abstract_graph, picture
from errands.machines import NumericRM
from errands.plots.machine import FORMATS
from errands.tables import RUNNING, SUCCESS
from errands.tasks import load
from errands.tasks.phrases import any_order, avoid, sequence


def test_two_boxes_give_the_seven_states_of_figure_2_and_the_arrows_between_them() -> None:
    graph = abstract_graph(load("figure-1").machine)
    assert set(graph.names) == {"0{b1,b2}{b1,b2}", "1{b1}s", "1{b2}s", "2{b1}b1", "2{b2}b2", "3{}s", "4{}"}
    drawn = {(graph.names[e.source], str(e), graph.names[e.target]) for e in graph.edges}
    assert drawn == {
        ("0{b1,b2}{b1,b2}", "b1", "1{b2}s"),
        ("0{b1,b2}{b1,b2}", "b2", "1{b1}s"),
        ("1{b1}s", "s", "2{b1}b1"),
        ("1{b2}s", "s", "2{b2}b2"),
        ("2{b1}b1", "b1", "3{}s"),
        ("2{b2}b2", "b2", "3{}s"),
        ("3{}s", "s", "4{}"),
    }
    assert [graph.names[v] for v in range(7) if graph.final(v)] == ["4{}"]


@pytest.mark.parametrize("boxes", range(1, 7))
def test_n_boxes_give_n_halves_of_two_to_the_n_picks_and_one_return_for_each_set_left(boxes: int) -> None:
    graph = abstract_graph(load(f"delivery-{boxes}").machine)
    assert len(graph.vertices) == 2 ** (boxes + 1) - 1
    assert len(graph.edges) == boxes * 2 ** (boxes - 1) + 2**boxes - 1


def test_what_fails_the_task_is_no_vertex_but_a_constraint_on_every_edge() -> None:
    graph = abstract_graph(load("office-2").machine)
    assert len(graph.vertices) == 7
    assert {e.avoid for e in graph.edges} == {"decoration"}
    assert str(graph.edges[0]) == "coffee avoiding decoration"


def test_edges_are_listed_by_source_and_found_there_again() -> None:
    graph = abstract_graph(load("office-3").machine)
    assert [e for v in range(len(graph.vertices)) for e in graph.leaving[v]] == list(range(len(graph.edges)))
    assert all(graph.edges[e].source == v for v, numbers in enumerate(graph.leaving) for e in numbers)


def test_sequences_and_fatal_features_of_any_machine_are_read() -> None:
    graph = abstract_graph(avoid("x", "y", sequence("a", "b")))
    assert [(e.source, e.target, e.goal, e.avoid) for e in graph.edges] == [(0, 1, "a", "x | y"), (1, 2, "b", "x | y")]


def test_subtasks_whose_completion_is_fatal_are_avoided_by_name() -> None:
    lines = ("u0 -> lose : n↓ ; 0", "u0 -> win : c & n! ; 1")
    (edge,) = abstract_graph(NumericRM.of("u0", ["win"], lines, ["lose"], {"n": ["a", "b"]})).edges
    assert (edge.goal, edge.avoid) == ("c", "a | b")


def test_several_transitions_between_two_states_are_one_edge_with_several_goals() -> None:
    both = NumericRM.of("u0", ["win"], ["u0 -> win : a & ~b ; 1", "u0 -> win : b ; 2"])
    (edge,) = abstract_graph(both).edges
    assert edge.goal == "a | b"


def test_states_that_share_a_label_stay_two_vertices() -> None:
    lines = ("u0 -> u1 : a ; 0", "u0 -> u2 : b & ~a ; 0", "u1 -> win : c ; 1", "u2 -> win : c ; 1")
    graph = abstract_graph(NumericRM.of("u0", ["win"], lines))
    assert graph.names == ("0{}{a,b}", "1{}c", "1{}c", "2{}")
    assert [(e.source, e.target) for e in graph.edges] == [(0, 1), (0, 2), (1, 3), (2, 3)]


def test_a_graph_beyond_the_budget_is_refused_before_it_is_built() -> None:
    with pytest.raises(TaskError, match="more than the budget of 1,000"):
        abstract_graph(any_order(*(f"b{i}" for i in range(30))), budget=1_000)


def test_every_format_draws_the_picture() -> None:
    drawn = picture(abstract_graph(load("office-2").machine))
    assert [node.status for node in drawn.nodes].count(SUCCESS) == 1
    assert {node.status for node in drawn.nodes} == {RUNNING, SUCCESS}
    assert [node.initial for node in drawn.nodes].count(True) == 1
    for draw in FORMATS.values():
        assert str(draw(drawn)).count("avoiding") >= len(drawn.edges)


@pytest.mark.parametrize("name", list(FORMATS))
def test_the_command_shows_the_graph_in_every_format(name: str) -> None:
    answer = show.run(show.Arguments("office-2", as_="graph", format=name))
    assert answer.document["states"] == 7
    assert len(answer.document["machine"]["edges"]) == 7
    assert "avoiding" in str(answer.shown)
