"""The order of many subtasks: an open path by 2-opt and Or-opt moves with random kicks, on any cost matrix."""

from __future__ import annotations

import numpy as np

from errands.kernels import jit
from errands.tables import Flags, Floats, Ints

WINDOW = 30
"""The most items that a kick moves."""
LONGEST = 3
"""The most items that are shifted at once (Or-opt)."""
NEAR = 8
"""Neighbours of an item that moves try to join it to: a good path has few edges to others."""
SLACK = 1e-9
"""Gains below this are rounding, and would be taken for ever."""

# A path is [0, items 1..n in some order, n + 1]: the two ends are fixed, and cost[i, j] is that of going from i to j, not
# the same as back. ahead[p] is the cost along the path up to position p, back[p] the cost of the same edges the other way,
# so that turning positions i..j round costs (back[j] - back[i]) - (ahead[j] - ahead[i]) and no loop.


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
def neighbours(cost: Floats) -> Ints:
    """[n + 2, K] for each item the two ends of the path and the nearest other items, whichever way is shorter."""
    size = cost.shape[0]
    count = min(NEAR, size - 3)
    near = np.zeros((size, count + 2), np.int32)
    for i in range(1, size - 1):
        # The ends are always tried: the first and last items of a good path need not be near them.
        near[i, count], near[i, count + 1] = 0, size - 1
        way = np.minimum(cost[i], cost[:, i])
        way[0], way[i], way[size - 1] = np.inf, np.inf, np.inf
        # A stable sort, so that ties fall alike with and without the compiler.
        order = np.argsort(way, kind="mergesort")
        for k in range(count):
            near[i, k] = order[k]
    return near


@jit
def prefix(cost: Floats, path: Ints, where: Ints, ahead: Floats, back: Floats) -> None:
    """The position of each item, and the costs along the path up to each position, forwards and backwards."""
    ahead[0], back[0], where[path[0]] = 0.0, 0.0, 0
    for i in range(1, path.shape[0]):
        where[path[i]] = i
        ahead[i] = ahead[i - 1] + cost[path[i - 1], path[i]]
        back[i] = back[i - 1] + cost[path[i], path[i - 1]]


@jit
def reverse(path: Ints, i: int, j: int) -> None:
    """Reverse the positions i..j."""
    while i < j:
        path[i], path[j] = path[j], path[i]
        i += 1
        j -= 1


@jit
def swap(path: Ints, i: int, j: int, k: int) -> None:
    """Exchange the neighbouring segments i..j and j+1..k."""
    # Turning both parts and then the whole exchanges them in place, each the right way round again.
    reverse(path, i, j)
    reverse(path, j + 1, k)
    reverse(path, i, k)


@jit
def try_reversal(cost: Floats, path: Ints, where: Ints, near: Ints, ahead: Floats, back: Floats, p: int) -> int:
    """Apply a reversal that shortens the path by joining p to a neighbour: another position that it touched, or -1."""
    last = path.shape[0] - 2
    for c in near[path[p]]:
        at = where[c]
        for side in range(2):
            # Side 0 brings c next to p from its own side of the gap, side 1 from the other: i..j is what is turned round.
            i, j = (p, at - 1) if at > p else (at + 1, p)
            if side == 1:
                i, j = (p + 1, at) if at > p else (at, p - 1)
            if i < 1 or j > last or i >= j:
                continue
            before, after = path[i - 1], path[j + 1]
            # The two edges at the rim; what the inside costs when it is read the other way comes from the prefix sums.
            gain = cost[before, path[i]] + cost[path[j], after] - cost[before, path[j]] - cost[path[i], after]
            if gain + (ahead[j] - ahead[i]) - (back[j] - back[i]) > SLACK:
                reverse(path, i, j)
                return at
    return -1


