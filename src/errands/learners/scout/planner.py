"""Plans on what Scout knows, the policies that follow them, and what they prove: bounds from landmarks, then A*."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from errands.learners.scout.kernel.memory import Known
from errands.learners.scout.kernel.model import Model, product_values, values_of
from errands.learners.scout.kernel.plan import (
    EXIT,
    FAR,
    GOAL,
    LOST,
    NONE,
    Landmarks,
    bound,
    estimate,
    find_landmarks,
    incoming,
    measure,
    search,
)
from errands.learners.scout.kernel.tour import BLOCKED, stage_search
from errands.learners.scout.machine import MAX_STATES, Lowering, NumberedAgenda, number_states, with_labels
from errands.learners.scout.stages import KnownWay, Stage, StageValues, TourPlanner, find_stages, usual
from errands.machines.stepping import State
from errands.oracle.certificate import AS_SEEN, Bounds
from errands.tables import FAILURE, RUNNING, SUCCESS, Flags, Ints

if TYPE_CHECKING:
    from errands.learners.scout.settings import ScoutConfig


# With X agenda states, G landmarks and S cells, bounds cost X * G^2 and distances G * S; neither may cost more.
MAX_WORK = 60_000_000
MAX_LANDMARKS = 4_096


class Planner(Protocol):
    """A planner on a fixed piece of knowledge."""

    def walk(self, state: State, cell: int) -> KnownWay | None:
        """The way to success that it would take from here; None where it knows none."""


class PlannedPolicy:
    """Follows the planner's walks; where the planner knows none it takes action 0, as in cells that it never heard of."""

    def __init__(self, planner: Planner, cells: int) -> None:
        self.planner = planner
        self.cells = cells
        # Walks by where they begin (None where there is none), and the action of every place on any of them.
        self.walks: dict[tuple[int, State], KnownWay | None] = {}
        self.planned: dict[tuple[int, State], int] = {}

    def walk(self, state: State, cell: int) -> KnownWay | None:
        """The planner's walk from here, planned once."""
        if (cell, state) not in self.walks:
            self.walks[cell, state] = self.planner.walk(state, cell) if cell < self.cells else None
        return self.walks[cell, state]

    def act(self, world_state: int, machine_state: tuple[int, int], memory: Hashable) -> tuple[int, Hashable]:
        """The action of the walk from here, and no memory."""
        here = (int(world_state), (int(machine_state[0]), int(machine_state[1])))
        if here not in self.planned:
            walk = self.walk(here[1], here[0])
            actions = zip(zip(walk.cells, walk.states, strict=True), walk.actions, strict=True) if walk else ()
            # An action planned before stays, so that walks of equal length cannot send the agent to and fro; 0 is left
            # only where the planner knows no way.
            for place, action in {here: 0, **dict(actions)}.items():
                self.planned.setdefault(place, action)
        return self.planned[here], None


# Values (agenda states times cells) that are iterated exactly; above this planning goes stage by stage.
MAX_VALUES = 400_000


class RandomPlanner(Protocol):
    """Greedy actions in a random world, by agenda state."""

    def route(self, state: State) -> Ints:
        """[S] the action in every cell while the machine is in this state; -1 where none was tried."""

    def value(self, state: State, cell: int) -> float:
        """The discount factor at success that it expects from here, 0 where it knows no way."""


class RoutedPolicy:
    """Follows the routes of a planner for random moves; action 0 where they end."""

    def __init__(self, planner: RandomPlanner) -> None:
        self.planner = planner

    def act(self, world_state: int, machine_state: tuple[int, int], memory: Hashable) -> tuple[int, Hashable]:
        """The action of the route, and no memory."""
        route = self.planner.route((int(machine_state[0]), int(machine_state[1])))
        return (max(int(route[world_state]), 0) if world_state < len(route) else 0), None


class ExactValues:
    """Value iteration over all agenda states and cells."""

    def __init__(self, model: Model, agenda: NumberedAgenda, gamma: float) -> None:
        # All is computed here, once: a policy is a value that later training does not change.
        self.agenda, status = agenda, agenda.states.status
        self.values = values_of(status, len(model.outcomes))
        self.policy: Ints = product_values(model, status, agenda.delta, gamma, agenda.layered, self.values)

    def route(self, state: State) -> Ints:
        """[S] the action in every cell while the machine is in this state; -1 where none was tried."""
        route: Ints = self.policy[self.agenda.number(state)]
        return route

    def value(self, state: State, cell: int) -> float:
        """The discount factor at success that it expects from here."""
        return float(self.values[self.agenda.number(state), cell])


