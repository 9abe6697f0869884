"""The order of a task's objectives, planned from learnt steps between them: exact while its states are few, else the nearest."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from errands.features import parse_guard, satisfying
from errands.machines.counting import size
from errands.machines.numeric import NumericRM
from errands.machines.stepping import State, Stepper
from errands.machines.unfolding import unfold_agenda
from errands.tables import RUNNING, SUCCESS

MAX_PLANNED = 1 << 15
"""Pairs of an agenda state and a place of which all orders are looked at."""


def legs(machine: NumericRM) -> set[tuple[str, str]] | None:
    """The pairs of objectives that can follow each other in a machine; None where it is too large to be gone through."""
    if size(machine).agenda > MAX_PLANNED:
        return None
    stepper, pairs = Stepper(machine), set[tuple[str, str]]()
    for state in unfold_agenda(machine).states:
        for name in stepper.alternatives(state):
            after = stepper.step(state, satisfying(parse_guard(name)) or frozenset()).state
            pairs |= {(name, later) for later in stepper.alternatives(after) if after != state}
    return pairs


Leg = Callable[[Any, int], tuple[float, Any]]
"""From a place (whatever tells what was completed last, and where) and an objective: the steps to it, and the place then."""


def planned(stepper: Stepper, objectives: Sequence[str], start: Hashable, leg: Leg) -> dict[tuple[int, int, str], float]:
    """Steps to go by numeric state, remaining mask and the objective pursued next.

    Parameters:
        stepper: the machine.
        objectives: by the numbers that `leg` knows them by.
        start: the place at which an episode begins.
        leg: what each leg costs; infinite where no way is known.
    """
    number = {name: k for k, name in enumerate(objectives)}
    true = [satisfying(parse_guard(name)) or frozenset() for name in objectives]
    best: dict[tuple[State, Any], float] = {}
    open_: set[tuple[State, Any]] = set()

    def ways(state: State, place: Any) -> list[tuple[int, State, float, Any]]:
        both = [(number[name], stepper.step(state, true[number[name]]).state) for name in stepper.alternatives(state)]
        return [(k, after, *leg(place, k)) for k, after in both if after != state]

    def togo(state: State, place: Any) -> float:
        if stepper.status[state[0]] != RUNNING:
            return 0.0 if stepper.status[state[0]] == SUCCESS else math.inf
        here = state, place
        if here not in best:
            if here in open_:  # a machine that leads back to itself: no way goes round
                return math.inf
            open_.add(here)
            choices = ways(state, place)
            if len(best) + len(open_) > MAX_PLANNED:
                choices = sorted(choices, key=lambda way: way[2])[:1]
            best[here] = min((cost + togo(after, there) for _, after, cost, there in choices), default=math.inf)
            open_.discard(here)
        return best[here]

    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(max(depth, 20 * len(stepper.machine.subtasks) + 2_000))
    try:
        togo(stepper.start, start)
        steps: dict[tuple[int, int, str], float] = {}
        for state, place in list(best):
            for k, after, cost, there in ways(state, place):
                key = (*state, objectives[k])
                rest = 0.0 if stepper.status[after[0]] == SUCCESS else best.get((after, there), math.inf)
                steps[key] = min(cost + rest, steps.get(key, math.inf))
        # Where the best way enters a state it is known what was completed last.
        state, place = stepper.start, start
        while stepper.status[state[0]] == RUNNING and togo(state, place) < math.inf:
            choices = ways(state, place)
            costs = [cost + togo(after, there) for _, after, cost, there in choices]
            steps |= {(*state, objectives[way[0]]): cost for way, cost in zip(choices, costs, strict=True)}
            _, state, _, place = choices[costs.index(min(costs))]
    finally:
        sys.setrecursionlimit(depth)
    return {key: cost for key, cost in steps.items() if cost < math.inf}
