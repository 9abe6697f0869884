"""Action masks: what an environment forbids is never sent to it, by no learner, no evaluation and no agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands.errors import SpecError, TaskError
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


OF_TABLES = [name for name, method in LEARNERS.items() if method.tabular and not (method.tabular.teams or method.tabular.networks)]


@pytest.mark.parametrize("learner", OF_TABLES)
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
    with pytest.raises(TaskError, match=r"gave action_mask = .* give a 0 or 1 for each of 4 actions"):
        errands.train(wrong, "qcorm", steps=10)


NO_MASKS: list[Any] = [
    "abc", b"abc", [2, 0, 0], [float("nan")] * 3, [-1, 0, 0], [[1], [1, 2]], [1, 1], [0] * 4, {}, {"a": 1}, 3, True, len,
    ["0", "1", "0"], [1, None, 1], [10**400, 0, 0], [1j, 0, 0],
]  # fmt: skip


class Row(gym.Env[int, int]):
    """Six cells that publish their table, with any mask in info and from the method."""

    observation_space, action_space = gym.spaces.Discrete(6), gym.spaces.Discrete(3)

    def __init__(self, mask: Any, published: bool = False) -> None:
        self.mask = mask
        if published:
            self.P = {s: {a: [(1.0, self.moved(s, a), 0.0, False)] for a in range(3)} for s in range(6)}
            self.initial_state_distrib, self.action_mask = np.eye(6)[0], mask

    @staticmethod
    def moved(cell: int, action: int) -> int:
        return max(0, min(5, cell + (-1, 1, 0)[action]))

    def info(self) -> dict[str, Any]:
        return {} if hasattr(self, "P") else {"action_mask": self.mask}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 0
        return 0, self.info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.cell = self.moved(self.cell, action)
        return self.cell, 0.0, False, False, self.info()


def row(mask: Any, published: bool = False) -> Task:
    return Task.from_env(lambda: Row(mask, published), {"end": [5]}, "end", limit=30)


def test_what_is_no_mask_is_told_by_learners_tables_agents_and_policy_files(tmp_path: Path) -> None:
    run = errands.train(row(np.ones(3, np.int8)), "crm", steps=300)
    agents = run.agent(), errands.read_policy(run.export(tmp_path / "p"))
    for mask in NO_MASKS:
        with pytest.raises(TaskError, match=r"at the start of an episode gave action_mask = .*; give a 0 or 1 for each of 3"):
            errands.train(row(mask), "crm", steps=10)
        with pytest.raises(SpecError, match=r"cannot be right: state 0 has action_mask = .*; give a 0 or 1"):
            errands.optimum(row(lambda state, mask=mask: mask, published=True))
        for agent in agents:
            agent.reset(0, {"action_mask": mask})
            with pytest.raises(TaskError, match=r"info has action_mask = .*; give a 0 or 1"):
                agent.act(0)
    for agent in agents:
        agent.reset(0, {"action_mask": None})
        assert agent.act(0) in range(3)


def test_a_mask_of_the_present_state_alone_makes_no_table_false() -> None:
    """As sb3's masked learners ask for it: a method without a state."""
    task = row(lambda: np.ones(3), published=True)
    assert task.finite is None
    assert errands.optimum(row([1, 1, 1], published=True)).length == 5