@jit
def try_shift(cost: Floats, path: Ints, where: Ints, near: Ints, ahead: Floats, back: Floats, p: int) -> int:
    """Apply a move of up to three items from p on to a neighbour of p, either way round, that shortens the path."""
    last = path.shape[0] - 2
    for length in range(1, LONGEST + 1):
        # Only segments with p at one of their ends: p is to be joined to its neighbour, a middle item could not be.
        for i in range(p - length + 1, p + 1, max(length - 1, 1)):
            j = i + length - 1
            if i < 1 or j > last:
                continue
            first, final = path[i], path[j]
            # What taking the segment out saves; then each gap q, q + 1 on either side of c is tried.
            freed = cost[path[i - 1], first] + cost[final, path[j + 1]] - cost[path[i - 1], path[j + 1]]
            turned = (back[j] - back[i]) - (ahead[j] - ahead[i])
            for c in near[path[p]]:
                for q in range(max(where[c] - 1, 0), min(where[c], last) + 1):
                    if i - 1 <= q <= j:
                        continue
                    left, right = path[q], path[q + 1]
                    straight = freed + cost[left, right] - cost[left, first] - cost[final, right]
                    flipped = freed + cost[left, right] - cost[left, final] - cost[first, right] - turned
                    if straight > SLACK or flipped > SLACK:
                        if flipped > straight:
                            reverse(path, i, j)
                        # Moving a segment is exchanging it with all that lies between it and the gap.
                        if q < i:
                            swap(path, q + 1, i - 1, j)
                        else:
                            swap(path, i, j, q)
                        return q
    return -1


@jit
def improve(
    cost: Floats, path: Ints, where: Ints, near: Ints, ahead: Floats, back: Floats, dirty: Flags
) -> None:
    """Local search to an optimum of both moves, starting with the items marked dirty.

    An item is dirty when an edge near it has changed since it was last tried without success ("don't look bits"): after a
    kick only a few are, which makes a kick cost about as much as its surroundings and not the whole path.
    """
    size = path.shape[0]
    prefix(cost, path, where, ahead, back)
    again = True
    while again:
        again = False
        for p in range(1, size - 1):
            # A move can put another item at p, so the position is tried until the item there is clean.
            while dirty[path[p]]:
                item = path[p]
                dirty[item] = False
                other = try_reversal(cost, path, where, near, ahead, back, p)
                if other < 0:
                    other = try_shift(cost, path, where, near, ahead, back, p)
                if other >= 0:
                    prefix(cost, path, where, ahead, back)
                    dirty[item] = True
                    # Edges changed at p and at `other`; moves that touch them begin at most LONGEST items away.
                    for q in range(max(1, p - LONGEST), min(size - 1, p + LONGEST + 1)):
                        dirty[path[q]] = True
                    for q in range(max(1, other - LONGEST), min(size - 1, other + LONGEST + 1)):
                        dirty[path[q]] = True
                    again = True


@jit
def tour(first: Floats, between: Floats, last: Floats, kicks: int, rng: np.random.Generator) -> Ints:
    """A short order of n items: first[i] to begin with i, between[i, j] from i to j, last[i] to end with i.

    Costs need not be symmetric. A kick exchanges two random neighbouring segments; what is not longer is kept.
    """
    n = first.shape[0]
    cost = np.zeros((n + 2, n + 2))
    # Ways into the start and out of the end stay 0; no gain counts them, as the ends are fixed.
    cost[0, 1:-1], cost[1:-1, 1:-1], cost[1:-1, -1] = first, between, last
    path = nearest(cost)
    if n < 2:
        return path[1:-1] - np.int32(1)
    ahead, back, where, near = np.zeros(n + 2), np.zeros(n + 2), np.zeros(n + 2, np.int32), neighbours(cost)
    dirty = np.ones(n + 2, np.bool_)
    improve(cost, path, where, near, ahead, back, dirty)
    best, length = path.copy(), ahead[n + 1]
    for _ in range(kicks if n > 2 else 0):
        # Positions 1 <= i <= j < k <= n: two segments that are not empty, WINDOW items at most.
        i = 1 + int(rng.random() * (n - 1))
        width = min(WINDOW, n + 1 - i)
        k = i + 1 + int(rng.random() * (width - 1))
        j = i + int(rng.random() * (k - i))
        swap(path, i, j, k)
        # The six items beside the three edges that the kick has changed.
        for p in (i - 1, i, i + k - j - 1, i + k - j, k, k + 1):
            # The fixed ends may be marked too; they are never looked at.
            dirty[path[min(p, n + 1)]] = True
        improve(cost, path, where, near, ahead, back, dirty)
        if ahead[n + 1] <= length + SLACK:
            length = ahead[n + 1]
            best[:] = path
        else:
            # The path is enough: `improve` leaves no item dirty and begins with the prefix sums.
            path[:] = best
    return best[1:-1] - np.int32(1)
