"""What Scout asks of a world: steps, one at a time; from a world's tables, or from a Gymnasium environment."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from errands.kernels.scout_explore import explore_table
from errands.kernels.scout_memory import Agent, Known
from errands.learners.scout.lowering import Lowering
from errands.tables import Ints
from errands.worlds.base import FiniteWorld

NEWS = 6
"""Why exploring stopped: the environment showed a feature set that the machine has not been lowered against."""


class Outing(NamedTuple):
    """What the agent takes along when it explores, and when it is to come back."""

    known: Known
    lowering: Lowering
    agent: Agent
    route: Ints
    steps: int
    """Steps at most."""
    due: int
    """New pairs after which it stops."""
    pauses: bool
    """Whether it also stops when an episode has ended or the machine has changed."""
    rng: np.random.Generator


class Trial(Protocol):
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

    def trial(self, seed: tuple[int, int]) -> Trial:
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
