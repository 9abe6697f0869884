"""Plans for random moves and many subtasks: value iteration within a stage, an order of its items as payoff."""

from __future__ import annotations

import numpy as np

from errands.kernels.local_search import tour
from errands.kernels.scout_memory import Known
from errands.kernels.scout_model import learn_model
from errands.kernels.scout_values import stage_values
from errands.learners.scout.lowering import Lowering
from errands.learners.scout.stages import Stage
from errands.machines.stepping import State
from errands.tables import RUNNING, SUCCESS, Floats, Ints

DULL = 700.0


class Staged:
    """Value iteration within a stage, with what an order of the remaining items promises as payoff at its border.

    An order costs -log of the expected discount from item to item: the product form, in which a failure costs all.
    """

    def __init__(
        self,
        known: Known,
        lowering: Lowering,
        stages: tuple[Stage, ...],
        prior: float,
        gamma: float,
        kicks: int,
        seed: int,
    ) -> None:
        self.known, self.lowering, self.stages, self.gamma = known, lowering, stages, gamma
        self.kicks, self.seed = kicks, seed
        self.model = learn_model(known, prior)
        self.items = [[lowering.bits(f) & stage.bits for f in lowering.labels] for stage in stages]
        self.routes: dict[int, Ints] = {}
        self.known_costs: dict[int, tuple[list[int], Floats, Floats]] = {}
        self.orders: dict[int, list[int]] = {}

    def route(self, state: State) -> Ints:
        """[S] the action in every cell while the machine is in this state; -1 where none was tried."""
        u, mask = state
        if mask not in self.routes:
            self.routes[mask] = self._solve(mask)
        route: Ints = self.routes[mask][u]
        return route

    def _stage(self, mask: int) -> int:
        found = (i for i, stage in enumerate(self.stages) if stage.bits & mask or not stage.bits)
        return next(found, len(self.stages) - 1)

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
                        between[i, j] = _cost(self._after(k, here, self.stages[k].lesser, v).max())
            if k + 1 < len(self.stages):
                union = [self._cells(k + 1, i) for i in range(self.stages[k + 1].bits.bit_length())]
                ahead = np.concatenate([np.zeros(0, np.int32), *union]).astype(np.int32)
                v, _ = self._values(k + 1, self._pay(ahead, 1.0))
                last = np.array([_cost(self._after(k, c, self.stages[k].final, v).max()) if len(c) else DULL for c in cells])
            self.known_costs[k] = items, between, last
        return self.known_costs[k]

    def _solve(self, mask: int) -> Ints:
        """[U, S] the policy while exactly these subtasks remain."""
        k = self._stage(mask)
        stage = self.stages[k]
        payoff = np.full(len(self.known.cell_label), -1.0)
        if stage.bits:
            items, between, last = self._costs(k)
            left = [n for n, i in enumerate(items) if mask >> i & 1]
            order = self._order(k, left)
            for n in left:
                rest = [m for m in order if m != n]
                cost = sum(between[a, b] for a, b in zip([n, *rest], rest, strict=False)) + last[rest[-1] if rest else n]
                cells = self._cells(k, items[n])
                payoff[cells] = np.maximum(payoff[cells], np.exp(-min(cost, DULL)))
        return self._values(k, payoff)[1]

    def _order(self, k: int, left: list[int]) -> list[int]:
        """The order found once for all items, without those that are done."""
        if k not in self.orders:
            items, between, last = self._costs(k)
            first = np.zeros(len(items))
            if k == 0:
                u, s = self.lowering.stepper.start[0], int(np.argmax(self.known.started))
                first = np.array([_cost(self._values(0, self._pay(self._cells(0, i), 1.0))[0][u, s]) for i in items])
            rng = np.random.Generator(np.random.PCG64((self.seed, len(items))))
            self.orders[k] = tour(first, between, last, self.kicks, rng).tolist()
        return [n for n in self.orders[k] if n in set(left)]


def _cost(value: float) -> float:
    return float(min(-np.log(max(value, 1e-300)), DULL))
