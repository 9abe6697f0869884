"""Many subtasks, group by group: the stages of a task, an order of each by local search, and its values where moves are random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from errands.kernels.local_search import tour
from errands.learners.scout.kernel.memory import Known
from errands.learners.scout.kernel.model import Model, stage_values
from errands.learners.scout.kernel.plan import FAR
from errands.learners.scout.kernel.tour import NOWHERE, SUCCEED, stage_search, tree_bound
from errands.learners.scout.machine import Lowering
from errands.machines.stepping import State
from errands.tables import FAILURE, RUNNING, SUCCESS, Flags, Floats, Ints, RandomGenerator


@dataclass(frozen=True)
class KnownWay:
    """Actions to success over known steps, with the cell and the agenda state before each."""

    actions: tuple[int, ...]
    cells: tuple[int, ...]
    states: tuple[State, ...]

    @staticmethod
    def of(steps: Sequence[tuple[int, int, State]]) -> KnownWay:
        """The way of these steps: action, cell, agenda state."""
        return KnownWay(*zip(*steps, strict=True)) if steps else KnownWay((), (), ())


@dataclass(frozen=True)
class Stage:
    """One group whose items are completed in one numeric state, or what is left when all groups are done."""

    bits: int
    """The mask of the group; 0 after the last one."""
    chooser: int
    """The numeric state that completes items; -1 after the last group."""
    entry: Ints
    """[U] the entry that each numeric state reads while items remain."""
    lesser: int
    """The entry of the chooser when an item is completed and others remain."""
    final: int
    """The entry of the chooser when the last item is completed."""


def find_stages(lowering: Lowering) -> tuple[Stage, ...] | None:
    """The stages of a machine; None where groups are not done one after the other."""
    stepper = lowering.stepper
    if stepper.machine.rules:
        return None
    # Follow the machine as if one group after the other were completed. Where it leaves a choice between groups, or
    # could succeed without all items, the task is no chain, and an order of items would not describe it.
    done: set[int] = set()
    stages: list[Stage] = []
    u = stepper.start[0]
    while stepper.status[u] == RUNNING:
        entry = _entries(lowering, done)
        bits = sum(b for v, b in enumerate(stepper.variable_bits) if v not in done)
        ways = _closure(lowering, entry, u)
        choosers = [c for c in ways if stepper.active[c] & bits]
        if not choosers:
            stages.append(Stage(0, -1, entry, -1, -1))
            break
        open_ = [v for v, b in enumerate(stepper.variable_bits) if v not in done and b & stepper.active[choosers[0]]]
        if len(choosers) > 1 or len(open_) > 1:
            return None
        chooser, variable = choosers[0], open_[0]
        # The digit of the variable in an entry is 0 here (unchanged); 1 is decreased, 2 is at its bound.
        scale = 3 ** stepper.mentioned[chooser].index(variable)
        lesser, final = int(entry[chooser]) + scale, int(entry[chooser]) + 2 * scale
        # Success with items left would make skipping them a shorter way than any order.
        early = {t for e in (*(int(entry[c]) for c in ways), lesser) for t in lowering.reached(e)}
        if any(stepper.status[t] == SUCCESS for t in early):
            return None
        stages.append(Stage(stepper.variable_bits[variable], chooser, entry, lesser, final))
        done.add(variable)
        # Failing is never meant, so that it is no second way on.
        following = {v for v in lowering.reached(final) if stepper.status[v] != FAILURE}
        if len(following) != 1:
            return None
        (u,) = following
    return (
        tuple(stages) if len(done) == len(stepper.variable_bits) and stepper.status[u] in (RUNNING, SUCCESS) else None
    )


def _entries(lowering: Lowering, done: set[int]) -> Ints:
    """The entry of every numeric state while these variables are at their bound and nothing is completed."""
    rows = [
        int(row) + sum(2 * 3**i for i, v in enumerate(mentioned) if v in done)
        for row, mentioned in zip(lowering.row, lowering.stepper.mentioned, strict=True)
    ]
    return np.array(rows, np.int32)


def _closure(lowering: Lowering, entry: Ints, u: int) -> list[int]:
    """The running numeric states that Boolean moves can lead to from u, u included."""
    states = [u]
    for v in states:
        reached = lowering.reached(int(entry[v]))
        states += [t for t in reached if t not in states and lowering.stepper.status[t] == RUNNING]
    return states


ROUNDS = 300


class StageCells:
    """The known cells of one stage's items, and what it costs from each to each."""

    def __init__(self, known: Known, lowering: Lowering, stage: Stage) -> None:
        self.known, self.lowering, self.stage = known, lowering, stage
        label = known.cell_label
        items = [lowering.bits(features) & stage.bits for features in lowering.labels]
        # The label of a start is seen but completes nothing: an item counts only in cells that a step has entered.
        entered = np.zeros(len(label), np.bool_)
        entered[known.target[known.hits > 0]] = True
        self.cells: Ints = np.array([s for s in np.flatnonzero(entered) if items[label[s]]], np.int32)
        self.masks = [items[label[s]] for s in self.cells]
        self.stops: Flags = np.zeros(len(label), np.bool_)
        self.stops[self.cells] = True

    def from_here(self, u: int, s: int, goal: int = NOWHERE) -> tuple[Ints, int, Ints]:
        """Steps to each of the stage's cells, steps to success, and the actions to the goal."""
        stage = self.stage
        arrive, won, way = stage_search(
            self.known, self.lowering.machine, stage.entry, stage.chooser, self.stops, u, s, goal
        )
        return arrive[self.cells], int(won), way

    def after(self, i: int, entry: int) -> int:
        """The numeric state once the item of cell i is completed."""
        return int(self.lowering.machine.next[self.known.cell_label[self.cells[i]], entry])

    @cached_property
    def between(self) -> Ints:
        """[i, j] steps from completing the item of cell i to completing that of cell j, others unheeded."""
        rows = [self.from_here(self.after(i, self.stage.lesser), int(s))[0] for i, s in enumerate(self.cells)]
        return np.array(rows, np.int32).reshape(len(self.cells), len(self.cells))


