"""What the page is told of a world and of its machine."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import errands
from errands.machines import couple, unfold_agenda
from errands.machines.graph import graph_of
from errands.viewer.scene import action_name, diagram, drawn, part, posture, scene, small_machines


def test_a_grid_shows_its_places_and_walls() -> None:
    drawn = scene(errands.load("figure-1"))
    assert (drawn["width"], drawn["height"], drawn["start"]) == (3, 4, 5)
    places = [(name, x, y, tint) for role, x, y, _, _, name, _, tint in drawn["plan"] if role == "place"]
    assert places == [("b1", 0, 0, 0), ("b2", 0, 3, 0), ("s", 1, 0, 1)]
    assert drawn["removed"] == ["b1", "b2"]
    office = errands.load("office-3")
    assert sum(role == "wall" for role, *_ in scene(office)["plan"]) == len(office.layout.walls)


def test_water_tells_wanted_colours_from_those_to_be_avoided() -> None:
    task = errands.load("water-3")
    drawn = scene(task)
    assert drawn["wanted"] == list(task.machine.subtasks)
    assert set(drawn["minded"]) == set(task.machine.features) - set(task.machine.subtasks)
    env = task.world.env()
    env.reset(seed=0)
    agent, *balls = posture(env)
    assert agent == [200.0, 200.0]
    assert len(balls) == len(drawn["balls"]) == 12


def test_half_cheetahs_torso_is_a_metre_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log where it is loaded
    task = errands.load("cheetah-bcd")
    env = task.world.env()
    env.reset(seed=0)
    limbs = posture(env)
    x1, z1, x2, z2, radius = limbs[0]
    assert len(limbs) == 8
    assert math.hypot(x2 - x1, z2 - z1) == pytest.approx(1.0, abs=0.002)
    assert radius == pytest.approx(0.046)
    assert scene(task)["marks"] == [["B", -2.0], ["C", 2.0], ["D", 4.0]]
    env.close()


def test_actions_have_names() -> None:
    assert action_name(errands.load("figure-1"), 2) == "down"
    assert action_name(errands.load("water-2"), 0) == "none"


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
    agenda = unfold_agenda(errands.load("office-2").machine)
    some = part(agenda.numeric, agenda.states)
    for whole, shown in ((agenda, some), (couple(agenda), couple(some))):
        graph, shown = graph_of(whole), drawn(shown, partly=True)
        assert [state["text"] for state in shown["states"]] == [node.text for node in graph.nodes]
        wanted = {(e.source, e.target) for e in graph.edges if e.source != e.target}
        assert {(w["source"], w["target"]) for w in shown["wires"]} == wanted
        assert not any(state["loop"] for state in shown["states"])


def test_a_part_has_no_arrows_to_what_is_left_out() -> None:
    agenda = unfold_agenda(errands.load("office-2").machine)
    some = agenda.states[:3]
    shown = drawn(part(agenda.numeric, some), partly=True)
    graph = graph_of(agenda)
    wanted = {(e.source, e.target) for e in graph.edges if e.source != e.target and max(e.source, e.target) < 3}
    assert {(w["source"], w["target"]) for w in shown["wires"]} == wanted
