"""A replay as a value: occupied states, taken edges, groups of steps to go, and everything as plain data."""

from __future__ import annotations

import json

import pytest

import errands
from errands.machines import couple, unfold_agenda, unfold_boolean
from errands.viewer.gathering import replay_policy, replay_run


@pytest.fixture(scope="module")
def figure() -> errands.Run:
    return errands.train(errands.load("figure-1"), "qcorm", steps=20_000)


def test_all_four_machines_stand_where_their_own_definitions_say(figure: errands.Run) -> None:
    replay = replay_run(figure)
    machine = figure.task.machine
    agenda, boolean = unfold_agenda(machine), unfold_boolean(machine)
    coupled = couple(agenda)
    state, order = agenda.states[0], ()
    for frame in replay.episodes[-1].frames:
        step = agenda.stepper.step(state, set(frame["features"])) if frame["action"] else None
        if step:
            state = step.state
            order = (*order, step.completed.bit_length() - 1) if step.completed else order
        lit = replay.stands[frame["stand"]]["lit"]
        assert lit["numeric"] == [state[0]]
        assert lit["agenda"] == [agenda.index[state]]
        assert lit["boolean"] == [boolean.index[(state[0], order)]]
        assert lit["coupled"] == list(coupled.groups[agenda.index[state]])


def test_the_edge_taken_out_of_a_coupled_group_is_that_of_the_completed_subtask(figure: errands.Run) -> None:
    replay = replay_run(figure)
    machine = replay.machines["coupled"]
    frame = next(f for f in replay.episodes[-1].frames if f["done"])
    (edge,) = replay.moves[frame["move"]]["edges"]["coupled"]
    assert [machine["states"][i]["text"] for i in edge] == ["0{b1,b2}b2", "1{b1}s"]
    assert replay.moves[frame["move"]]["guard"] == "b↓ | b⤓"
    drawn = {(wire["source"], wire["target"]) for wire in machine["wires"]}
    assert tuple(edge) in drawn


def test_bars_show_learnt_and_exact_steps_to_go_and_the_choice(figure: errands.Run) -> None:
    replay = replay_run(figure)
    first = replay.episodes[-1].groups["0{b1,b2}{b1,b2}"]
    assert [(bar.objective, bar.exact) for bar in first] == [("b1", 12.0), ("b2", 10.0)]
    assert [bar.learnt for bar in first] == [figure.steps_to_go["0{b1,b2}b1"], figure.steps_to_go["0{b1,b2}b2"]]
    frames = replay.episodes[-1].frames
    assert frames[0]["next"] == "b2"
    assert [f["next"] for f in frames if f["done"]] == ["s", "b1", "s", None]


def test_moments_of_training_are_those_of_the_run_itself(figure: errands.Run) -> None:
    replay = replay_run(figure)
    known = {e.step: e for e in figure.evaluations}
    assert replay.episodes[-1].step == figure.steps
    assert len(replay.episodes) > 3
    for shown in replay.episodes:
        assert (shown.length, shown.success) == (known[shown.step].episode_length, known[shown.step].success)
    assert replay.curves["lines"][0]["median"][-1] == 10.0


def test_the_optimum_is_laid_beside_it(figure: errands.Run) -> None:
    replay = replay_run(figure)
    assert replay.optimal is not None
    assert replay.optimal.length == 10
    assert replay.facts["optimum"] == 10


def test_a_replay_is_plain_data(figure: errands.Run) -> None:
    value = replay_run(figure).as_json()
    assert json.loads(json.dumps(value, allow_nan=False)) == json.loads(json.dumps(value))


def test_of_a_large_machine_the_passed_states_are_drawn() -> None:
    task = errands.load("office-6")
    replay = replay_policy(task, errands.optimum(task).policy)
    assert "boolean" not in replay.machines
    assert replay.sizes["agenda"] == len(unfold_agenda(task.machine)) == 128
    passed = {replay.stands[f["stand"]]["label"] for f in replay.episodes[-1].frames}
    assert {state["text"] for state in replay.machines["agenda"]["states"]} == passed
    wires = {(w["source"], w["target"]) for w in replay.machines["coupled"]["wires"]}
    for frame in replay.episodes[-1].frames:
        for source, target in replay.moves[frame["move"]]["edges"].get("coupled", []):
            assert source == target or (source, target) in wires
