"""Scout and DiRL where a function tells the states of an environment apart: met one by one, with chance, ends and cuts."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from errands.errors import TaskError
from errands.learners import make_learner
from errands.tasks import Task


class Walkway(gym.Env[Any, Any]):
    """Seven cells; 0 is a pit that ends the episode, 6 a bell. With chance a move fails now and then; cut after `patience`."""

    def __init__(self, chance: float = 0.0, patience: int = 1_000) -> None:
        self.observation_space = gym.spaces.Box(0, 6, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(2)
        self.chance, self.patience = chance, patience

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.time = 3, 0
        return np.array([self.x], np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        slips = self.chance > 0 and self.np_random.random() < self.chance
        self.x = min(6, self.x + (1 if action and not slips else 0 if slips else -1))
        self.time += 1
        return np.array([self.x], np.float32), 0.0, self.x == 0, self.time >= self.patience, {}


def walkway(chance: float = 0.0, patience: int = 1_000, machine: str = "sequence(bell, home)") -> Task:
    def features(before: Any, action: Any, after: Any, info: dict[str, Any]) -> set[str]:
        return {name for name, cell in (("bell", 6), ("home", 3), ("pit", 0)) if after[0] == cell}

    return Task.from_env(
        lambda: Walkway(chance, patience),
        features,
        machine,
        state=lambda observation: int(observation[0]),
        limit=50,
        name="walkway",
    )


def test_a_world_without_chance_is_proved_by_stepping_it() -> None:
    scout = make_learner(walkway(), "scout", 0, settings={"host": True})
    last = list(scout.train(500))[-1]
    assert (last.success, last.episode_length) == (True, 6)
    assert scout.claim.proved  # type: ignore[attr-defined]
    assert scout.claim.upper == 6  # type: ignore[attr-defined]
    assert "as long as moves are certain" in scout.claim.reason  # type: ignore[attr-defined]


def test_an_end_of_the_world_is_a_failure_unless_the_task_is_done_by_it() -> None:
    pit = make_learner(walkway(machine="pit"), "scout", 0, settings={"host": True})
    assert list(pit.train(500))[-1].episode_length == 3
    beyond = make_learner(walkway(machine="sequence(pit, bell)"), "scout", 0, settings={"host": True})
    list(beyond.train(500))
    assert beyond.claim.proved  # type: ignore[attr-defined]
    assert beyond.claim.lower == float("inf")  # type: ignore[attr-defined]


def test_episodes_that_the_environment_cuts_short_are_gone_on_from_the_start() -> None:
    """The bell is three steps away and home three more; the environment cuts after five, so no episode can do both."""
    scout = make_learner(walkway(chance=0.1, patience=5), "scout", 0, settings={"eval_every": 500})
    last = list(scout.train(500))[-1]
    assert not last.success
    assert last.episode_length <= 5
    assert scout.known.started.sum() >= 500 / 5  # type: ignore[attr-defined]


def test_chance_is_seen_and_planned_with_and_a_saved_run_goes_on_to_the_same_bytes() -> None:
    task = walkway(chance=0.2)
    assert task.finite is None
    whole = make_learner(task, "scout", 0, settings={"eval_every": 1_000})
    evaluations = list(whole.train(2_000))
    assert not whole.claim.proved  # type: ignore[attr-defined]
    assert evaluations[-1].success
    first = make_learner(walkway(chance=0.2), "scout", 0, settings={"eval_every": 1_000})
    first.advance(700)
    second = make_learner(walkway(chance=0.2), "scout", 3, settings={"eval_every": 1_000})
    second.restore(first.save())
    list(second.train(2_000))
    one, other = whole.save(), second.save()
    assert {k: x.tobytes() for k, x in one.items() if k != "counters"} == {
        k: x.tobytes() for k, x in other.items() if k != "counters"
    }


def test_dirl_learns_in_a_table_found_by_trying_and_refuses_a_world_of_chance() -> None:
    settings = {"edge_steps": 1_500, "rollouts": 5}
    with pytest.raises(TaskError, match=r"'walkway' has no table: its moves are random"):
        make_learner(walkway(0.2), "dirl", 0, settings=settings)
    learner = make_learner(walkway(), "dirl", 0, settings=settings)
    (last,) = learner.train(8_000)
    assert last.success
    again = make_learner(walkway(), "dirl", 0, settings=settings)
    again.restore(learner.save())
    assert again.measure() == last


def test_impossible_is_said_only_after_every_move_in_reach_was_tried_twice() -> None:
    """A step that slips back hides the only way; seeds 0 to 11 of a walkway where two moves in five do."""
    for seed in range(12):
        learner = make_learner(walkway(chance=0.4), "scout", seed, settings={"eval_every": 1_000})
        list(learner.train(300))
        assert learner.claim.lower < np.inf, f"seed {seed}: {learner.claim}"