class Costs(NamedTuple):
    """The remaining items of a stage: steps to each from here, from each to each, and from the last one on."""

    items: list[int]
    first: Floats
    between: Floats
    last: Floats


class TourPlanner:
    """A planner that orders each group by local search; short, not proved shortest."""

    def __init__(self, known: Known, lowering: Lowering, stages: tuple[Stage, ...], kicks: int, seed: int) -> None:
        self.lowering = lowering
        self.stages = stages
        self.kicks = kicks
        self.seed = seed
        self.grounds = [StageCells(known, lowering, stage) for stage in stages]

    def _stage(self, mask: int) -> int:
        """The stage in which these subtasks remain; past the end when all is done and nothing is to follow."""
        return next((i for i, stage in enumerate(self.stages) if stage.bits & mask or not stage.bits), len(self.stages))

    @cached_property
    def tails(self) -> list[Ints]:
        """For each stage and cell: steps from completing its last item there to the next stage's nearest item or success."""
        tails = []
        for k, ground in enumerate(self.grounds):
            rest = []
            for i, s in enumerate(ground.cells):
                u = ground.after(i, ground.stage.final)
                cost = 0
                if self.lowering.stepper.status[u] == RUNNING and k + 1 < len(self.grounds):
                    arrive, won, _ = self.grounds[k + 1].from_here(u, int(s))
                    # A guess that looks one item ahead; the order of the next stage is found when it is reached.
                    cost = int(arrive.min()) if len(arrive) else won
                rest.append(cost)
            tails.append(np.array(rest, np.int32))
        return tails

    def costs(self, k: int, u: int, s: int, mask: int) -> Costs | None:
        """What the remaining items of stage k cost from here; None where one of them has no known cell."""
        ground = self.grounds[k]
        left = mask & ground.stage.bits
        items = [i for i in range(left.bit_length()) if left >> i & 1]
        cells = [[c for c, m in enumerate(ground.masks) if m >> i & 1] for i in items]
        if not all(cells):
            return None
        arrive, between, tail = ground.from_here(u, s)[0], ground.between, self.tails[k]
        if all(len(c) == 1 for c in cells):
            at = np.array([c[0] for c in cells], np.int64)
            return Costs(items, _steps_cost(arrive[at]), _steps_cost(between[np.ix_(at, at)]), _steps_cost(tail[at]))
        # Items on several cells: each cost takes the best cells for itself, so that an order may cost more, never less.
        first, last = (np.array([row[c].min() for c in cells]) for row in (arrive, tail))
        pairs = np.array([[between[np.ix_(a, b)].min() for b in cells] for a in cells])
        return Costs(items, _steps_cost(first), _steps_cost(pairs), _steps_cost(last))

    def order(self, k: int, u: int, s: int, mask: int) -> list[int] | None:
        """The remaining items of stage k in a short order from here; None where one of them has no known cell."""
        costs = self.costs(k, u, s, mask)
        if costs is None or not costs.items:
            return None if costs is None else []
        # Random numbers of its own: the same question gets the same order, and training draws the same as without it.
        rng = RandomGenerator(self.seed, len(costs.items))
        return [costs.items[i] for i in tour(costs.first, costs.between, costs.last, self.kicks, rng)]

    def walk(self, state: State, cell: int) -> KnownWay | None:
        """The walk that the orders mean; an item completed on the way is taken out of its order."""
        steps: list[tuple[int, int, State]] = []
        order: list[int] = []
        k = -1
        status = self.lowering.stepper.status
        while status[state[0]] == RUNNING:
            if self._stage(state[1]) != k:
                k = self._stage(state[1])
                fresh = self.order(k, state[0], cell, state[1]) if k < len(self.stages) else None
                if fresh is None:
                    return None
                order = fresh
            order = [i for i in order if state[1] >> i & 1]
            way = self.leg(k, state[0], cell, order)
            before = state[1]
            for a in way:
                steps.append((int(a), cell, state))
                known = self.grounds[k].known
                state = self.lowering.step(state, int(known.label[cell, a, known.mode[cell, a]]))
                cell = int(known.target[cell, a, known.mode[cell, a]])
                # An item was completed, the one aimed at or another on the way: the next leg is planned from here.
                if state[1] != before or status[state[0]] != RUNNING:
                    break
            # No way on, or the same cell and machine state twice: the walk would never end.
            if len(way) == 0 or len({step[1:] for step in steps}) < len(steps):
                return None
        return KnownWay.of(steps) if status[state[0]] == SUCCESS else None

    def leg(self, k: int, u: int, s: int, order: list[int]) -> Ints:
        """The actions to the next item, on whichever of its cells is best with the item after it; or to success."""
        ground = self.grounds[k]
        if not order:
            return ground.from_here(u, s, SUCCEED)[2]
        ways = [c for c, m in enumerate(ground.masks) if m >> order[0] & 1]
        goal = ways[0]
        if len(ways) > 1:
            arrive = ground.from_here(u, s)[0][ways].astype(np.int64)
            onward = [c for c, m in enumerate(ground.masks) if m >> order[1] & 1] if len(order) > 1 else []
            rest = ground.between[np.ix_(ways, onward)].min(axis=1) if onward else self.tails[k][ways]
            goal = ways[int(np.argmin(arrive + rest))]
        return ground.from_here(u, s, int(ground.cells[goal]))[2]

    def floor(self, state: State, cell: int, upper: float) -> float:
        """A lower bound on the steps to success once every pair was tried, given the length of a known way."""
        total, now = 0.0, self._stage(state[1])
        for k in range(now, len(self.stages)):
            costs = self.costs(k, state[0], cell, state[1])
            if costs is not None and costs.items:
                # Where a later stage begins is not known: one step to its first item at least. This counts what
                # leads from one group to the next, which `last` then leaves out.
                first = costs.first if k == now else np.ones_like(costs.first)
                last = (
                    costs.last
                    if k + 1 == len(self.stages) or not self.stages[k + 1].bits
                    else np.zeros_like(costs.last)
                )
                total += float(tree_bound(first, costs.between, last, upper, ROUNDS))
        # Steps are whole numbers; the margin is for rounding errors below.
        return float(math.ceil(total - 1e-6))