@dataclass(frozen=True)
class SearchResult:
    """Actions from a state, with the machine state (its number) and the cell before each; none where there is no way."""

    kind: int
    """GOAL, EXIT (ends with an untried action), NONE, or LOST (nobody knows: the search grew too large)."""
    cost: float
    """Steps to success; of an exit, a lower bound on them."""
    actions: Ints
    machine_states: Ints
    cells: Ints


class ExactPlanner:
    """A value: what is known at one moment, and the plans that follow from it."""

    def __init__(self, known: Known, agenda: NumberedAgenda, lowering: Lowering, unique: bool) -> None:
        self.known = known
        self.agenda = agenda
        self.lowering = lowering
        self.unique = unique

    @cached_property
    def marked(self) -> tuple[Ints, Ints, bool]:
        """The landmarks, and whether they are too many to be used."""
        count, states = len(self.known.tried), len(self.agenda.states.u)
        most = min(MAX_LANDMARKS, int((MAX_WORK / states) ** 0.5), MAX_WORK // count)
        # One more than allowed is asked for, to tell too many from just enough. Even more are answered by none at all,
        # which is told from a world without landmarks by the labels seen.
        cells, labels = find_landmarks(self.known, self.agenda.useful, most + 1)
        blind = len(cells) > most or (len(cells) == 0 and bool(self.agenda.useful[self._seen].any()))
        return (cells[:0], labels[:0], True) if blind else (cells, labels, False)

    @property
    def _seen(self) -> Ints:
        return np.unique(self.known.label[self.known.hits > 0])

    @cached_property
    def _incoming(self) -> tuple[Ints, Ints]:
        return incoming(self.known, self.agenda.fatal)

    def landmarks(self, hopeful: bool) -> Landmarks:
        """The landmarks with their distances; without landmarks the machine alone bounds the steps."""
        cells, labels, blind = self.marked
        if blind:
            count = len(self.known.tried)
            # Exit 0 in every cell: anything might be one step away. A weak bound, but a true one.
            return Landmarks(cells, labels, np.zeros((0, count), np.int32), np.zeros(count, np.int32))
        return measure(self.known, self._incoming, cells, labels, hopeful)

    def bounds(self, marks: Landmarks) -> Ints:
        """[X, G + 1] lower bounds on the steps to success, by machine state and landmark, then elsewhere."""
        absent: set[str] = set()
        if self.unique and not self.marked[2]:
            # The promise `unique`: a feature that was seen is on its known cell, hence on no cell still unseen.
            absent = {name for label in self._seen for name in self.lowering.labels[label]}
        allowed = self.lowering.options(absent)[2]
        closed = self.lowering.stepper.about(absent) & ~self.lowering.stepper.order.ends
        open_bits = np.uint64(self.lowering.stepper.full & ~closed)
        return bound(self.agenda.states, self.agenda.delta, marks, allowed, open_bits, self.agenda.layered)

    # Two sets of bounds: hopeful ones hold whatever untried actions do; sure ones, over known steps only, are higher
    # and make the search for a plan shorter. Each is computed when it is first needed.
    @cached_property
    def _hopeful(self) -> tuple[Landmarks, Ints]:
        marks = self.landmarks(True)
        return marks, self.bounds(marks)

    @cached_property
    def _sure(self) -> tuple[Landmarks, Ints]:
        marks = self.landmarks(False)
        return marks, self.bounds(marks)

    def plan(self, x: int, s: int) -> SearchResult:
        """The shortest way to success over known steps from machine state x in cell s."""
        return self._search(self._sure, x, s, FAR, hopeful=False)

    def hope(self, x: int, s: int, ceiling: float) -> SearchResult:
        """A way that ends with an untried action and could cost less than the ceiling; NONE proves that there is none."""
        return self._search(self._hopeful, x, s, int(min(ceiling, FAR)), hopeful=True)

    def _search(self, bounds: tuple[Landmarks, Ints], x: int, s: int, ceiling: int, hopeful: bool) -> SearchResult:
        agenda = self.agenda
        kind, cost, *way = search(self.known, agenda.states.status, agenda.delta, *bounds, x, s, ceiling, hopeful)
        return SearchResult(int(kind), float(cost) if kind in (GOAL, EXIT) else math.inf, *way)

    def lower(self, x: int, s: int) -> float:
        """A lower bound on the steps to success, whatever untried actions do."""
        steps = int(estimate(self.agenda.delta, *self._hopeful, x, s))
        return math.inf if steps >= FAR else float(steps)

    def bounds_from(self, state: State, cell: int) -> tuple[float, float]:
        """A lower bound on the steps from here, and those of the way known by now."""
        x = self.agenda.number(state)
        plan = self.plan(x, cell)
        hope = self.hope(x, cell, plan.cost)
        # A search that was LOST proves nothing; then the bound at the start has to do.
        return min(plan.cost, hope.cost if hope.kind == EXIT else self.lower(x, cell)), plan.cost

    def certified(self, x: int, s: int) -> SearchResult | None:
        """The plan that no untried action can beat, or NONE if no run succeeds; None while an untried action could."""
        # The plan comes first because its cost is the ceiling: only a strictly shorter way is a reason to go on.
        plan = self.plan(x, s)
        return plan if plan.kind != LOST and self.hope(x, s, plan.cost).kind == NONE else None

    def onward(self, x: int, s: int) -> Ints | None:
        """The actions to an untried one that could shorten the way to success, else to success; None without either."""
        plan = self.plan(x, s)
        hope = self.hope(x, s, plan.cost)
        chosen = hope if hope.kind == EXIT else plan
        return chosen.actions if chosen.kind in (GOAL, EXIT) else None

    def walk(self, state: State, cell: int) -> KnownWay | None:
        """The shortest way to success over known steps; None where there is none."""
        x = self.agenda.number(state)
        plan = self.plan(x, cell) if x >= 0 else None
        if plan is None or plan.kind != GOAL:
            return None
        states = map(self.agenda.state, plan.machine_states)
        return KnownWay(tuple(plan.actions.tolist()), tuple(plan.cells.tolist()), tuple(states))


def proof(plan: SearchResult, step: int, certain: bool | None) -> Bounds:
    """The claim of a plan that no untried action can beat."""
    reason = "no run succeeds" if plan.kind == NONE else "no untried action can shorten the plan"
    if certain is None:
        reason += f", {AS_SEEN}"
    return Bounds(plan.cost, plan.cost, True, step, reason)


def bounds_so_far(
    planner: Planner | None, state: State, starts: Mapping[int, int], events: bool, step: int, settled: bool = False
) -> Bounds:
    """Bounds of the optimum, averaged over the starts met, and why they are not a proof; `settled`: nothing is left to try."""
    if not starts:
        return Bounds(0.0, math.inf, False, step, "nothing was tried yet")
    if planner is None:
        return Bounds(
            0.0, math.inf, False, step, "moves are random, so the plan is as good as the model and not proved"
        )
    both = [(_bounds(planner, state, s), n) for s, n in starts.items()]
    total = sum(starts.values())
    lower = sum(b[0] * n for b, n in both) / total
    upper = sum(b[1] * n for b, n in both) / total
    if events:
        why = "a cell showed different features at different times: features are events here, and an untried step could show any"
        return Bounds(0.0, upper, False, step, why)
    if len(starts) > 1:
        why = f"episodes started in {len(starts)} cells so far, and there may be others; the bounds are their average"
        return Bounds(lower, upper, False, step, why)
    if isinstance(planner, ExactPlanner):
        return Bounds(lower, upper, False, step, "untried actions could still shorten the plan")
    if not settled:
        return Bounds(0.0, upper, False, step, "untried actions could still shorten the way")
    if lower == upper:
        return Bounds(lower, upper, True, step, "no order is shorter than the lightest tree that joins its items")
    how = "the order comes from a local search" if isinstance(planner, TourPlanner) else "each change is the nearest one"
    return Bounds(lower, upper, False, step, f"too many agenda states for a proof; {how}")


def _bounds(planner: Planner, state: State, cell: int) -> tuple[float, float]:
    """A lower bound, and the steps of the way known by now."""
    if isinstance(planner, ExactPlanner):
        return planner.bounds_from(state, cell)
    walk = planner.walk(state, cell)
    upper = math.inf if walk is None else float(len(walk.actions))
    return (planner.floor(state, cell, upper) if isinstance(planner, TourPlanner) and walk else 0.0), upper


class NearestPlanner:
    """The last resort, for machines that are too large and no chain of groups: the nearest step that moves them on.

    No promise: it never fails on purpose and never returns to a machine state.
    """

    def __init__(self, known: Known, lowering: Lowering) -> None:
        self.lowering = lowering
        self.tried, (self.target, self.label, self.ends) = known.tried > 0, usual(known)

    def walk(self, state: State, cell: int) -> KnownWay | None:
        """One nearest change of the machine after the other, until success."""
        steps: list[tuple[int, int, State]] = []
        met = {state}
        status = self.lowering.stepper.status
        while status[state[0]] == RUNNING:
            way, shown = self._leg(state, cell, met).tolist(), -1
            if not way:
                return None
            for action in way:
                steps.append((action, cell, state))
                shown, cell = int(self.label[cell, action]), int(self.target[cell, action])
            state = self.lowering.step(state, shown)
            met.add(state)
        return KnownWay.of(steps) if status[state[0]] == SUCCESS else None

    def _leg(self, state: State, cell: int, met: set[State]) -> Ints:
        """The shortest way to a state not met before, by steps that leave the machine alone but for the last."""
        after = [self.lowering.step(state, label) for label in range(len(self.lowering.labels))]
        status = np.array([self.lowering.stepper.status[u] for u, _ in after])
        new = np.array([there not in met for there in after]) & (status != FAILURE)
        leads = self.tried & new[self.label] & (~self.ends | (status == SUCCESS)[self.label])
        stays = self.tried & np.array([there == state for there in after])[self.label] & ~self.ends
        lost = np.int32(BLOCKED)
        way: Ints = stage_search(np.where(stays, self.target, lost), np.where(leads, np.int32(0), lost), 1, 0, cell, 0)[2]
        return way


class Planners:
    """The machine of a task as far as its labels are known, and the planners that suit its size."""

    def __init__(
        self, lowering: Lowering, config: ScoutConfig, seed: int, exact: type[ExactPlanner], most: int = MAX_STATES
    ) -> None:
        self.lowering = lowering
        self.config = config
        self.seed = seed
        self.exact = exact
        self._agenda = number_states(lowering, most)

    @property
    def agenda(self) -> NumberedAgenda | None:
        """The numbered agenda states under all labels met so far; None where there are too many."""
        # The states do not depend on labels, so that a new label renews the table of successors only.
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
        # Bounds cost about X * G^2; the labels met stand in for the G landmarks.
        return max(self.config.replan_every, len(agenda.states.u) * len(self.lowering.labels) ** 2 // 200_000)

    @property
    def fatal(self) -> Flags:
        """[L] the labels that fail the task whatever was done before."""
        if self.agenda is not None:
            return self.agenda.fatal
        machine = self.lowering.machine
        # No agenda: a label that fails from every entry of a running state fails always.
        running = np.array([machine.status[u] == RUNNING for u, _ in self.lowering.entries])
        fatal: Flags = (machine.status[machine.next[:, running]] == FAILURE).all(axis=1)
        return fatal

    def certain(self, known: Known, settled: bool) -> Planner:
        """A planner for certain moves; before all is settled an order of many subtasks is not worth many kicks."""
        # Exact where the agenda is small enough, then an order of items, then whatever is nearest; `chance` likewise.
        if self.agenda is not None:
            return self.exact(known, self.agenda, self.lowering, self.config.unique)
        if self.stages is not None:
            return TourPlanner(known, self.lowering, self.stages, self.config.kicks if settled else 0, self.seed)
        return NearestPlanner(known, self.lowering)

    def chance(self, known: Known, model: Model) -> RandomPlanner:
        """A planner for random moves on what is known and its model."""
        config, agenda = self.config, self.agenda
        if agenda is not None and len(agenda.states.u) * len(known.tried) <= MAX_VALUES:
            return ExactValues(model, agenda, config.gamma)
        if self.stages is not None:
            return StageValues(known, model, self.lowering, self.stages, config.gamma, config.kicks, self.seed)
        return UsualOutcomes(self.certain(known, settled=False), len(known.tried), config.gamma)


class UsualOutcomes:
    """A random planner that plans as if every move had its usual outcome."""

    def __init__(self, planner: Planner, cells: int, gamma: float) -> None:
        self.planner = planner
        self.cells = cells
        self.gamma = gamma
        self.routes: dict[State, Ints] = {}

    def value(self, state: State, cell: int) -> float:
        """The discount factor at the end of the planner's walk."""
        walk = self.planner.walk(state, cell)
        return 0.0 if walk is None else self.gamma ** len(walk.actions)

    def route(self, state: State) -> Ints:
        """[S] the action in every cell while the machine is in this state."""
        if state not in self.routes:
            # A policy of its own: one that is shared answers by what it was asked before, in evaluations too.
            policy = PlannedPolicy(self.planner, self.cells)
            self.routes[state] = np.array([policy.act(s, state, None)[0] for s in range(self.cells)], np.int32)
        return self.routes[state]
