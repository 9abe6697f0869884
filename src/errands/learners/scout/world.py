"""Worlds that Scout steps and never reads ahead: tables by a compiled loop, Gymnasium environments by the host."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np

from errands.errors import TaskError
from errands.kernels.scout import explore as ex
from errands.kernels.scout import memory as me
from errands.kernels.scout.explore import choose, explore_table
from errands.kernels.scout.memory import Explorer, Known, absorb, begin, has_room
from errands.learners.scout.machine import Lowering
from errands.tables import RUNNING, Ints
from errands.tasks.task import Task
from errands.worlds.base import FiniteWorld
from errands.worlds.plain import plain, rich
from errands.worlds.saving import Restorable

NEWS = 6
"""Why exploring stopped: the environment showed a feature set that the machine has not been lowered against."""


class Outing(NamedTuple):
    """What the agent takes along when it explores, and when it is to come back."""

    known: Known
    lowering: Lowering
    agent: Explorer
    route: Ints
    steps: int
    """Steps at most."""
    due: int
    """New pairs after which it stops."""
    pauses: bool
    """Whether it also stops when an episode has ended or the machine has changed."""
    rng: np.random.Generator


class TrialEpisode(Protocol):
    """One episode apart from training, for evaluations."""

    def start(self) -> int:
        """Where the episode starts."""
        ...

    def step(self, action: int) -> tuple[int, frozenset[str], bool, dict[str, float]]:
        """The next world state, the features of the step, whether the world ended it, and its signals."""
        ...


class Sampler(Protocol):
    """A finite world that can only be stepped."""

    states: int
    actions: int
    certain: bool | None
    """Whether the world declares that every move has one outcome; None where it does not say."""

    def explore(self, outing: Outing) -> tuple[int, int]:
        """Up to `outing.steps` steps: how many were taken, and why it stopped."""
        ...

    def trial(self, seed: tuple[int, int]) -> TrialEpisode:
        """An episode apart from training."""
        ...

    def save(self) -> bytes:
        """What the next steps depend on, besides the agent and its random numbers."""
        ...

    def restore(self, saved: bytes) -> None:
        """Continue where `saved` was taken."""
        ...


class TableSampler:
    """Steps of a world's tables, taken by a compiled loop; the tables are never read ahead."""

    def __init__(self, world: FiniteWorld, limit: int) -> None:
        self.world = world
        self.limit = limit
        self.states = world.states
        self.actions = world.actions
        self.certain: bool | None = world.table.next.shape[2] == 1

    def explore(self, outing: Outing) -> tuple[int, int]:
        """Up to `outing.steps` steps: how many were taken, and why it stopped."""
        known, lowering, agent, route, count, due, pauses, rng = outing
        taken, why = explore_table(
            self.world.table, known, lowering.machine, agent, route, count, due, self.limit, pauses, rng
        )
        return int(taken), int(why)

    def trial(self, seed: tuple[int, int]) -> TableTrial:
        """An episode apart from training."""
        return TableTrial(self.world, np.random.Generator(np.random.PCG64(seed)))

    def save(self) -> bytes:
        """Nothing: all that matters is the agent's cell and the random numbers."""
        return b""

    def restore(self, saved: bytes) -> None:
        """Nothing to restore."""


class TableTrial:
    """One episode on a world's tables."""

    def __init__(self, world: FiniteWorld, rng: np.random.Generator) -> None:
        self.world = world
        self.rng = rng
        self.at = 0

    def start(self) -> int:
        """Where the episode starts."""
        table = self.world.table
        drawn = self.rng.random() if len(table.starts) > 1 else 0.0
        which = min(int(np.searchsorted(table.start_cumulative, drawn, side="right")), len(table.starts) - 1)
        self.at = int(table.starts[which])
        return self.at

    def step(self, action: int) -> tuple[int, frozenset[str], bool, dict[str, float]]:
        """One move, drawn where it has several outcomes."""
        table, s, o = self.world.table, self.at, 0
        if table.next.shape[2] > 1:
            shares = table.cumulative[s, action]
            o = min(int(np.searchsorted(shares, self.rng.random(), side="right")), len(shares) - 1)
        self.at = int(table.next[s, action, o])
        signals = {name: float(table.signal[k, s, action, o]) for k, name in enumerate(self.world.signals)}
        return self.at, self.world.labels[table.label[s, action, o]], bool(table.ends[s, action, o]), signals


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
                if not has_room(known, at[me.CELL], a):
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

    def _begin(self, known: Known, lowering: Lowering, agent: Explorer) -> bool:
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
