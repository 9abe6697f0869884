"""Worlds that Scout steps and never reads ahead: tables by a compiled loop, Gymnasium environments by the host."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np

from errands.errors import TaskError
from errands.learners.scout.kernel import explore as ex
from errands.learners.scout.kernel import memory as me
from errands.learners.scout.kernel.explore import choose, explore_table
from errands.learners.scout.kernel.memory import Explorer, Known, absorb, begin, has_room
from errands.learners.scout.machine import Lowering
from errands.tables import RUNNING, Ints
from errands.tasks.task import Task
from errands.worlds.base import FiniteWorld, numbered
from errands.worlds.saving import Restorable, from_json, to_json

# The numbers go on from those of kernels.scout.explore, 0 to 5.
UNSEEN, BEYOND = 6, 7
"""Why exploring stopped: the environment showed a feature set that the machine has not been lowered against, or a state
for which there is no room yet."""
FIRST_STATES = 512
"""States of an environment that there is room for at first; a space may hold many more than are ever met."""


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


class Sampler(Protocol):
    """A finite world that can only be stepped."""

    states: int
    """World states that there is room for at first."""
    most: int
    """World states that there can be."""
    actions: int
    certain: bool | None
    """Whether the world declares that every move has one outcome; None where it does not say."""

    def explore(self, outing: Outing) -> tuple[int, int]:
        """Up to `outing.steps` steps: how many were taken, and why it stopped."""

    def save(self) -> bytes:
        """What the next steps depend on, besides the agent and its random numbers."""

    def restore(self, saved: bytes) -> None:
        """Continue where `saved` was taken."""


class TableSampler:
    """Steps of a world's tables, taken by a compiled loop; the tables are never read ahead."""

    def __init__(self, world: FiniteWorld, limit: int) -> None:
        self.world = world
        self.limit = limit
        self.states = self.most = world.states
        self.actions = world.actions
        self.certain: bool | None = world.table.next.shape[2] == 1

    def explore(self, outing: Outing) -> tuple[int, int]:
        """Up to `outing.steps` steps: how many were taken, and why it stopped."""
        known, lowering, agent, route, count, due, pauses, rng = outing
        taken, why = explore_table(
            self.world.table, known, lowering.machine, agent, route, count, due, self.limit, pauses, rng
        )
        return int(taken), int(why)

    def save(self) -> bytes:
        """Nothing: all that matters is the agent's cell and the random numbers."""
        return b""

    def restore(self, saved: bytes) -> None:
        """Nothing to restore; anything else is no state of a table."""
        if saved:
            raise ValueError("a table has no state of its own")


class EnvAnswer(NamedTuple):
    """What an environment answered, until the agent has taken it in."""

    state: int
    features: frozenset[str]
    ends: bool = False
    truncated: bool = False
    action: int = -1
    """What was done; -1 for the start of an episode."""


