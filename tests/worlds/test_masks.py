"""Action masks: what an environment forbids is never sent to it, by no learner, no evaluation and no agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands.errors import TaskError
from errands.learners import LEARNERS
from errands.tasks import Task
from errands.worlds.spaces import unmasked

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_a_forbidden_action_stands_for_the_next_allowed_one() -> None:
    assert [unmasked([0, 1, 0, 0, 1, 0], a) for a in range(6)] == [1, 1, 4, 4, 4, 1]
    assert [unmasked(None, 3), unmasked([0, 0, 0], 2), unmasked(np.ones(4, np.int8), 2)] == [3, 2, 2]


class Strict(gym.Env[Any, Any]):
    """A row of seven cells, in each of which one of four actions leads to the left, one to the right; others are an error."""

    def __init__(self, discrete: bool = False, wrong: bool = False) -> None:
        spaces = gym.spaces
        self.observation_space = spaces.Discrete(7) if discrete else spaces.Box(-1, 1, (1,), np.float32)
        self.action_space = spaces.Discrete(4, start=10)
        self.discrete, self.wrong, self.at = discrete, wrong, 3

    def _told(self) -> tuple[Any, dict[str, Any]]:
        mask = np.zeros(4, np.int8)
        mask[[self.at % 4, (self.at + 1) % 4]] = 1
        seen = self.at if self.discrete else np.array([self.at / 3 - 1], np.float32)
        return seen, {"action_mask": mask[: 3 if self.wrong else 4]}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 3
        return self._told()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        move = {self.at % 4: -1, (self.at + 1) % 4: 1}[int(action) - 10]  # a KeyError for what is forbidden
        self.at = min(6, max(0, self.at + move))
        seen, info = self._told()
        return seen, 0.0, False, False, info


def task(discrete: bool, **given: Any) -> Task:
    ends: Any = {"left": [0], "right": [6]} if discrete else {
        "left": {"index": 0, "below": -0.9}, "right": {"index": 0, "above": 0.9}
    }  # fmt: skip
    return Task.from_env(Strict, ends, "any_order(left, right)", limit=40, kwargs={"discrete": discrete}, name="strict", **given)


@pytest.mark.parametrize("learner", [name for name, method in LEARNERS.items() if method.tabular and not method.tabular.team])
@pytest.mark.parametrize("known", [True, False])
def test_every_tabular_learner_obeys_the_mask_in_a_table_and_step_by_step(learner: str, known: bool) -> None:
    given = {"state": int} if known else {}
    if learner == "dirl" and not known:
        pytest.skip("its edges are learnt in tables")
    run = errands.train(task(True, **given), learner, steps=4_000)
    assert (run.task.finite is not None) == known
    assert run.evaluate(10).length.mean == 9


def test_networks_obey_the_mask_and_so_does_what_becomes_of_them(tmp_path: Path) -> None:
    small = {"width": 64, "depth": 2, "capacity": 4_000, "warmup": 50, "platform": "cpu", "epsilon": 0.5, "alpha": 0.002}
    run = errands.train(task(False), "crm", steps=3_000, settings={**small, "eval_every": 500})
    assert run.evaluate(3).success.mean == 1
    env = Strict()
    for agent in (run.agent(), errands.read_policy(run.export(tmp_path / "p.safetensors"))):
        observation, info = env.reset()
        agent.reset(observation, info)
        while not agent.done:
            observation, _, _, _, info = env.step(agent.act(observation))
            agent.see(observation, info)
        assert agent.success


def test_taxi_is_learnt_under_its_own_mask_which_its_table_obeys_too() -> None:
    """The optimum of Taxi uses no forbidden action, so that it is the same; and no forbidden action is ever taken."""
    class Watched(gym.Wrapper[Any, Any, Any, Any]):
        def reset(self, **given: Any) -> Any:
            self.seen, info = super().reset(**given)
            return self.seen, info

        def step(self, action: Any) -> Any:
            assert self.env.unwrapped.action_mask(self.seen)[int(action)]  # type: ignore[attr-defined]
            self.seen, *rest = super().step(action)
            return self.seen, *rest

    def delivered(before: Any, action: Any, after: Any) -> set[str]:
        return {"done"} if action == 5 and after // 4 % 5 == after % 4 else set()

    def features(before: Any, action: Any, after: Any, info: dict[str, Any]) -> set[str]:
        return delivered(before, action, after) if before is not None else set()

    free = Task.from_env("Taxi-v4", features, "done", name="taxi")
    forbidden = np.array([[not allowed for allowed in gym.make("Taxi-v4").unwrapped.action_mask(s)] for s in range(500)])  # type: ignore[attr-defined]
    table = free.finite.table  # type: ignore[union-attr]
    bumps = (table.next[:, :, 0] == np.arange(500)[:, None]) & forbidden
    assert not bumps.any()  # a wall that is bumped into, pickups of nobody: they stand for moves
    watched = Task.from_env(lambda: Watched(gym.make("Taxi-v4")), features, "done", limit=200, name="watched")
    assert watched.finite is None  # stepped, since a wrapper might do anything
    errands.train(watched, "qcorm", steps=3_000)
    run = errands.train(free, "scout", steps=20_000)
    agent, env = run.agent(), Watched(gym.make("Taxi-v4"))
    for seed in range(20):
        observation, info = env.reset(seed=seed)
        agent.reset(observation, info)
        for _ in range(60):
            observation, _, terminated, _, info = env.step(agent.act(observation))
            agent.see(observation, info)
            if terminated:
                break
        assert agent.success


def test_a_mask_of_another_size_is_told_in_a_sentence() -> None:
    wrong = Task.from_env(Strict, {"left": [0]}, "left", limit=9, kwargs={"discrete": True, "wrong": True}, name="wrong")
    with pytest.raises(TaskError, match="gave an action_mask of 3 for 4 actions; give a 0 or 1 for each"):
        errands.train(wrong, "qcorm", steps=10)
