"""Choosing an action from a row of values; values are indexed one by one, since views cost more than the choice."""

from __future__ import annotations

import numpy as np

from errands.kernels import hot
from errands.tables import Floats


@hot
def best_action(q: Floats, i: int, j: int) -> int:
    """The first action of highest value in q[i, :, j]: the deterministic choice of evaluations."""
    best = 0
    for a in range(1, q.shape[1]):
        if q[i, a, j] > q[i, best, j]:
            best = a
    return best


@hot
def best_value(q: Floats, i: int, j: int) -> float:
    """The highest value in q[i, :, j]."""
    best = q[i, 0, j]
    for a in range(1, q.shape[1]):
        if q[i, a, j] > best:
            best = q[i, a, j]
    return best


@hot
def explore(q: Floats, i: int, j: int, epsilon: float, rng: np.random.Generator) -> int:
    """A random action with probability epsilon, else a highest one in q[i, :, j], ties broken at random."""
    count = q.shape[1]
    x = rng.random()
    if x < epsilon:
        return min(int(x / epsilon * count), count - 1)
    best, pick, ties = q[i, 0, j], 0, 1
    for a in range(1, count):
        if q[i, a, j] > best:
            best, pick, ties = q[i, a, j], a, 1
        elif q[i, a, j] == best:
            ties += 1
    if ties > 1:
        rank = min(int((x - epsilon) / (1.0 - epsilon) * ties), ties - 1)
        for a in range(pick, count):
            if q[i, a, j] == best:
                if rank == 0:
                    return a
                rank -= 1
    return pick