class EnvSampler:
    """Steps of a Gymnasium environment with numbered observations; its features and states are met one by one."""

    certain: bool | None = None

    def __init__(self, task: Task, seed: int) -> None:
        self.task = task
        self.limit = task.world.limit
        self.env = numbered(task.world)
        seen, done = self.env.observation_space, self.env.action_space
        if not isinstance(seen, gym.spaces.Discrete) or not isinstance(done, gym.spaces.Discrete):
            raise TaskError(
                f"Scout needs numbered observations and actions; '{task.name}' has {seen} and {done}: "
                "number its states (Task.from_env(..., state=function)) or use 'qcorm-plus'"
            )
        self.space = seen
        # A Discrete space may begin at any number; Scout's cells and actions begin at 0.
        self.first_state, self.first_action = int(seen.start), int(done.start)
        self.most, self.actions = int(seen.n), int(done.n)
        self.states = min(self.most, FIRST_STATES)
        # Features that the machine does not read would only make more labels that mean the same.
        self.looked_at = frozenset(task.machine.features)
        # Given to the first reset only; later episodes go on with the environment's own random numbers.
        self.seed: int | None = seed
        # An answer that cannot be taken in yet waits here, for an environment cannot be asked twice.
        self.pending_observation: EnvAnswer | None = None

    def explore(self, outing: Outing) -> tuple[int, int]:
        """Up to `outing.steps` steps: how many were taken, and why it stopped."""
        known, lowering, agent, route, count, due, pauses, _ = outing
        # The order of tests is that of explore_table: both loops have to take the same steps.
        at = agent.at
        for step in range(count):
            if at[me.CLOCK] < 0:
                if (why := self._begin(known, lowering, agent)) is not None:
                    return step, why
                if pauses:
                    return step, ex.CHANGED
            # With an answer waiting, the step was already taken before the last stop.
            if self.pending_observation is None:
                a = int(choose(known, agent, route))
                if a < 0:
                    return step, ex.DRY
                if not has_room(known, at[me.CELL], a):
                    return step, ex.FULL
                observation, _, ends, truncated, info = self.env.step(a + self.first_action)
                self.pending_observation = self._seen(observation, info, bool(ends), bool(truncated), a)
            # A step counts when it is taken in, so that one which waits is not counted twice.
            if (why := self._strange(known, lowering)) is not None:
                return step, why
            there, features, ends, truncated, a = self.pending_observation
            self.pending_observation = None
            ended = absorb(known, lowering.machine, agent, a, there, lowering.number[features], ends)
            # A truncation ends the episode, but is no outcome of the pair and is not remembered as one.
            if ended != RUNNING or truncated or at[me.CLOCK] >= self.limit:
                at[me.CLOCK] = -1
            if (why := _pause(at, known, due, pauses)) is not None:
                return step + 1, why
        return count, ex.SPENT

    def _begin(self, known: Known, lowering: Lowering, agent: Explorer) -> int | None:
        """Start an episode; why it cannot be started yet, or None."""
        if self.pending_observation is None:
            observation, info = self.env.reset(seed=self.seed)
            self.seed = None
            self.pending_observation = self._seen(observation, info)
        if (why := self._strange(known, lowering)) is not None:
            return why
        begin(known, lowering.machine, agent, self.pending_observation.state, lowering.number[self.pending_observation.features])
        self.pending_observation = None
        return None

    def _seen(
        self, observation: Any, info: dict[str, Any], ends: bool = False, truncated: bool = False, action: int = -1
    ) -> EnvAnswer:
        """An answer of the environment; a state outside its space would make compiled code read foreign memory."""
        if observation not in self.space:
            raise TaskError(
                f"the environment of '{self.task.name}' observed {observation}, which is not in its {self.space}"
            )
        return EnvAnswer(
            int(observation) - self.first_state, self.looked_at & info["features"], ends, truncated, action
        )

    def _strange(self, known: Known, lowering: Lowering) -> int | None:
        """Why what was seen cannot be taken in yet: a state beyond the memory, or features new to the machine."""
        if self.pending_observation is not None and self.pending_observation.state >= len(known.tried):
            return BEYOND
        return UNSEEN if self.pending_observation is not None and self.pending_observation.features not in lowering.number else None

    def save(self) -> bytes:
        """The environment's own state."""
        inner: Any = self.env
        if not isinstance(inner, Restorable):
            raise TaskError(f"the environment of '{self.task.name}' has no save(); a run on it cannot be resumed")
        return json.dumps({"seed": self.seed, "env": to_json(inner.save())}).encode()

    def restore(self, saved: bytes) -> None:
        """Put the environment back into its saved state."""
        state = json.loads(saved.decode())
        inner: Any = self.env
        inner.reset(seed=0)
        inner.restore(from_json(state["env"]))
        self.seed, self.pending_observation = state["seed"], None


def _pause(at: Any, known: Known, due: int, pauses: bool) -> int | None:
    """Why exploring stops after this step; None to go on."""
    if at[me.FRESH] >= due:
        return ex.DUE
    if pauses and at[me.CLOCK] < 0:
        return ex.ENDED
    # The first random move asks for a plan, too: from then on there are pauses.
    return ex.CHANGED if (at[me.MOVED] if pauses else known.facts[me.RANDOM]) else None


def make_sampler(task: Task, seed: int, host: bool) -> Sampler:
    """The steps of a task's world: its tables where it has some, unless the host loop is asked for."""
    world = None if host else task.finite
    return EnvSampler(task, seed) if world is None else TableSampler(world, task.world.limit)
