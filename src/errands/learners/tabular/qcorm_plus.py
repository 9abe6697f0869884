"""QCoRM+ (ours): landmark values learnt without a model, the exact order of subtasks planned from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from errands.errors import ConfigError
from errands.kernels.qcorm_plus import decide, run
from errands.kernels.qcorm_plus_agenda import Agenda, find, list_agenda
from errands.kernels.qcorm_plus_memory import (
    ACTION,
    FIELDS,
    NODE,
    NUMERIC,
    STATE,
    STEP,
    TIME,
    Memory,
    Settings,
    grown,
    new_memory,
    on_agenda,
)
from errands.kernels.qcorm_plus_tour import take_aim
from errands.kernels.stepping import start
from errands.learners.base import LearnerConfig, Saved
from errands.learners.tabular.base import TabularLearner, room
from errands.learners.tabular.qcorm_plus_policy import LandmarkPolicy, episode, settled
from errands.learners.tabular.qcorm_plus_steps import MOST_NODES, learnt_steps_to_go, walked_steps_to_go
from errands.learners.tabular.world import Asked
from errands.machines.counting import size
from errands.machines.lower import lower
from errands.machines.stepping import Stepper
from errands.tables import AgendaTable
from errands.tasks.task import Task

MOST_LISTED = 1 << 19
"""Agenda states that are listed: 18 subtasks with a phase between them."""
MOST_VALUES = 1 << 25
"""Numbers in the tables of all landmarks."""


@dataclass(frozen=True)
class QCoRMPlusConfig(LearnerConfig):
    """Settings of QCoRM+; where moves are certain only the first six play a part."""

    gamma: float = 0.99
    """Discount factor, below 1: it is what makes a shorter way worth more."""
    backwards: int = 1 << 12
    """Steps that are learnt again, last first, after every 128 and after each episode in which something changed."""
    passes: int = 50
    """How often at most; it ends when nothing changes any more."""
    corrections: bool = True
    """Whether values by agenda state are kept where landmarks alone promise too much; without them not always exact."""
    landmarks: int = 0
    """Cells with a value table of their own; further ones share that of their features. 0 takes what memory allows."""
    kicks: int = 1_000
    """Kicks of the local search for the order, above about 18 subtasks."""
    epsilon: float = 0.2
    """Share of random actions in a world whose moves have proved random."""
    replays: int = 32
    """Recent steps learnt from again with each step in a random world."""
    horizon: float = 32.0
    """h of the learning rate (h + 1) / (h + n) in a random world, n counting the updates of a pair; about `replays`."""
    recent: int = 1 << 19
    """How many recent steps are kept for that, and at most of an episode; a power of two."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma >= 1:
            raise ConfigError(f"gamma is {self.gamma}; QCoRM+ needs it below 1, for example 0.99")
        if not 0 <= self.epsilon <= 1:
            raise ConfigError(f"epsilon is {self.epsilon}; it must lie between 0 and 1")
        for name in ("backwards", "passes", "landmarks", "kicks", "horizon", "replays"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must not be negative")
        if self.recent < 1 or self.recent & (self.recent - 1):
            raise ConfigError(f"recent is {self.recent}; it must be a power of two, for example {1 << 19}")


class QCoRMPlus(TabularLearner):
    """One seed of QCoRM+."""

    config: QCoRMPlusConfig

    def __init__(self, task: Task, config: QCoRMPlusConfig, seed: int) -> None:
        super().__init__(task, config, seed, FIELDS)
        states, actions = self.world.states, self.world.actions
        self.machine, self.agenda = self._listed()
        room("the tables of QCoRM+", states, actions, len(self.world.labels) + 1)
        recent = config.recent
        nodes, subtasks = len(self.agenda.status), len(task.machine.subtasks)
        self.memory = new_memory(states, actions, nodes, subtasks, recent, config.gamma)
        self.where = self.memory.where
        self.begin()

    def _listed(self) -> tuple[AgendaTable, Agenda]:
        machine = lower(self.task.machine, self.world.labels, self.world.signals)
        large = Stepper(self.task.machine).symmetric and size(self.task.machine).agenda > MOST_LISTED
        most = 0 if large else MOST_LISTED
        return machine, list_agenda(machine, self.config.gamma, most, not isinstance(self.world, Asked))

    def begin(self) -> None:
        """Put the agent at the start of an episode."""
        first = int(start(self.world.table, self.rng))
        self.where[STATE], self.where[NODE], self.where[TIME], self.where[ACTION] = first, 0, 0, -1
        self.where[NUMERIC], self.memory.mask[0] = self.machine.initial, self.machine.full
        self._decide()

    def _decide(self) -> None:
        n, s = int(self.where[NODE]), int(self.where[STATE])
        if self.agenda.listed:
            decide(self.agenda, self.memory, n, s)
        else:
            take_aim(self.machine, self.memory, self.settings, s, self.rng)

    @property
    def settings(self) -> Settings:
        """The numbers that the kernels read."""
        c = self.config
        most = c.landmarks or max(2, MOST_VALUES // (self.world.states * self.world.actions))
        return Settings(
            c.gamma, c.epsilon, c.horizon, c.replays, c.backwards, c.passes, self.world.limit, most, c.corrections, c.kicks
        )

    def loop(self, count: int) -> int:
        """Run the compiled loop."""
        return int(run(self.world.table, self.agenda, self.machine, self.memory, self.settings, count, self.rng))

    def supply(self) -> None:
        """Give the loop larger tables where they are full, and something to go for where it cannot plan."""
        self.memory = grown(self.memory, self.config.gamma)
        if not self.agenda.listed:
            self._decide()

    def relabel(self) -> None:
        """List the agenda again, with the new label; what was learnt about cells stays."""
        old, n = self.agenda, int(self.where[NODE])
        n = n if n < len(old.numeric) else 0
        self.machine, self.agenda = self._listed()
        self.memory = on_agenda(self.memory, len(self.agenda.status))
        new = self.agenda
        if new.listed:
            self.where[NODE] = new.slots[find(new.numeric, new.mask, new.slots, old.numeric[n], old.mask[n])]

    def greedy_episode(self, rng: np.random.Generator) -> tuple[int, float, bool]:
        """One compiled greedy episode."""
        frozen = settled(self.agenda, self.machine, self.memory, self.settings, self._first)
        return episode(self.world.table, self.agenda, self.machine, frozen, self.world.limit, rng)

    @property
    def _first(self) -> int:
        return int(self.world.table.starts[0])

    @property
    def policy(self) -> LandmarkPolicy:
        """The greedy policy learnt so far."""
        frozen = settled(self.agenda, self.machine, self.memory, self.settings, self._first, whole=True)
        return LandmarkPolicy(self.agenda, self.machine, frozen)

    @property
    def steps_to_go(self) -> Mapping[str, float]:
        """The learnt steps to go: of all coupled states on a way to success, or of those on one greedy episode."""
        if not self.agenda.listed or len(self.agenda.status) > MOST_NODES:
            return walked_steps_to_go(self.task, self.policy)
        frozen = settled(self.agenda, self.machine, self.memory, self.settings, self._first)
        return learnt_steps_to_go(self.task, self.agenda, self.world.labels, frozen, self._first, self.config.gamma)

    def save(self) -> Saved:
        """Everything that the rest of the run depends on."""
        arrays = {name: array.copy() for name, array in self.memory._asdict().items()}
        arrays["trace"] = arrays["trace"][: int(self.where[STEP])]
        return {**super().save(), **{f"memory.{name}": array for name, array in arrays.items()}}

    def restore(self, saved: Saved) -> None:
        """Continue where `saved` was taken; an environment without tables starts a new episode."""
        arrays = {name: saved[f"memory.{name}"].copy() for name in Memory._fields}
        arrays["trace"] = np.zeros_like(self.memory.trace)
        arrays["trace"][: len(saved["memory.trace"])] = saved["memory.trace"]
        self.memory = Memory(**arrays)
        self.where = self.memory.where
        super().restore(saved)
        self.resumed()
