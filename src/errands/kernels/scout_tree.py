"""A lower bound on the length of every order: the lightest tree that joins all items, with prices that push it to a path.

Held and Karp's bound for open paths: a price on an item counts twice on a path (once at its end), as often as the
tree has edges there in the tree; so the tree's weight less the prices is a bound for any prices.
"""

from __future__ import annotations

import numpy as np

from errands.kernels import jit
from errands.tables import Floats, Ints


@jit
def lightest(first: Floats, weight: Floats, price: Floats, degree: Ints) -> float:
    """The weight of the lightest tree on the root and all items under these prices; `degree` receives its degrees."""
    n = first.shape[0]
    reach, near, joined = first + price, np.full(n, -1, np.int32), np.zeros(n, np.bool_)
    degree[:] = 0
    total = 0.0
    for _ in range(n):
        i = -1
        for j in range(n):
            if not joined[j] and (i < 0 or reach[j] < reach[i]):
                i = j
        joined[i] = True
        total += reach[i]
        degree[i] += 1
        if near[i] >= 0:
            degree[near[i]] += 1
        for j in range(n):
            cost = weight[i, j] + price[i] + price[j]
            if not joined[j] and cost < reach[j]:
                reach[j], near[j] = cost, i
    return total


@jit
def tree_bound(first: Floats, between: Floats, last: Floats, upper: float, rounds: int) -> float:
    """A lower bound on first[a] + between[a, b] + ... + last[z] over all orders, no better than `upper`."""
    n = first.shape[0]
    weight = np.minimum(between, between.T)
    price, degree = np.zeros(n), np.zeros(n, np.int32)
    for i in range(n):
        least = first[i]
        for j in range(n):
            least = min(least, weight[i, j]) if i != j else least
        price[i] = -0.5 * least
    best, scale, stale = 0.0, 1.0, 0
    for _ in range(rounds):
        bound = lightest(first, weight, price, degree) - 2.0 * price.sum() + (price + last).min()
        if bound > best + 1e-6:
            best, stale = bound, 0
        else:
            stale += 1
            if stale == 5:
                scale, stale = scale / 2.0, 0
        norm = 0.0
        for i in range(n):
            norm += (degree[i] - 2) ** 2
        if norm == 0.0 or best >= upper - 1e-6:
            break
        price += scale * (upper - bound) / norm * (degree - 2)
    return min(best, upper)
