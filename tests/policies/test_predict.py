"""`predict`: acting and following the machine in one call, as agents of runs and of policy files do it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands.errors import ConfigError, TaskError, UnknownName
from errands.policies.agent import RANDOM_ACTIONS, EpisodeState

FEATURES = {"goal": [15], "corner": [3]}
LAKE: dict[str, Any] = {"features": FEATURES, "phrase": "sequence(corner, goal)", "kwargs": {"is_slippery": False}}


@pytest.fixture(scope="module")
def run() -> errands.Run:
    return errands.train("FrozenLake-v1", "scout", steps=4_000, **LAKE)


@pytest.mark.parametrize("stored", [False, True])
def test_one_agent_plays_episodes_side_by_side_and_its_states_know_where_each_stands(
    run: errands.Run, tmp_path: Path, stored: bool
) -> None:
    agent = errands.read_policy(run.export(tmp_path / "lake.safetensors")) if stored else run.agent()
    envs = [gym.make("FrozenLake-v1", is_slippery=False) for _ in range(2)]
    seen: list[Any] = [env.reset(seed=0)[0] for env in envs]
    states: list[EpisodeState | None] = [None, None]
    for turn in range(20):
        for i, env in enumerate(envs):
            if i == 1 and turn < 4:
                continue  # the second begins later
            action, states[i] = agent.predict(seen[i], states[i])
            if not states[i].done:  # type: ignore[union-attr]
                seen[i] = env.step(action)[0]
    for state in states:
        assert state is not None
        assert (state.done, state.success, state.order) == (True, True, ("corner", "goal"))
        assert agent.predict(seen[0], state) == (state.action, state)  # once it has ended nothing moves


def test_agents_that_need_not_be_deterministic_act_at_random_one_time_in_twenty(run: errands.Run) -> None:
    agent = run.agent()
    best, _ = agent.predict(0)
    drawn = Counter(agent.predict(0, None, deterministic=False)[0] for _ in range(4_000))
    assert set(drawn) == {0, 1, 2, 3}
    # One of the four random actions is the best one.
    assert 4_000 - drawn[best] == pytest.approx(4_000 * RANDOM_ACTIONS * 3 / 4, rel=0.25)


def test_a_state_of_anything_else_is_refused(run: errands.Run) -> None:
    with pytest.raises(TaskError, match="give what predict gave before, or None for a new episode"):
        run.agent().predict(0, np.zeros(3))  # type: ignore[arg-type]


def test_train_makes_the_task_of_an_environment_and_says_what_is_missing(run: errands.Run) -> None:
    assert str(run.task.machine.phrase) == "sequence(corner, goal)"
    for task, given, said in (
        ("FrozenLake-v1", {"phrase": "goal"}, "needs both features and phrase"),
        (run.task, {"features": {"goal": [15]}, "phrase": "goal"}, "came with a task"),
    ):
        with pytest.raises(ConfigError, match=said):
            errands.train(task, **given)  # type: ignore[call-overload]
    with pytest.raises(UnknownName, match="did you mean 'features'"):
        errands.train("FrozenLake-v1", feature={"goal": [15]}, phrase="goal")


def test_a_run_is_loaded_from_where_it_was_saved(run: errands.Run, tmp_path: Path) -> None:
    assert errands.open(run.save(tmp_path / "lake")).order == run.order
