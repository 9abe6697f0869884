"""Many subtasks, group by group: the stages of a task, an order of each by local search, and its values where moves are random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels.local_search import tour
from errands.learners.scout.kernel.memory import Known
from errands.learners.scout.kernel.model import Model, stage_values
from errands.learners.scout.kernel.tour import BLOCKED, NOWHERE, SUCCEED, WON, stage_search, tree_bound
from errands.learners.scout.machine import Lowering
from errands.machines.stepping import OrderMasks, State
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


def stage_of(stages: Sequence[Stage], mask: int) -> int:
    """The stage in which these subtasks remain; past the end when all is done and nothing is to follow."""
    return next((i for i, stage in enumerate(stages) if stage.bits & mask or not stage.bits), len(stages))


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


# ROUNDS: in which a lower bound is raised. KICKED: items that share the kicks asked for; more get so many again.
ROUNDS, KICKED = 300, 1_000


def usual(known: Known) -> tuple[Ints, Ints, Flags]:
    """[S, A] where each action usually leads, the label that is seen there, and whether the episode ends."""
    place = known.mode[..., None].astype(np.int64)

    def of(part: NDArray[Any]) -> Any:
        return np.take_along_axis(part, place, 2)[..., 0]

    return of(known.target), of(known.label), of(known.ends)


class StageCells:
    """The known cells of one stage's items, and what it costs from each to each."""

    def __init__(self, known: Known, lowering: Lowering, stage: Stage) -> None:
        self.known, self.lowering, self.stage = known, lowering, stage
        label, count = known.cell_label, len(known.cell_label)
        items = [OrderMasks.bits_in(lowering.bits(features) & stage.bits) for features in lowering.labels]
        # The label of a start is seen but completes nothing: an item counts only in cells that a step has entered.
        entered = np.zeros(count, np.bool_)
        entered[known.target[known.hits > 0]] = True
        self.cells: Ints = np.array([s for s in np.flatnonzero(entered) if items[label[s]]], np.int32)
        self.ways: dict[int, list[int]] = {}
        """By item the places in `cells` that complete it."""
        for place, s in enumerate(self.cells):
            for i in items[label[s]]:
                self.ways.setdefault(i, []).append(place)
        # What usual outcomes lead to: the item's cell that is entered, and the node (see `stage_search`).
        machine = lowering.machine
        target, shown, ends = usual(known)
        place_of = np.full(count, BLOCKED, np.int32)
        place_of[self.cells] = np.arange(len(self.cells))
        self.enter: Ints = np.where(known.tried > 0, place_of[target], np.int32(BLOCKED))
        after = machine.next[shown][..., stage.entry].transpose(2, 0, 1)
        status, over = machine.status[after], (known.tried == 0)
        lost = over | ends | (status == FAILURE)
        node = np.where(lost, BLOCKED, after * count + target)
        node = np.where((status == SUCCESS) & ~over, WON, node)
        self.graph: Ints = node.astype(np.int32).reshape(-1, known.tried.shape[1])

    def from_here(self, u: int, s: int, goal: int = NOWHERE) -> tuple[Ints, int, Ints]:
        """Steps to each of the stage's cells, steps to success, and the actions to the goal."""
        origin = u * len(self.enter) + s
        arrive, won, way = stage_search(self.graph, self.enter, len(self.cells), self.stage.chooser, origin, goal)
        return arrive, int(won), way

    def after(self, i: int, entry: int) -> int:
        """The numeric state once the item of cell i is completed."""
        return int(self.lowering.machine.next[self.known.cell_label[self.cells[i]], entry])

    @cached_property
    def between(self) -> Ints:
        """[i, j] steps from completing the item of cell i to completing that of cell j, others unheeded."""
        steps = np.empty((len(self.cells), len(self.cells)), np.int32)
        for i, s in enumerate(self.cells):
            steps[i] = self.from_here(self.after(i, self.stage.lesser), int(s))[0]
        return steps


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
        self.usual = usual(known)
        self.walks: dict[tuple[State, int], KnownWay | None] = {}

    @cached_property
    def tails(self) -> list[Ints]:
        """For each stage and cell: steps from completing its last item there to the next stage's nearest item or success."""
        tails = []
        for k, ground in enumerate(self.grounds):
            rest = np.zeros(len(ground.cells), np.int32)
            for i, s in enumerate(ground.cells):
                u = ground.after(i, ground.stage.final)
                if self.lowering.stepper.status[u] == RUNNING and k + 1 < len(self.grounds):
                    arrive, won, _ = self.grounds[k + 1].from_here(u, int(s))
                    # A guess that looks one item ahead; the order of the next stage is found when it is reached.
                    rest[i] = arrive.min() if len(arrive) else won
            tails.append(rest)
        return tails

    def costs(self, k: int, u: int, s: int, mask: int) -> Costs | None:
        """What the remaining items of stage k cost from here; None where one of them has no known cell."""
        ground = self.grounds[k]
        items = list(OrderMasks.bits_in(mask & ground.stage.bits))
        if not items or not all(i in ground.ways for i in items):
            none = np.zeros(0)
            return None if items else Costs([], none, none.reshape(0, 0), none)
        ways = [ground.ways[i] for i in items]
        cells, begin = np.concatenate(ways), np.cumsum([0, *map(len, ways[:-1])])

        def least(steps: Ints) -> Ints:
            # Items on several cells: each cost takes the best cells for itself, so that an order may cost more, never less.
            found: Ints = np.minimum.reduceat(steps[cells], begin)
            return found

        between = np.empty((len(items), len(items)))
        for row, way in zip(between, ways, strict=True):
            row[:] = least(ground.between[way].min(axis=0))
        first, last = (least(steps).astype(np.float64) for steps in (ground.from_here(u, s)[0], self.tails[k]))
        return Costs(items, first, between, last)

    def order(self, k: int, u: int, s: int, mask: int) -> list[int] | None:
        """The remaining items of stage k in a short order from here; None where one of them has no known cell."""
        costs = self.costs(k, u, s, mask)
        if costs is None or not costs.items:
            return None if costs is None else []
        # Random numbers of its own: the same question gets the same order, and training draws the same as without it.
        rng, kicks = RandomGenerator(self.seed, len(costs.items)), self.kicks * -(-len(costs.items) // KICKED)
        return [costs.items[i] for i in tour(costs.first, costs.between, costs.last, kicks, rng)]

    def walk(self, state: State, cell: int) -> KnownWay | None:
        """The walk that the orders mean, planned once; an item completed on the way is taken out of its order."""
        if (state, cell) not in self.walks:
            self.walks[state, cell] = self._walk(state, cell)
        return self.walks[state, cell]

    def _walk(self, state: State, cell: int) -> KnownWay | None:
        steps: list[tuple[int, int, State]] = []
        order: list[int] = []
        met: set[tuple[int, State]] = set()
        k = -1
        status, (target, label, _) = self.lowering.stepper.status, self.usual
        while status[state[0]] == RUNNING:
            if stage_of(self.stages, state[1]) != k:
                k = stage_of(self.stages, state[1])
                fresh = self.order(k, state[0], cell, state[1]) if k < len(self.stages) else None
                if fresh is None:
                    return None
                order = fresh
            way = self.leg(k, state[0], cell, order)
            before = state[1]
            for a in way.tolist():
                # The same cell and machine state twice: the walk would never end.
                if (cell, state) in met:
                    return None
                met.add((cell, state))
                steps.append((a, cell, state))
                state, cell = self.lowering.step(state, int(label[cell, a])), int(target[cell, a])
                # An item was completed, the one aimed at or another on the way: the next leg is planned from here.
                if state[1] != before or status[state[0]] != RUNNING:
                    break
            if len(way) == 0:
                return None
            for i in OrderMasks.bits_in(before & ~state[1]):
                order.remove(i)
        return KnownWay.of(steps) if status[state[0]] == SUCCESS else None

    def leg(self, k: int, u: int, s: int, order: list[int]) -> Ints:
        """The actions to the next item, on whichever of its cells is best with the item after it; or to success."""
        ground = self.grounds[k]
        if not order:
            return ground.from_here(u, s, SUCCEED)[2]
        ways = ground.ways[order[0]]
        goal = ways[0]
        if len(ways) > 1:
            arrive = ground.from_here(u, s)[0][ways].astype(np.int64)
            onward = ground.ways[order[1]] if len(order) > 1 else []
            rest = ground.between[np.ix_(ways, onward)].min(axis=1) if onward else self.tails[k][ways]
            goal = ways[int(np.argmin(arrive + rest))]
        return ground.from_here(u, s, goal)[2]

    def floor(self, state: State, cell: int, upper: float) -> float:
        """A lower bound on the steps to success once every pair was tried, given the length of a known way."""
        total, now = 0.0, stage_of(self.stages, state[1])
        for k in range(now, len(self.stages)):
            costs = self.costs(k, state[0], cell, state[1])
            if costs is not None and costs.items:
                # Where a later stage begins is not known: one step to its first item at least. This counts what
                # leads from one group to the next, which `last` then leaves out.
                first = costs.first if k == now else np.ones_like(costs.first)
                final = k + 1 == len(self.stages) or not self.stages[k + 1].bits
                last = costs.last if final else np.zeros_like(costs.last)
                total += float(tree_bound(first, costs.between, last, upper, ROUNDS))
        # Steps are whole numbers; the margin is for rounding errors below.
        return float(math.ceil(total - 1e-6))


# The cost of what never succeeds: exp(-700) is still a positive float.
DULL = 700.0


class StageValues:
    """Value iteration within a stage, with what an order of the remaining items promises as payoff at its border.

    An order costs -log of the expected discount from item to item: the product form, in which a failure costs all.
    """

    def __init__(
        self, known: Known, model: Model, lowering: Lowering, stages: tuple[Stage, ...], gamma: float, kicks: int, seed: int
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
            items = list(OrderMasks.bits_in(bits))
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
        k = min(stage_of(self.stages, mask), len(self.stages) - 1)
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
