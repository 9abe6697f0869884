"""The order of many subtasks: an open path by 2-opt and Or-opt moves with random kicks, on any cost matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from errands.kernels import jit
from errands.tables import Flags, Floats, Ints

WINDOW = 50
"""The most items that a kick moves."""
LONGEST = 3
"""The most items that are shifted at once (Or-opt)."""
NEAR = 8
"""Neighbours of an item that moves try to join it to: a good path has few edges to others."""
SLACK = 1e-9
"""Gains below this are rounding, and would be taken for ever."""
LOW, HIGH, WAITING = range(3)
"""Fields of OpenPath.at: the positions changed since they were set, and how many items wait."""


class OpenPath(NamedTuple):
    """A path [0, items 1..n in some order, n + 1] whose two ends are fixed; cost[i, j] is that of going from i to j."""

    items: Ints
    where: Ints
    """The position of each item."""
    cost: Floats
    lean: Floats
    """What the path up to a position costs more walked back, so that turning i..j round costs lean[j] - lean[i] and no loop."""
    even: bool
    """Whether all ways between items cost the same there and back."""
    near: Ints
    """[n + 2, K] what an item may be joined to."""
    waiting: Ints
    """The items beside which an edge has changed since they were last tried without success ("don't look bits")."""
    dirty: Flags
    """Whether an item waits."""
    at: Ints


@jit
def nearest(cost: Floats) -> Ints:
    """The path 0, then always the cheapest next item, then the end (the last index)."""
    size = cost.shape[0]
    path = np.zeros(size, np.int32)
    used = np.zeros(size, np.bool_)
    for i in range(1, size - 1):
        # Items are 1..n; 0 and n + 1 are the ends, never chosen.
        best = -1
        for j in range(1, size - 1):
            if not used[j] and (best < 0 or cost[path[i - 1], j] < cost[path[i - 1], best]):
                best = j
        path[i] = best
        used[best] = True
    path[size - 1] = size - 1
    return path


@jit
def neighbours(between: Floats) -> Ints:
    """[n, K] for each item the nearest others, whichever way is shorter and the first of equals."""
    size = between.shape[0]
    count = max(min(NEAR, size - 1), 0)
    near, ways = np.zeros((size, count), np.int32), np.zeros(count)
    for i in range(size if count > 0 else 0):
        found = 0
        for j in range(size):
            way = min(between[i, j], between[j, i])
            if j == i or (found == count and way >= ways[count - 1]):
                continue
            k = min(found, count - 1)
            found = min(found + 1, count)
            while k > 0 and ways[k - 1] > way:
                ways[k], near[i, k] = ways[k - 1], near[i, k - 1]
                k -= 1
            ways[k], near[i, k] = way, j
    return near


@jit
def settle(path: OpenPath, i: int, j: int) -> None:
    """Renew what is known of the positions i..j, which have changed."""
    items, cost, lean = path.items, path.cost, path.lean
    path.at[LOW], path.at[HIGH] = min(path.at[LOW], i), max(path.at[HIGH], j)
    for p in range(i, j + 1):
        path.where[items[p]] = p
    # Where costs are even `lean` stays 0, and a change costs nothing beyond its own positions.
    for p in range(i, 0 if path.even else len(lean)):
        lean[p] = lean[p - 1] + cost[items[p], items[p - 1]] - cost[items[p - 1], items[p]]


@jit
def reverse(items: Ints, i: int, j: int) -> None:
    """Reverse the positions i..j."""
    while i < j:
        items[i], items[j] = items[j], items[i]
        i += 1
        j -= 1


@jit
def swap(items: Ints, i: int, j: int, k: int) -> None:
    """Exchange the neighbouring segments i..j and j+1..k."""
    # Turning both parts and then the whole exchanges them in place, each the right way round again.
    reverse(items, i, j)
    reverse(items, j + 1, k)
    reverse(items, i, k)


@jit
def try_reversal(path: OpenPath, p: int) -> tuple[int, float]:
    """Apply a reversal that shortens the path by joining p to a neighbour: another position that it touched, or -1; the gain."""
    items, cost, lean = path.items, path.cost, path.lean
    for c in path.near[items[p]]:
        if too_far(path, p, c):
            continue
        at = path.where[c]
        for side in range(2):
            # Side 0 brings c next to p from its own side of the gap, side 1 from the other: i..j is what is turned round.
            i, j = (p, at - 1) if at > p else (at + 1, p)
            if side == 1:
                i, j = (p + 1, at) if at > p else (at, p - 1)
            if i < 1 or j > len(items) - 2 or i >= j:
                continue
            before, after = items[i - 1], items[j + 1]
            gain = cost[before, items[i]] + cost[items[j], after] - cost[before, items[j]] - cost[items[i], after]
            gain -= lean[j] - lean[i]
            if gain > SLACK:
                reverse(items, i, j)
                settle(path, i, j)
                return at, gain
    return -1, 0.0


@jit
def too_far(path: OpenPath, p: int, c: int) -> bool:
    """Whether an item is farther than both that are beside position p: there it is not looked at."""
    items, cost = path.items, path.cost
    beside = max(cost[items[p - 1], items[p]], cost[items[p], items[p + 1]])
    return min(cost[items[p], c], cost[c, items[p]]) >= beside


@jit
def try_shift(path: OpenPath, p: int) -> tuple[int, float]:
    """Apply a move of up to three items from p on to a neighbour of p, either way round, that shortens the path; as above."""
    items, cost, last = path.items, path.cost, len(path.items) - 2
    for length in range(1, LONGEST + 1):
        # Only segments with p at one of their ends: p is to be joined to its neighbour, a middle item could not be.
        for i in range(p - length + 1, p + 1, max(length - 1, 1)):
            j = i + length - 1
            if i < 1 or j > last:
                continue
            first, final = items[i], items[j]
            # What taking the segment out saves; then each gap q, q + 1 on either side of c is tried.
            freed = cost[items[i - 1], first] + cost[final, items[j + 1]] - cost[items[i - 1], items[j + 1]]
            turned = path.lean[j] - path.lean[i]
            for c in path.near[items[p]]:
                if too_far(path, p, c):
                    continue
                for q in range(max(path.where[c] - 1, 0), min(path.where[c], last) + 1):
                    if i - 1 <= q <= j:
                        continue
                    left, right = items[q], items[q + 1]
                    straight = freed + cost[left, right] - cost[left, first] - cost[final, right]
                    flipped = freed + cost[left, right] - cost[left, final] - cost[first, right] - turned
                    if straight > SLACK or flipped > SLACK:
                        if flipped > straight:
                            reverse(items, i, j)
                        # Moving a segment is exchanging it with all that lies between it and the gap.
                        if q < i:
                            swap(items, q + 1, i - 1, j)
                        else:
                            swap(items, i, j, q)
                        settle(path, min(i, q + 1), max(j, q))
                        return q, max(straight, flipped)
    return -1, 0.0


@jit
def spoil(path: OpenPath, p: int, reach: int) -> None:
    """Let the items at most so many positions from p wait for their turn."""
    for q in range(max(1, p - reach), min(len(path.items) - 2, p + reach) + 1):
        item = path.items[q]
        if not path.dirty[item]:
            path.dirty[item] = True
            path.waiting[path.at[WAITING]] = item
            path.at[WAITING] += 1


@jit
def improve(path: OpenPath) -> float:
    """Local search to an optimum of both moves from the items that wait, which after a kick are few; what it gains."""
    total = 0.0
    while path.at[WAITING] > 0:
        path.at[WAITING] -= 1
        item = path.waiting[path.at[WAITING]]
        path.dirty[item] = False
        other, gain = try_reversal(path, path.where[item])
        if other < 0:
            other, gain = try_shift(path, path.where[item])
        if other >= 0:
            total += gain
            # Edges changed at the item and at `other`; moves that touch them begin at most LONGEST items away.
            spoil(path, other, LONGEST)
            spoil(path, path.where[item], LONGEST)
    return total


@jit
def tour(first: Floats, between: Floats, last: Floats, kicks: int, rng: np.random.Generator) -> Ints:
    """A short order of n items: first[i] to begin with i, between[i, j] from i to j, last[i] to end with i.

    Costs need not be symmetric. A kick exchanges two random neighbouring segments; what is not longer is kept.
    """
    n = first.shape[0]
    cost = np.zeros((n + 2, n + 2))
    # Ways into the start and out of the end stay 0; no gain counts them, as the ends are fixed.
    cost[0, 1:-1], cost[1:-1, 1:-1], cost[1:-1, -1] = first, between, last
    items = nearest(cost)
    if n < 2:
        return items[1:-1] - np.int32(1)
    close = neighbours(between)
    # The ends are always tried: the first and last items of a good path need not be near them.
    near = np.full((n + 2, close.shape[1] + 2), n + 1, np.int32)
    near[:, 0], near[1:-1, 2:] = 0, close + np.int32(1)
    where, waiting, at = np.zeros(n + 2, np.int32), np.zeros(n + 2, np.int32), np.zeros(3, np.int32)
    path = OpenPath(items, where, cost, np.zeros(n + 2), (between == between.T).all(), near, waiting, np.zeros(n + 2, np.bool_), at)
    settle(path, 1, n + 1)
    spoil(path, 1, n)
    improve(path)
    best = items.copy()
    for _ in range(kicks if n > 2 else 0):
        # Positions 1 <= i <= j < k <= n: two segments that are not empty, WINDOW items at most.
        i = 1 + int(rng.random() * (n - 1))
        width = min(WINDOW, n + 1 - i)
        k = i + 1 + int(rng.random() * (width - 1))
        j = i + int(rng.random() * (k - i))
        gain = cost[items[i - 1], items[i]] + cost[items[j], items[j + 1]] + cost[items[k], items[k + 1]]
        gain -= cost[items[i - 1], items[j + 1]] + cost[items[k], items[i]] + cost[items[j], items[k + 1]]
        at[LOW], at[HIGH] = n + 1, 0
        swap(items, i, j, k)
        settle(path, i, k)
        # The items beside the three edges that the kick has changed.
        for p in (i, i + k - j, k):
            spoil(path, p, 1)
        gain += improve(path)
        low, high = at[LOW], at[HIGH] + 1
        if gain >= -SLACK:
            best[low:high] = items[low:high]
        else:
            items[low:high] = best[low:high]
            settle(path, low, high - 1)
    return best[1:-1] - np.int32(1)