def _steps_cost(steps: Ints) -> Floats:
    """Steps as costs; what is out of reach costs a lot but stays a number."""
    return np.where(steps >= FAR, 1e7, steps).astype(np.float64)


# The cost of what never succeeds: exp(-700) is still a positive float.
DULL = 700.0


class StageValues:
    """Value iteration within a stage, with what an order of the remaining items promises as payoff at its border.

    An order costs -log of the expected discount from item to item: the product form, in which a failure costs all.
    """

    def __init__(
        self,
        known: Known,
        model: Model,
        lowering: Lowering,
        stages: tuple[Stage, ...],
        gamma: float,
        kicks: int,
        seed: int,
    ) -> None:
        self.known, self.lowering, self.stages, self.gamma = known, lowering, stages, gamma
        self.kicks, self.seed = kicks, seed
        self.model = model
        self.items = [[lowering.bits(f) & stage.bits for f in lowering.labels] for stage in stages]
        # By mask: [U, S] values and actions. By stage: costs, and the order of all its items.
        self.routes: dict[int, tuple[Floats, Ints]] = {}
        self.known_costs: dict[int, tuple[list[int], Floats, Floats]] = {}
        self.orders: dict[int, list[int]] = {}

    def route(self, state: State) -> Ints:
        """[S] the action in every cell while the machine is in this state; -1 where none was tried."""
        route: Ints = self._solved(state[1])[1][state[0]]
        return route

    def value(self, state: State, cell: int) -> float:
        """The discount factor at success that it expects from here."""
        return float(self._solved(state[1])[0][state[0], cell])

    def _solved(self, mask: int) -> tuple[Floats, Ints]:
        if mask not in self.routes:
            self.routes[mask] = self._solve(mask)
        return self.routes[mask]

    def _stage(self, mask: int) -> int:
        fitting = (i for i, stage in enumerate(self.stages) if stage.bits & mask or not stage.bits)
        return next(fitting, len(self.stages) - 1)

    def _values(self, k: int, payoff: Floats) -> tuple[Floats, Ints]:
        stage = self.stages[k]
        v, policy = stage_values(self.model, self.lowering.machine, stage.entry, stage.chooser, payoff, self.gamma)
        return v, policy

    def _cells(self, k: int, item: int) -> Ints:
        """The cells that complete an item."""
        label = self.known.cell_label
        return np.array([s for s in np.flatnonzero(label >= 0) if self.items[k][label[s]] >> item & 1], np.int32)

    def _pay(self, cells: Ints, amount: Floats | float) -> Floats:
        payoff = np.full(len(self.known.cell_label), -1.0)
        payoff[cells] = amount
        return payoff

    def _after(self, k: int, cells: Ints, entry: int, v: Floats) -> Floats:
        """The value once an item was completed in each of these cells."""
        states = self.lowering.machine.next[self.known.cell_label[cells], entry]
        status = np.array(self.lowering.stepper.status)
        values: Floats = np.where(status[states] == RUNNING, v[states, cells], status[states] == SUCCESS)
        return values

    def _costs(self, k: int) -> tuple[list[int], Floats, Floats]:
        """The items of a stage, -log discount from each to each, and from each, as the last one, onwards."""
        if k not in self.known_costs:
            bits = self.stages[k].bits
            items = [i for i in range(bits.bit_length()) if bits >> i & 1]
            cells = [self._cells(k, i) for i in items]
            between, last = np.full((len(items), len(items)), DULL), np.zeros(len(items))
            for j, there in enumerate(cells):
                v, _ = self._values(k, self._pay(there, 1.0))
                for i, here in enumerate(cells):
                    if len(here) and len(there):
                        between[i, j] = _log_cost(self._after(k, here, self.stages[k].lesser, v).max())
            if k + 1 < len(self.stages):
                union = [self._cells(k + 1, i) for i in range(self.stages[k + 1].bits.bit_length())]
                ahead = np.concatenate([np.zeros(0, np.int32), *union]).astype(np.int32)
                v, _ = self._values(k + 1, self._pay(ahead, 1.0))
                last = np.array(
                    [_log_cost(self._after(k, c, self.stages[k].final, v).max()) if len(c) else DULL for c in cells]
                )
            self.known_costs[k] = items, between, last
        return self.known_costs[k]

    def _solve(self, mask: int) -> tuple[Floats, Ints]:
        """[U, S] values and the policy while exactly these subtasks remain."""
        k = self._stage(mask)
        stage = self.stages[k]
        payoff = np.full(len(self.known.cell_label), -1.0)
        if stage.bits:
            items, between, last = self._costs(k)
            left = [n for n, i in enumerate(items) if mask >> i & 1]
            order = self._order(k, left)
            for n in left:
                # Item n first, the others in their order: one order serves all n, none is searched again.
                rest = [m for m in order if m != n]
                cost = (
                    sum(between[a, b] for a, b in zip([n, *rest], rest, strict=False)) + last[rest[-1] if rest else n]
                )
                cells = self._cells(k, items[n])
                # A cell can hold several items; the most promising one counts.
                payoff[cells] = np.maximum(payoff[cells], np.exp(-min(cost, DULL)))
        return self._values(k, payoff)

    def _order(self, k: int, left: list[int]) -> list[int]:
        """The order found once for all items, without those that are done."""
        if k not in self.orders:
            items, between, last = self._costs(k)
            # Only the first stage has a known beginning; a later one may be entered anywhere.
            first = np.zeros(len(items))
            if k == 0:
                u, s = self.lowering.stepper.start[0], int(np.argmax(self.known.started))
                first = np.array(
                    [_log_cost(self._values(0, self._pay(self._cells(0, i), 1.0))[0][u, s]) for i in items]
                )
            rng = RandomGenerator(self.seed, len(items))
            self.orders[k] = tour(first, between, last, self.kicks, rng).tolist()
        return [n for n in self.orders[k] if n in set(left)]


def _log_cost(value: float) -> float:
    return float(min(-np.log(max(value, 1e-300)), DULL))
