"""A Gymnasium environment with numbered observations as a world that Scout steps: the host loop."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import numpy as np

from errands.errors import TaskError
from errands.kernels import scout_explore as ex
from errands.kernels import scout_memory as me
from errands.kernels.scout_explore import choose
from errands.kernels.scout_memory import Agent, Known, absorb, begin
from errands.learners.scout.lowering import Lowering
from errands.learners.scout.plain import plain, rich
from errands.learners.scout.world import NEWS, Outing, Sampler, TableSampler
from errands.tables import RUNNING
from errands.tasks.task import Task
from errands.worlds.saving import Restorable


class EnvSampler:
    """Steps of a Gymnasium environment with numbered observations; its features are met one by one."""

    certain: bool | None = None

    def __init__(self, task: Task, seed: int) -> None:
        self.task = task
        self.limit = task.world.limit
        self.env = task.world.env()
        spaces = self.env.observation_space, self.env.action_space
        if not all(isinstance(space, gym.spaces.Discrete) and space.start == 0 for space in spaces):
            raise TaskError(
                f"Scout needs numbered observations and actions; '{task.name}' has {spaces[0]} and {spaces[1]}: "
                "use 'qcorm-plus'"
            )
        self.states, self.actions = int(spaces[0].n), int(spaces[1].n)  # type: ignore[attr-defined]
        self.looked_at = frozenset(task.machine.features)
        self.seed: int | None = seed
        self.news: tuple[int, frozenset[str], bool, bool, int] | None = None

    def explore(self, outing: Outing) -> tuple[int, int]:
        """Up to `outing.steps` steps: how many were taken, and why it stopped."""
        known, lowering, agent, route, count, due, pauses, _ = outing
        at = agent.at
        for step in range(count):
            if at[me.CLOCK] < 0:
                if not self._begin(known, lowering, agent):
                    return step, NEWS
                if pauses:
                    return step, ex.CHANGED
            if self.news is None:
                a = int(choose(known, agent, route))
                if a < 0:
                    return step, ex.DRY
                if known.hits[at[me.CELL], a, -1] > 0:
                    return step, ex.FULL
                observation, _, ends, cut, info = self.env.step(a)
                self.news = int(observation), self.looked_at & info["features"], bool(ends), bool(cut), a
            there, features, ends, cut, a = self.news
            label = lowering.number.get(features)
            if label is None:
                return step, NEWS
            self.news = None
            ended = absorb(known, lowering.machine, agent, a, there, label, ends)
            if ended != RUNNING or cut or at[me.CLOCK] >= self.limit:
                at[me.CLOCK] = -1
            if (why := _pause(at, due, pauses)) is not None:
                return step + 1, why
        return count, ex.SPENT

    def _begin(self, known: Known, lowering: Lowering, agent: Agent) -> bool:
        """Start an episode; False where its features are new to the machine."""
        if self.news is None:
            observation, info = self.env.reset(seed=self.seed)
            self.seed = None
            self.news = int(observation), self.looked_at & info["features"], False, False, -1
        label = lowering.number.get(self.news[1])
        if label is None:
            return False
        begin(known, lowering.machine, agent, self.news[0], label)
        self.news = None
        return True

    def trial(self, seed: tuple[int, int]) -> EnvTrial:
        """An episode of a fresh environment."""
        return EnvTrial(self.task.world.env(), int(np.random.PCG64(seed).random_raw() >> 33))

    def save(self) -> bytes:
        """The environment's own state."""
        inner: Any = self.env
        if not isinstance(inner, Restorable):
            raise TaskError(f"the environment of '{self.task.name}' has no save(); a run on it cannot be resumed")
        return json.dumps({"seed": self.seed, "env": plain(inner.save())}).encode()

    def restore(self, saved: bytes) -> None:
        """Put the environment back into its saved state."""
        state = json.loads(saved.decode())
        inner: Any = self.env
        inner.reset(seed=0)
        inner.restore(rich(state["env"]))
        self.seed, self.news = state["seed"], None


class EnvTrial:
    """One episode of a Gymnasium environment."""

    def __init__(self, env: gym.Env[Any, Any], seed: int) -> None:
        self.env = env
        self.seed = seed

    def start(self) -> int:
        """Where the episode starts."""
        return int(self.env.reset(seed=self.seed)[0])

    def step(self, action: int) -> tuple[int, frozenset[str], bool, dict[str, float]]:
        """One step of the environment; a truncation of its own counts as an end."""
        observation, _, ends, cut, info = self.env.step(action)
        return int(observation), frozenset(info["features"]), bool(ends or cut), info.get("signals", {})


def _pause(at: Any, due: int, pauses: bool) -> int | None:
    """Why exploring stops after this step; None to go on."""
    if at[me.FRESH] >= due:
        return ex.DUE
    if pauses and at[me.CLOCK] < 0:
        return ex.ENDED
    return ex.CHANGED if pauses and at[me.MOVED] else None


def make_sampler(task: Task, seed: int, host: bool) -> Sampler:
    """The steps of a task's world: its tables where it has some, unless the host loop is asked for."""
    world = None if host else task.finite
    return EnvSampler(task, seed) if world is None else TableSampler(world, task.world.limit)
