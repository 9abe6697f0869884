"""Plans for many subtasks on certain moves: a short order of each group by local search, then the walk it means."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from errands.kernels.local_search import tour
from errands.kernels.scout_bounds import FAR
from errands.kernels.scout_memory import Known
from errands.kernels.scout_stage import NOWHERE, SUCCEED, stage_search
from errands.kernels.scout_tree import tree_bound
from errands.learners.scout.guide import Walk
from errands.learners.scout.lowering import Lowering
from errands.learners.scout.stages import Stage
from errands.machines.stepping import State
from errands.tables import RUNNING, SUCCESS, Flags, Floats, Ints

ROUNDS = 300


class Ground:
    """The known cells of one stage's items, and what it costs from each to each."""

    def __init__(self, known: Known, lowering: Lowering, stage: Stage) -> None:
        self.known, self.lowering, self.stage = known, lowering, stage
        label = known.cell_label
        items = [lowering.bits(features) & stage.bits for features in lowering.labels]
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


class Crowd:
    """A guide that orders each group by local search; short, not proved shortest."""

    def __init__(self, known: Known, lowering: Lowering, stages: tuple[Stage, ...], kicks: int, seed: int) -> None:
        self.lowering = lowering
        self.stages = stages
        self.kicks = kicks
        self.seed = seed
        self.grounds = [Ground(known, lowering, stage) for stage in stages]

    def _stage(self, mask: int) -> int:
        """The stage in which these subtasks remain; past the end when all is done and nothing is to follow."""
        return next((i for i, stage in enumerate(self.stages) if stage.bits & mask or not stage.bits), len(self.stages))

    @cached_property
    def tails(self) -> list[Ints]:
        """For each stage and cell: steps from completing its last item there to the next stage's nearest item or success."""
        found = []
        for k, ground in enumerate(self.grounds):
            rest = []
            for i, s in enumerate(ground.cells):
                u = ground.after(i, ground.stage.final)
                cost = 0
                if self.lowering.stepper.status[u] == RUNNING and k + 1 < len(self.grounds):
                    arrive, won, _ = self.grounds[k + 1].from_here(u, int(s))
                    cost = int(arrive.min()) if len(arrive) else won
                rest.append(cost)
            found.append(np.array(rest, np.int32))
        return found

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
            return Costs(items, _cost(arrive[at]), _cost(between[np.ix_(at, at)]), _cost(tail[at]))
        first, last = (np.array([row[c].min() for c in cells]) for row in (arrive, tail))
        pairs = np.array([[between[np.ix_(a, b)].min() for b in cells] for a in cells])
        return Costs(items, _cost(first), _cost(pairs), _cost(last))

    def order(self, k: int, u: int, s: int, mask: int) -> list[int] | None:
        """The remaining items of stage k in a short order from here; None where one of them has no known cell."""
        costs = self.costs(k, u, s, mask)
        if costs is None or not costs.items:
            return None if costs is None else []
        rng = np.random.Generator(np.random.PCG64((self.seed, len(costs.items))))
        return [costs.items[i] for i in tour(costs.first, costs.between, costs.last, self.kicks, rng)]

    def walk(self, state: State, cell: int) -> Walk | None:
        """The walk that the orders mean; an item completed on the way is taken out of its order."""
        actions: list[int] = []
        cells: list[int] = []
        states: list[State] = []
        order: list[int] = []
        k = -1
        status = self.lowering.stepper.status
        while status[state[0]] == RUNNING:
            if self._stage(state[1]) != k:
                k = self._stage(state[1])
                found = self.order(k, state[0], cell, state[1]) if k < len(self.stages) else None
                if found is None:
                    return None
                order = found
            order = [i for i in order if state[1] >> i & 1]
            way = self.leg(k, state[0], cell, order)
            before = state[1]
            for a in way:
                actions.append(int(a))
                cells.append(cell)
                states.append(state)
                known = self.grounds[k].known
                state = self.lowering.step(state, int(known.label[cell, a, known.mode[cell, a]]))
                cell = int(known.target[cell, a, known.mode[cell, a]])
                if state[1] != before or status[state[0]] != RUNNING:
                    break
            if len(way) == 0 or len(set(zip(cells, states, strict=True))) < len(cells):
                return None
        return Walk(tuple(actions), tuple(cells), tuple(states)) if status[state[0]] == SUCCESS else None

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
                first = costs.first if k == now else np.ones_like(costs.first)
                last = costs.last if k + 1 == len(self.stages) or not self.stages[k + 1].bits else np.zeros_like(costs.last)
                total += float(tree_bound(first, costs.between, last, upper, ROUNDS))
        return float(math.ceil(total - 1e-6))


def _cost(steps: Ints) -> Floats:
    """Steps as costs; what is out of reach costs a lot but stays a number."""
    return np.where(steps >= FAR, 1e7, steps).astype(np.float64)
