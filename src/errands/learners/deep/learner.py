"""One seed of a deep method as a Learner: what every other learner is to runs, stores and plots."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from errands.learners.base import Learner, Saved
from errands.learners.deep.bandit import BanditMemory
from errands.learners.deep.config import DeepConfig
from errands.learners.deep.machine import Kind
from errands.learners.deep.policy import DeepPolicy, policy_of
from errands.learners.deep.team import team_of
from errands.machines.counting import Quotient
from errands.tables import Evaluation
from errands.tasks.task import Task


class DeepLearner(Learner):
    """A team of one seed; `learner` is qrm, crm, hrm, qcorm, qcorm-0 or qcorm-plus."""

    config: DeepConfig

    def __init__(self, task: Task, config: DeepConfig, seed: int, learner: str, machine: Kind = "agenda") -> None:
        super().__init__(task, config, seed)
        self.learner = learner
        self.team = team_of(task, learner, config, (seed,), machine)

    def advance(self, count: int) -> None:
        """Take `count` training steps."""
        self.team.advance(count)
        self.step = self.team.step

    def evaluate(self) -> Evaluation:
        """One greedy episode from the start."""
        return self.team.evaluate()[0]

    @property
    def policy(self) -> DeepPolicy:
        """The greedy policy learnt so far."""
        return policy_of(self.team, 0)

    @property
    def order(self) -> tuple[str, ...]:
        """The objectives in the order in which the greedy policy completes them."""
        self.team.evaluate()
        return self.team.orders[0]

    @property
    def steps_to_go(self) -> Mapping[str, float]:
        """The learnt steps to go by label, where the method keeps them."""
        memory = self.team.minds.high
        if not isinstance(memory, BanditMemory):
            return {}
        quotient, machine = Quotient(self.task.machine), self.team.brain.machine
        eta = np.asarray(memory.eta)[0]
        return {
            str(quotient.label((int(machine.numeric[i]), int(machine.masks[i])), machine.objectives[k])): float(eta[i, k])
            for i, k in np.argwhere(np.isfinite(eta) & machine.open)
        }

    @property
    def checkpoint_bytes(self) -> int:
        """The most bytes that a checkpoint takes, however long the run."""
        return self.team.checkpoint_bytes

    def save(self) -> Saved:
        """Everything that the rest of the run depends on: weights, moments, buffers, world, random state."""
        return {**self.team.save(), "evaluation_steps": np.array(self.evaluation_steps, np.int64)}

    def restore(self, saved: Saved) -> None:
        """Continue where `saved` was taken."""
        self.team.restore(saved)
        self.evaluation_steps = int(saved["evaluation_steps"]) if "evaluation_steps" in saved else 0
        self.step = self.team.step
