"""Plans on what Scout knows: lower bounds from landmarks, then A*; a plan without an untried action is a certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errands.kernels.scout_bounds import FAR, Landmarks, bound, find_landmarks, measure
from errands.kernels.scout_memory import Known
from errands.kernels.scout_search import EXIT, GOAL, LOST, NONE, estimate, search
from errands.learners.scout.agenda import Agenda
from errands.learners.scout.guide import Walk
from errands.learners.scout.lowering import Lowering
from errands.machines.stepping import State
from errands.tables import Ints

MOST_WORK = 60_000_000
MOST_LANDMARKS = 4_096


@dataclass(frozen=True)
class Plan:
    """Actions from a state, with the machine state (its number) and the cell before each; none where there is no way."""

    kind: int
    """GOAL, EXIT (ends with an untried action), NONE, or LOST (nobody knows: the search grew too large)."""
    cost: float
    """Steps to success; of an exit, a lower bound on them."""
    actions: Ints
    machine_states: Ints
    cells: Ints


class Planner:
    """A value: what is known at one moment, and the plans that follow from it."""

    def __init__(self, known: Known, agenda: Agenda, lowering: Lowering, unique: bool) -> None:
        self.known = known
        self.agenda = agenda
        self.lowering = lowering
        self.unique = unique

    @cached_property
    def marked(self) -> tuple[Ints, Ints, bool]:
        """The landmarks, and whether they are too many to be used."""
        count, states = len(self.known.tried), len(self.agenda.states.u)
        most = min(MOST_LANDMARKS, int((MOST_WORK / states) ** 0.5), MOST_WORK // count)
        cells, labels = find_landmarks(self.known, self.agenda.useful, most + 1)
        blind = len(cells) > most or (len(cells) == 0 and bool(self.agenda.useful[self._seen].any()))
        return (cells[:0], labels[:0], True) if blind else (cells, labels, False)

    @property
    def _seen(self) -> Ints:
        return np.unique(self.known.label[self.known.hits > 0])

    def landmarks(self, hopeful: bool) -> Landmarks:
        """The landmarks with their distances; without landmarks the machine alone bounds the steps."""
        cells, labels, blind = self.marked
        if blind:
            count = len(self.known.tried)
            return Landmarks(cells, labels, np.zeros((0, count), np.int32), np.zeros(count, np.int32))
        marks: Landmarks = measure(self.known, self.agenda.fatal, cells, labels, hopeful)
        return marks

    def bounds(self, marks: Landmarks) -> Ints:
        """[X, G + 1] lower bounds on the steps to success, by machine state and landmark, then elsewhere."""
        absent: set[str] = set()
        if self.unique and not self.marked[2]:
            absent = {name for label in self._seen for name in self.lowering.labels[label]}
        allowed = self.lowering.options(absent)[2]
        closed = self.lowering.bits(absent)
        open_bits = np.uint64(self.lowering.stepper.full & ~closed)
        w: Ints = bound(self.agenda.states, self.agenda.delta, marks, allowed, open_bits, self.agenda.layered)
        return w

    @cached_property
    def _hopeful(self) -> tuple[Landmarks, Ints]:
        marks = self.landmarks(True)
        return marks, self.bounds(marks)

    @cached_property
    def _sure(self) -> tuple[Landmarks, Ints]:
        marks = self.landmarks(False)
        return marks, self.bounds(marks)

    def plan(self, x: int, s: int) -> Plan:
        """The shortest way to success over known steps from machine state x in cell s."""
        return self._search(self._sure, x, s, FAR, hopeful=False)

    def hope(self, x: int, s: int, ceiling: float) -> Plan:
        """A way that ends with an untried action and could cost less than the ceiling; NONE proves that there is none."""
        return self._search(self._hopeful, x, s, int(min(ceiling, FAR)), hopeful=True)

    def _search(self, bounds: tuple[Landmarks, Ints], x: int, s: int, ceiling: int, hopeful: bool) -> Plan:
        agenda = self.agenda
        kind, cost, *way = search(self.known, agenda.states.status, agenda.delta, *bounds, x, s, ceiling, hopeful)
        return Plan(int(kind), float(cost) if kind in (GOAL, EXIT) else math.inf, *way)

    def lower(self, x: int, s: int) -> float:
        """A lower bound on the steps to success, whatever untried actions do."""
        found = int(estimate(self.agenda.delta, *self._hopeful, x, s))
        return math.inf if found >= FAR else float(found)

    def certified(self, x: int, s: int) -> Plan | None:
        """The plan that no untried action can beat, or NONE if no run succeeds; None while an untried action could."""
        plan = self.plan(x, s)
        return plan if plan.kind != LOST and self.hope(x, s, plan.cost).kind == NONE else None

    def onward(self, x: int, s: int) -> Ints | None:
        """The actions to an untried one that could shorten the way to success, else to success; None without either."""
        plan = self.plan(x, s)
        hope = self.hope(x, s, plan.cost)
        chosen = hope if hope.kind == EXIT else plan
        return chosen.actions if chosen.kind in (GOAL, EXIT) else None

    def walk(self, state: State, cell: int) -> Walk | None:
        """The shortest way to success over known steps; None where there is none."""
        x = self.agenda.number(state)
        plan = self.plan(x, cell) if x >= 0 else None
        if plan is None or plan.kind != GOAL:
            return None
        return Walk(
            tuple(plan.actions.tolist()), tuple(plan.cells.tolist()), tuple(map(self.agenda.state, plan.machine_states))
        )
