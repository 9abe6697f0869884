"""What the counts of a random world leave possible: what each action may mean, the odds of its outcomes, values at both ends."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from errands.kernels import jit
from errands.learners.scout.kernel.memory import Known
from errands.tables import RUNNING, SUCCESS, Codes, Flags, Floats, Ints

BET = 0.05
"""Of tries that mean something else, the share that happens to do what is tested; any number is sound, this one is sharp."""
OPEN = -1
"""In Known.sense: what the action means is not established."""


class Odds(NamedTuple):
    """The models that are not ruled out."""

    lawful: bool
    """Whether moves slip by one law; else each pair has its own odds."""
    way: Flags
    """[A, A] the actions b whose usual outcome a try of action a may have instead, all equally often."""
    astray: Floats
    """[2, 2] the least and the greatest share of tries that go astray: where an action moves, and where it stays."""
    means: Flags
    """[S, A, B + 1] the seen outcomes that an action may be meant to have; last, one that was not seen."""
    budget: Floats
    """[S, A] how far the odds of a pair may be from its counts: tries times relative entropy."""


@jit
def against(known: Known, most: Floats, s: int, a: int, o: int) -> float:
    """The logarithm of what a gambler owns who bets that an action does not mean an outcome (last: one that was not seen).

    If it means it at most most[c] of the tries have another one; the bet is sound after every step.
    """
    room = known.hits.shape[2]
    hits = known.hits[s, a, o] if o < room else 0
    # An unseen outcome may be that of staying or of moving.
    share = max(most[0], most[1])
    if hits > 0:
        share = most[1] if known.target[s, a, o] == s else most[0]
    misses = known.tried[s, a] - hits
    if share <= 0.0:
        return np.inf if misses > 0 else hits * math.log(BET)
    return misses * math.log((1.0 - BET) / share) + hits * math.log(BET)


@jit
def candidates(known: Known, most: Floats, way: Flags, needed: float, means: Flags) -> None:
    """Find what each action may be meant to do: [S, A, B + 1]; `needed` is the logarithm of the wealth that rejects in a cell.

    What an action does without meaning it another one means: who says that it does not mean what it did says so of that
    one, too, and the wealth of the gamblers against both is multiplied. One action or two: these are so many games.
    """
    cells, actions, room = known.hits.shape
    needed += math.log(actions * (actions + 1) / 2)
    for s in range(cells):
        for a in range(actions):
            for o in range(room + 1):
                means[s, a, o] = o == known.sense[s, a] if known.sense[s, a] != OPEN else o == room or known.hits[s, a, o] > 0
                if known.sense[s, a] != OPEN or not means[s, a, o]:
                    continue
                alone, beside = against(known, most, s, a, o), 0.0
                for k in range(room):
                    if k == o or known.hits[s, a, k] == 0:
                        continue
                    least = np.inf
                    for b in range(actions):
                        if way[a, b]:
                            least = min(least, max(against(known, most, s, b, as_of(known, s, a, k, b)), 0.0))
                    beside = max(beside, least)
                means[s, a, o] = alone + beside < needed
    for _ in range(3):
        for s in range(cells):
            for a in range(actions):
                for o in range(room + 1):
                    for k in range(room):
                        if known.sense[s, a] == OPEN and means[s, a, o] and k != o and known.hits[s, a, k] > 0:
                            explained = False
                            for b in range(actions):
                                explained = explained or (way[a, b] and may_do(known, means, s, b, a, k))
                            means[s, a, o] = explained


@jit
def as_of(known: Known, s: int, a: int, k: int, b: int) -> int:
    """The number that outcome k of action a has among those of action b; the last one where b never had it."""
    for o in range(known.hits.shape[2]):
        if known.hits[s, b, o] > 0 and same(known, s, a, k, b, o):
            return o
    return known.hits.shape[2]


@jit
def may_do(known: Known, means: Flags, s: int, b: int, a: int, k: int) -> bool:
    """Whether action b may mean outcome k of action a in the same cell."""
    room = known.hits.shape[2]
    if means[s, b, room]:
        return True
    found = False
    for o in range(room):
        found = found or (means[s, b, o] and same(known, s, a, k, b, o))
    return found


@jit
def same(known: Known, s: int, a: int, k: int, b: int, o: int) -> bool:
    """Whether outcome k of action a is outcome o of action b."""
    return (
        known.target[s, a, k] == known.target[s, b, o]
        and known.label[s, a, k] == known.label[s, b, o]
        and known.ends[s, a, k] == known.ends[s, b, o]
    )


@jit
def establish(known: Known, means: Flags) -> None:
    """Where only one meaning is left of all actions of a cell keep it, and count what they do from now on."""
    cells, actions, room = known.hits.shape
    for s in range(cells):
        clear = known.sense[s, 0] == OPEN
        for a in range(actions):
            clear = clear and not means[s, a, room] and means[s, a, :].sum() == 1
        if clear:
            for a in range(actions):
                known.sense[s, a] = np.argmax(means[s, a, :])
                known.base[s, a] = known.hits[s, a]


@jit
def tell(known: Known, way: Flags) -> tuple[Ints, Ints, bool]:
    """[S, A, A + 1] what was done since meanings were established (last: tries), and whether the law allows it.

    Between them [ways + 1, 2]: of the slips in pairs of which k ways come to the same, and no more do, those and the others.
    Only of actions that mean something else than all others in their cell: there every outcome tells what was done.
    """
    cells, actions, room = known.hits.shape
    done = np.zeros((cells, actions, actions + 1), np.int32)
    merged = np.zeros((way[0].sum() + 1, 2), np.int32)
    allowed = True
    for s in range(cells):
        if known.sense[s, 0] == OPEN:
            continue
        for a in range(actions):
            plain = True
            for b in range(actions):
                plain = plain and (b == a or not same(known, s, a, known.sense[s, a], b, known.sense[s, b]))
            most, lead = 0, 0
            for b in range(actions):
                alike = 0
                for k in range(actions):
                    alike += way[a, b] and way[a, k] and same(known, s, b, known.sense[s, b], k, known.sense[s, k])
                if alike > most:
                    most, lead = alike, b
            for o in range(room):
                fresh = known.hits[s, a, o] - known.base[s, a, o]
                if fresh <= 0:
                    continue
                which, fits = 0, 0
                for b in range(actions):
                    if (b == a or way[a, b]) and same(known, s, a, o, b, known.sense[s, b]):
                        which, fits = b, fits + 1
                allowed = allowed and fits > 0
                if plain:
                    done[s, a, actions] += fresh
                # Two sides that are one tell nothing of which it was.
                if plain and fits == 1:
                    done[s, a, which] += fresh
                if plain and 1 < most < len(merged) - 1 and not same(known, s, a, o, a, known.sense[s, a]):
                    merged[most, 0 if same(known, s, a, o, lead, known.sense[s, lead]) else 1] += fresh
    return done, merged, allowed


@jit
def worth(known: Known, status: Codes, delta: Ints, v: Floats, x: int, s: int, a: int, o: int) -> float:
    """The value of an outcome in machine state x."""
    y = delta[known.label[s, a, o], x]
    if status[y] == SUCCESS:
        return 1.0
    return v[y, known.target[s, a, o]] if status[y] == RUNNING and not known.ends[s, a, o] else 0.0


@jit
def by_law(known: Known, odds: Odds, values: Floats, sides: Floats, unseen: float, s: int, a: int, sign: int) -> float:
    """The most (sign 1) or least (-1) that an action may be worth where moves slip by one law.

    `values` [A, B]: what each outcome is worth; `sides` [A]: the most or least of what each action may mean.
    """
    actions, room = values.shape
    side, ways = 0.0, 0
    for b in range(actions):
        if odds.way[a, b]:
            side += sides[b]
            ways += 1
    side = side / ways if ways > 0 else 0.0
    best = -np.inf
    for o in range(room + 1):
        if odds.means[s, a, o]:
            value = values[a, o] if o < room else unseen
            for c in range(2):
                # An unseen outcome may be of either kind.
                if o == room or c == (known.target[s, a, o] == s):
                    for end in range(2):
                        share = odds.astray[c, end]
                        best = max(best, sign * ((1.0 - share) * value + share * side))
    return sign * best


@jit
def by_counts(known: Known, odds: Odds, values: Floats, unseen: float, s: int, a: int, sign: int) -> float:
    """The most or least that an action may be worth where its odds are as near to its counts as its budget says.

    No odds p nearer than e to shares q give values w more than nu - exp(sum q log(nu - w) - e), whatever nu above all values:
    so any nu is sound, and a search finds a sharp one.
    """
    n, room = known.tried[s, a], values.shape[1]
    top = sign * unseen
    if n == 0:
        return unseen
    e = odds.budget[s, a] / n
    for o in range(room):
        if known.hits[s, a, o] > 0:
            top = max(top, sign * values[a, o])
    # nu - top runs over powers from fine to coarse; the bound is convex in nu, so the first rise ends the search.
    best, gap, last = top, 1e-6, np.inf
    while gap < 1e4:
        nu, log = top + gap, 0.0
        for o in range(room):
            if known.hits[s, a, o] > 0:
                log += known.hits[s, a, o] / n * math.log(nu - sign * values[a, o])
        bound = nu - math.exp(log - e)
        best = min(best, bound)
        if bound > last:
            break
        last = bound
        gap *= 1.5
    return sign * best


@jit
def backup(
    known: Known, odds: Odds, status: Codes, delta: Ints, v: Floats, unseen: float, x: int, s: int, only: int, sign: int,
    values: Floats, sides: Floats,
) -> float:  # fmt: skip
    """The most that any action may be worth here, or the least that the action `only` may (-1: any)."""
    actions, room = values.shape
    for a in range(actions):
        sides[a] = unseen
        first = not (odds.lawful and odds.means[s, a, room])
        for o in range(room):
            if known.hits[s, a, o] > 0:
                y = delta[known.label[s, a, o], x]
                value = 1.0 if status[y] == SUCCESS else 0.0
                if status[y] == RUNNING and not known.ends[s, a, o]:
                    value = v[y, known.target[s, a, o]]
                values[a, o] = value
                if odds.lawful and odds.means[s, a, o] and (first or sign * value > sign * sides[a]):
                    sides[a], first = value, False
    best = 0.0
    for a in range(actions):
        if only < 0 or a == only:
            if odds.lawful:
                best = max(best, by_law(known, odds, values, sides, unseen, s, a, sign))
            else:
                best = max(best, by_counts(known, odds, values, unseen, s, a, sign))
    return best


STILL = 1e-10
"""Values are settled when no sweep changes one by more; what is left of the way to the fixed point is added."""


@jit
def robust_values(
    known: Known, odds: Odds, status: Codes, delta: Ints, gamma: float, policy: Ints, start: Floats, sign: int,
    open_: bool, layered: bool,
) -> Floats:  # fmt: skip
    """[X, S] bounds of the discounted chance of success: what no policy exceeds (sign 1), what this one reaches at least (-1).

    Machine state by machine state as in `product_values`, from values `start` on; `open_`: whether an unseen outcome may
    have features that nobody has met.
    """
    cells, actions, room = known.hits.shape
    count = status.shape[0]
    v = start.copy()
    values, sides = np.zeros((actions, room)), np.zeros(actions)
    worst = 0.0
    for _ in range(1_000):
        outer, worst = 0.0, 0.0
        for x in range(count - 1, -1, -1):
            if status[x] != RUNNING:
                continue
            change = np.inf
            for sweep in range(3_000):
                # What an unseen outcome may be worth: any cell, after any label.
                unseen = 1.0 if open_ and sign > 0 else 0.0
                for label in range(delta.shape[0] if sign > 0 else 0):
                    y = delta[label, x]
                    unseen = max(unseen, 1.0 if status[y] == SUCCESS else v[y].max() if status[y] == RUNNING else 0.0)
                change = 0.0
                for i in range(cells):
                    s = i if sweep & 1 == 0 else cells - 1 - i
                    only = policy[x, s] if sign < 0 else -1
                    best = 0.0
                    if sign > 0 or only >= 0:
                        best = gamma * backup(known, odds, status, delta, v, unseen, x, s, only, sign, values, sides)
                    change = max(change, abs(best - v[x, s]))
                    v[x, s] = best
                outer = max(outer, change) if sweep == 0 else outer
                if change < STILL:
                    break
            worst = max(worst, change)
        if layered or outer < STILL:
            break
    # A machine that is layered carries what is left of a state on to those before it, at most once each.
    rest = worst * gamma / (1.0 - gamma) * (count if layered else 1)
    for x in range(count):
        if status[x] == RUNNING:
            for s in range(cells):
                v[x, s] = min(max(v[x, s] + sign * rest, 0.0), 1.0)
    return v
