"""CRM: QRM with counterfactual steps in every machine state."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from errands.kernels.crm import Settled, crm_loop
from errands.kernels.qrm import FIELDS, MACHINE, Rates, begin, greedy_episode
from errands.learners.base import FINITE, Form, Saved, SavedArray
from errands.learners.tabular.base import room
from errands.learners.tabular.counterfactual import CounterfactualLearner
from errands.learners.tabular.lazy import Kind
from errands.learners.tabular.policies import MachinePolicy
from errands.learners.tabular.qrm import QRMConfig
from errands.learners.tabular.world import Asked
from errands.tasks.task import Task


class CRM(CounterfactualLearner):
    """One seed of CRM; the table is [world state, action, machine state]."""

    config: QRMConfig

    def __init__(self, task: Task, config: QRMConfig, seed: int, machine: Kind = "agenda") -> None:
        super().__init__(task, config, seed, machine, FIELDS)
        shape = (self.world.states, self.world.actions, len(self.enumerated))
        self.q = np.full(shape, config.q_init)
        certain = self.world.table.next.shape[2] == 1 and not isinstance(self.world, Asked)
        groups = len(np.unique(self.alive.group))
        self.settled = Settled(certain, np.zeros(shape[0], np.int32), np.full((*shape[:2], groups), -1, np.int32))
        self.begin()

    def check_size(self, states: int) -> None:
        """Refuse a machine whose tables would not fit."""
        actions = self.world.actions
        room("the tables of CRM", self.world.states, actions + actions // 2 if self.task.vanishing else actions, states)

    def begin(self) -> None:
        """Put the agent at the start of an episode."""
        begin(self.world.table, self.machine, self.where, self.rng)

    def loop(self, count: int) -> int:
        """Run the compiled loop."""
        rates = Rates(self.config.alpha, self.config.gamma, self.config.epsilon, self.world.limit)
        table = self.world.table
        return int(crm_loop(table, self.machine, self.alive, self.q, self.settled, self.where, rates, count, self.rng))

    def supply(self) -> None:
        """Nothing is ever missing: the machine is enumerated."""

    def greedy_episode(self, rng: np.random.Generator) -> tuple[int, float, bool]:
        """One compiled greedy episode."""
        found: tuple[int, float, bool] = greedy_episode(self.world.table, self.machine, self.q, self.world.limit, rng)
        return found

    @property
    def policy(self) -> MachinePolicy:
        """The greedy policy learnt so far."""
        return self.policy_over(self.q.argmax(axis=1).T)

    def fields(self) -> Mapping[int, int]:
        """How many values each field of the position can have."""
        return {**self.place(), MACHINE: len(self.enumerated)}

    def tables(self) -> Form:
        """What is saved besides the position: the table."""
        return {"q": SavedArray("float64", self.q.shape, "values by world state, action and machine state", -FINITE, FINITE)}

    def arrays(self) -> Saved:
        """The table itself."""
        return {"q": self.q}

    def take(self, saved: Saved, lengths: Mapping[str, int]) -> None:
        """Take the table back; nothing is known to be settled."""
        super().take(saved, lengths)
        self.settled.at.fill(-1)
