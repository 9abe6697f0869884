"""What CRM and HRM share: an enumerated machine, and which of its states may learn from a step."""

from __future__ import annotations

import numpy as np

from errands.errors import TaskError
from errands.kernels.crm import Alive, reachable_counts, reachable_lists
from errands.learners.base import LearnerConfig
from errands.learners.tabular.base import TabularLearner
from errands.learners.tabular.lazy import Kind
from errands.learners.tabular.policies import MachinePolicy
from errands.machines.agenda import AgendaRM, unfold_agenda
from errands.machines.boolean import BooleanRM, unfold_boolean
from errands.machines.counting import size, still_to_come
from errands.machines.lower import lower
from errands.tables import RUNNING
from errands.tasks.task import Task

MAX_ALIVE = 200_000_000


class CounterfactualLearner(TabularLearner):
    """A learner that replays each world step in every machine state; where things vanish, in those still reachable."""

    def __init__(self, task: Task, config: LearnerConfig, seed: int, kind: Kind, fields: int) -> None:
        super().__init__(task, config, seed, fields)
        predicted = size(task.machine)
        states = predicted.boolean if kind == "boolean" else predicted.agenda
        self.check_size(states)
        if task.vanishing and kind == "agenda":
            _check_alive(still_to_come(task.machine) or 0)
        self.enumerated: AgendaRM | BooleanRM
        self.enumerated = unfold_boolean(task.machine) if kind == "boolean" else unfold_agenda(task.machine)
        self.relabel()

    def check_size(self, states: int) -> None:
        """Refuse a machine whose tables would not fit."""

    def relabel(self) -> None:
        """Lower the machine against the labels known now."""
        self.machine = lower(self.enumerated, self.world.labels, self.world.signals)
        self.alive = self._alive(bool(self.task.vanishing))

    def _alive(self, vanishing: bool) -> Alive:
        following, status = np.ascontiguousarray(self.machine.next.T), self.machine.status
        reward, signal = np.ascontiguousarray(self.machine.reward.T), np.ascontiguousarray(self.machine.signal.T)
        still = (self.machine.next == np.arange(len(status))[:, None]) & (self.machine.reward == 0)
        quiet = (still | (status != RUNNING)[:, None]).all(axis=0)
        if not vanishing:
            running = np.flatnonzero(status == RUNNING).astype(np.uint32)
            everywhere = np.tile(np.array([0, len(running)], np.int64), (len(status), 1))
            one = np.zeros(len(status), np.int32)
            return Alive(following, reward, signal, status, quiet, everywhere, running, one)
        first = np.concatenate([[0], np.cumsum(reachable_counts(self.machine.next, status))])
        _check_alive(int(first[-1]))
        running = np.zeros(first[-1], np.uint32)
        reachable_lists(self.machine.next, status, first, running)
        slices, own = np.stack([first[:-1], first[1:]], axis=1), np.arange(len(status), dtype=np.int32)
        return Alive(following, reward, signal, status, quiet, slices, running, own)

    def policy_over(self, actions: np.ndarray) -> MachinePolicy:
        """A policy with these greedy actions per machine and world state."""
        machine = self.enumerated
        ordered = isinstance(machine, BooleanRM)
        index: dict[tuple[int, object], int] = {(u, rest): i for (u, rest), i in machine.index.items()}
        return MachinePolicy(actions.astype(np.int8), index, machine.stepper.full, ordered)


def _check_alive(entries: int) -> None:
    if entries > MAX_ALIVE:
        raise TaskError(
            f"the lists of reachable machine states would have {entries:,} entries, more than {MAX_ALIVE:,}; "
            "use learner 'qcorm' or 'scout'"
        )
