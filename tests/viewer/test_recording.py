"""A recorded episode is the oracle's own walk, with the machine's transitions."""

from __future__ import annotations

from typing import Any

import pytest

import errands
from errands.machines.stepping import Stepper
from errands.oracle.episode import walk
from errands.tables import RUNNING, SUCCESS
from errands.viewer.recording import record


@pytest.mark.parametrize("name", ["figure-1", "office-2", "delivery-2"])
def test_the_recording_of_the_optimal_policy_is_the_optimal_path(name: str) -> None:
    task = errands.load(name)
    best = errands.optimum(task)
    recording = record(task, best.policy)
    assert tuple(moment.at for moment in recording.moments) == best.path
    assert recording.order == best.order
    assert recording.length == best.length
    assert recording.success
    assert [m.status for m in recording.moments] == [RUNNING] * int(best.length) + [SUCCESS]


def test_where_moves_are_random_the_recording_draws_what_the_walk_draws() -> None:
    text = errands.load("figure-1").to_toml().replace('removed = ["b1", "b2"]', 'removed = ["b1", "b2"]\nslip = 0.3')
    task = errands.Task.from_toml(text)
    best = errands.optimum(task)
    for seed in (0, 1, 2):
        walked, recording = walk(best.policy, task, seed), record(task, best.policy, seed)
        assert tuple(moment.at for moment in recording.moments) == walked.path
        assert tuple(moment.reward for moment in recording.moments[1:]) == walked.rewards


def test_the_machine_of_the_recording_follows_its_features() -> None:
    task = errands.load("office-2")
    recording = record(task, errands.optimum(task).policy)
    stepper = Stepper(task.machine)
    state = stepper.start
    for moment in recording.moments[1:]:
        step = stepper.step(state, set(moment.features))
        state = step.state
        assert moment.state == state
        assert moment.guard == (str(step.transition.guard) if step.transition else None)


def test_long_episodes_are_cut_but_their_length_is_told() -> None:
    class Still:
        def act(self, world_state: Any, machine_state: tuple[int, int], memory: Any) -> tuple[int, Any]:
            return 1, None

    recording = record(errands.load("figure-1"), Still(), most=50)
    assert len(recording.moments) == 51
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
        assert moment.reward == reward
        assert set(moment.features) == info["features"]
        assert moment.at[0] == pytest.approx(env.env.state.agent.tolist(), abs=0.051)
