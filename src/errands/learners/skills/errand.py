"""What a machine's state asks for, in the roles that the network of Skills knows; and the order of features that wait."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError
from errands.kernels.local_search import tour
from errands.machines.stepping import State, Stepper
from errands.tables import FAILURE, RUNNING, SUCCESS
from errands.tasks.task import Task

EXACT = 8
"""Features that wait whose orders are all looked at."""
MAX_SEARCHED = 20_000
"""Machine states at places that a search through the orders looks at."""
MAX_RANKED = 500
"""Machine states that are told apart by how far from success they are."""
KICKS = 300

Costs = NDArray[np.float64]


class Aim(NamedTuple):
    """What is asked for now, by the numbers of features."""

    open: tuple[int, ...]
    then: tuple[int, ...] = ()
    later: tuple[int, ...] = ()
    avoid: tuple[int, ...] = ()


class Errand:
    """A task's machine, asked what each of the world's features would do."""

    def __init__(self, task: Task) -> None:
        machine = task.machine
        if machine.gauges:
            raise TaskError(f"'{task.name}' counts steps or amounts, which the roles of skills do not tell; use pqn or crm")
        self.stepper, self.names = Stepper(machine), task.world.features
        self.numbers = [k for k, name in enumerate(self.names) if name in machine.features]
        self._moves: dict[State, dict[int, State]] = {}

    def status(self, state: State) -> int:
        """RUNNING, SUCCESS or FAILURE."""
        return self.stepper.status[state[0]]

    def moves(self, state: State) -> dict[int, State]:
        """By feature the other states to which it leads, when it alone becomes true."""
        if state not in self._moves:
            reached = {k: self.stepper.step(state, {self.names[k]}).state for k in self.numbers}
            self._moves[state] = {k: after for k, after in reached.items() if after != state}
        return self._moves[state]

    def ways(self, state: State) -> dict[int, State]:
        """Those that do not fail."""
        return {k: after for k, after in self.moves(state).items() if self.status(after) != FAILURE}

    def avoided(self, state: State) -> tuple[int, ...]:
        """The features that fail the task from here, or take it further from success."""
        ranks = self.ranks
        here = ranks.get(state, math.inf)
        worse = (k for k, after in self.moves(state).items() if self.status(after) == FAILURE or (ranks and ranks[after] > here))
        return tuple(worse)

    def forward(self, state: State) -> dict[int, State]:
        """The ways that take the task no further from success."""
        avoided = self.avoided(state)
        return {k: after for k, after in self.moves(state).items() if k not in avoided}

    @cached_property
    def ranks(self) -> dict[State, float]:
        """For each state the fewest features that have to become true one after the other; empty where states are too many."""
        states, before = [self.stepper.start], dict[State, list[State]]()
        known = set(states)
        for state in states:  # grows while it is read
            for after in self.ways(state).values() if self.status(state) == RUNNING else ():
                before.setdefault(after, []).append(state)
                if after not in known:
                    known.add(after)
                    states.append(after)
            if len(states) > MAX_RANKED:
                return {}
        ranks, layer, steps = dict.fromkeys(states, math.inf), [s for s in states if self.status(s) == SUCCESS], 0
        while layer:
            ranks |= dict.fromkeys(layer, steps)
            layer, steps = list({one for at in layer for one in before.get(at, ()) if ranks[one] == math.inf}), steps + 1
        return ranks

    def all_of(self, state: State) -> tuple[tuple[int, ...], State] | None:
        """The features that are open where all are wanted, in whatever order, and the state then (of up to eight)."""
        # Told by going forwards and backwards through them: in between exactly the others must be open.
        open_, ends = tuple(self.forward(state)), set[State]()
        if len(open_) > EXACT and self.stepper.symmetric and len(self.stepper.variable_bits) == 1:
            # Those of one variable are alike; that each takes its own bit and nothing else is enough.
            u, mask = state
            taken = {mask ^ after[1] if after[0] == u else 0 for after in self.forward(state).values()}
            return (open_, state) if sum(taken) == mask and len(taken) == len(open_) else None
        for order in (open_, open_[::-1]):
            at, left = state, set(open_)
            for k in order:
                if set(self.forward(at)) != left:
                    return None
                at = self.moves(at)[k]
                left.discard(k)
                if left and self.status(at) != RUNNING:
                    return None
            ends.add(at)
        return (open_, ends.pop()) if open_ and len(ends) == 1 else None

    def only(self, state: State) -> tuple[tuple[int, ...], State]:
        """The one feature that leads on from a state, if there is just one, and the state then."""
        ways = self.forward(state) if self.status(state) == RUNNING else {}
        return next((((k,), after) for k, after in ways.items()), ((), state)) if len(ways) == 1 else ((), state)

    def direct(self, state: State, most: int) -> Aim | None:
        """What can be asked for without planning; None where there is a choice, or too much at once."""
        whole = self.all_of(state)
        if whole is None or len(whole[0]) > most:
            return None
        then, after = self.only(whole[1])
        later, _ = self.only(after)
        return Aim(whole[0], then, later, self.avoided(state))

    def wanted(self, state: State) -> list[int]:
        """The features that may become true on ways to success, as far as they are looked at."""
        if (whole := self.all_of(state)) is not None and len(whole[0]) > EXACT:
            return sorted(whole[0])
        seen, waiting, found = {state}, [state], set[int]()
        while waiting and len(found) < len(self.numbers) and len(seen) < MAX_RANKED:
            for k, after in self.ways(waiting.pop()).items():
                found.add(k)
                if after not in seen and self.status(after) == RUNNING:
                    seen.add(after)
                    waiting.append(after)
        return sorted(found)

    def planned(self, state: State, names: Sequence[int], first: Costs, between: Costs) -> list[int]:
        """The features in the cheapest order that is found.

        Parameters:
            names: the numbers of the features that costs are about.
            first: [n] the steps to each.
            between: [n, n] the steps from one to another.
        """
        whole = self.all_of(state)
        if whole is not None and len(whole[0]) > EXACT:
            index = [names.index(k) for k in whole[0]]
            rng = np.random.Generator(np.random.PCG64(len(index)))
            order = tour(first[index], between[np.ix_(index, index)], np.zeros(len(index)), KICKS, rng)
            return [whole[0][i] for i in order]
        found = self._searched(state, {k: i for i, k in enumerate(names)}, first, between)
        if found is None:
            ways = self.ways(state)
            if not ways:
                raise TaskError(f"no single feature leads on from '{self.stepper.name(state[0])}', and skills know no other ways")
            found = [min(ways, key=lambda k: first[names.index(k)])]
        return found

    def _searched(self, state: State, place: dict[int, int], first: Costs, between: Costs) -> list[int] | None:
        """The cheapest way through the machine, by Dijkstra's search over its states and the feature completed last."""
        waiting: list[tuple[float, int, State, int, tuple[int, ...]]] = [(0.0, 0, state, -1, ())]
        seen, count = set[tuple[State, int]](), 0
        while waiting and len(seen) < MAX_SEARCHED:
            cost, _, at, last, way = heapq.heappop(waiting)
            if (at, last) in seen:
                continue
            seen.add((at, last))
            if self.status(at) == SUCCESS:
                return list(way)
            for k, after in self.ways(at).items():
                i = place[k]
                count += 1
                leg = first[i] if last < 0 else between[last, i]
                heapq.heappush(waiting, (cost + float(leg), count, after, i, (*way, k)))
        return None
