"""A replay as a value: occupied states, taken edges, groups of steps to go, and everything as plain data."""

from __future__ import annotations

import json
from typing import Any

import pytest

import errands
from errands.learners import make_learner
from errands.machines import couple, unfold_agenda, unfold_boolean
from errands.machines.stepping import Stepper
from errands.oracle.episode import walk
from errands.tables import RUNNING, SUCCESS
from errands.viewer.replay import record
from errands.viewer.sources import look, replay_run


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


def test_looks_at_a_learner_on_its_way_come_before_its_end(figure: errands.Run) -> None:
    learner = make_learner(figure.task, "qcorm", 0)
    before = look(learner, final=False)
    learner.advance(5_000)
    replay = replay_run(figure, [before, look(learner, final=False)])
    assert [e.step for e in replay.episodes] == [0, 5_000, 20_000]
    assert [e.success for e in replay.episodes] == [False, True, True]


def test_the_optimum_is_laid_beside_it(figure: errands.Run) -> None:
    replay = replay_run(figure)
    assert replay.optimal is not None
    assert replay.optimal.length == 10
    assert replay.facts["optimum"] == 10


def test_a_replay_is_plain_data(figure: errands.Run) -> None:
    value = replay_run(figure).as_json()
    assert json.loads(json.dumps(value, allow_nan=False)) == json.loads(json.dumps(value))


def test_of_a_large_machine_the_passed_states_are_drawn(replay_policy: Any) -> None:
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


@pytest.mark.parametrize("name", ["figure-1", "office-2", "delivery-2"])
def test_the_recording_of_the_optimal_policy_is_the_optimal_path(name: str) -> None:
    task = errands.load(name)
    best = errands.optimum(task)
    recording = record(task, best.policy)
    assert tuple(moment.at for moment in recording.moments) == best.path
    assert recording.order == best.order
    assert recording.length == best.length
    assert recording.success
    assert [m.step.status for m in recording.moments] == [RUNNING] * int(best.length) + [SUCCESS]


def test_where_moves_are_random_the_recording_draws_what_the_walk_draws() -> None:
    text = errands.load("figure-1").to_toml().replace('removed = ["b1", "b2"]', 'removed = ["b1", "b2"]\nslip = 0.3')
    task = errands.Task.from_toml(text)
    best = errands.optimum(task)
    for seed in (0, 1, 2):
        walked, recording = walk(best.policy, task, seed), record(task, best.policy, seed)
        assert tuple(moment.at for moment in recording.moments) == walked.path
        assert tuple(moment.step.reward for moment in recording.moments[1:]) == walked.rewards


def test_the_machine_of_the_recording_follows_its_features() -> None:
    task = errands.load("office-2")
    recording = record(task, errands.optimum(task).policy)
    stepper = Stepper(task.machine)
    state = stepper.start
    for moment in recording.moments[1:]:
        step = stepper.step(state, set(moment.step.features))
        state = step.state
        assert moment.step.machine_state == state
        assert moment.step.machine_step.transition == step.transition


@pytest.mark.parametrize(("counts", "shown"), [(True, 51), (False, 2)])
def test_long_episodes_are_cut_but_their_length_is_told(counts: bool, shown: int) -> None:
    class Still:
        """Walks into the wall; one that counts is never twice in the same situation, one that does not always is."""

        def act(self, world_state: Any, machine_state: tuple[int, int], memory: Any) -> tuple[int, Any]:
            return 1, (memory or 0) + 1 if counts else None

    recording = record(errands.load("figure-1"), Still(), most=50)
    assert len(recording.moments) == shown
    assert recording.cut
    assert recording.length == 1000
    assert not recording.success


def test_water_is_recorded_from_its_environment() -> None:
    class Up:
        def act(self, world_state: Any, machine_state: tuple[int, int], memory: Any) -> tuple[int, Any]:
            assert len(world_state) == 52
            return 1, None

    task = errands.load("water-2")
    recording = record(task, Up(), most=20)
    env = task.env("numeric")
    env.reset(seed=0)
    for moment in recording.moments[1:]:
        _, reward, _, _, info = env.step(1)
        assert moment.step.reward == reward
        assert set(moment.step.features) == info["features"]
        assert moment.at[0] == pytest.approx(env.env.state.agent.tolist(), abs=0.051)
