"""Which planner fits a task: exact search where its agenda states can be numbered, stages where they are too many."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from errands.kernels.scout_memory import Known
from errands.learners.scout.agenda import Agenda, number_states, with_labels
from errands.learners.scout.chance import MOST_VALUES, Exact, Prospect
from errands.learners.scout.config import ScoutConfig
from errands.learners.scout.crowd import Crowd
from errands.learners.scout.guide import Guide, GuidedPolicy
from errands.learners.scout.lowering import Lowering
from errands.learners.scout.nearest import Nearest
from errands.learners.scout.planner import Planner
from errands.learners.scout.staged import Staged
from errands.learners.scout.stages import Stage, find_stages
from errands.tables import FAILURE, RUNNING, Flags, Ints


class Mind:
    """The machine of a task as far as its labels are known, and the planners that suit its size."""

    def __init__(self, lowering: Lowering, config: ScoutConfig, seed: int, planner: type[Planner]) -> None:
        self.lowering = lowering
        self.config = config
        self.seed = seed
        self.planner = planner
        self._agenda = number_states(lowering)

    @property
    def agenda(self) -> Agenda | None:
        """The numbered agenda states under all labels met so far; None where there are too many."""
        old = self._agenda
        if old is not None and len(old.delta) < len(self.lowering.labels):
            self._agenda = with_labels(self.lowering, old.states, old.layered)
        return self._agenda

    @cached_property
    def stages(self) -> tuple[Stage, ...] | None:
        """The task as a chain of groups; None where it is none."""
        return find_stages(self.lowering)

    @property
    def due(self) -> int | None:
        """New pairs between two looks for a certificate, more where looking takes long; None where there is none."""
        agenda = self.agenda
        if agenda is None:
            return None
        return max(self.config.replan_every, len(agenda.states.u) * len(self.lowering.labels) ** 2 // 200_000)

    @property
    def fatal(self) -> Flags:
        """[L] the labels that fail the task whatever was done before."""
        if self.agenda is not None:
            return self.agenda.fatal
        machine = self.lowering.machine
        running = np.array([machine.status[u] == RUNNING for u, _ in self.lowering.entries])
        fatal: Flags = (machine.status[machine.next[:, running]] == FAILURE).all(axis=1)
        return fatal

    def guide(self, known: Known, settled: bool) -> Guide:
        """A planner for certain moves; before all is settled an order of many subtasks is not worth many kicks."""
        if self.agenda is not None:
            return self.planner(known, self.agenda, self.lowering, self.config.unique)
        if self.stages is not None:
            return Crowd(known, self.lowering, self.stages, self.config.kicks if settled else 0, self.seed)
        return Nearest(known, self.lowering)

    def prospect(self, known: Known) -> Prospect:
        """A planner for random moves."""
        config, agenda = self.config, self.agenda
        if agenda is not None and len(agenda.states.u) * len(known.tried) <= MOST_VALUES:
            return Exact(known, agenda, config.prior, config.gamma)
        if self.stages is not None:
            return Staged(known, self.lowering, self.stages, config.prior, config.gamma, config.kicks, self.seed)
        return Usual(self.guide(known, settled=False), len(known.tried))


class Usual:
    """A prospect that plans as if every move had its usual outcome."""

    def __init__(self, guide: Guide, cells: int) -> None:
        self.policy = GuidedPolicy(guide)
        self.cells = cells

    def route(self, state: tuple[int, int]) -> Ints:
        """[S] the action in every cell while the machine is in this state."""
        return np.array([self.policy.act(s, state, None)[0] for s in range(self.cells)], np.int32)
