"""Choosing an action from a row of values."""

from __future__ import annotations

import numpy as np

from errands.kernels import jit
from errands.tables import Floats


@jit
def greedy(row: Floats) -> int:
    """The first action of highest value: the deterministic choice of evaluations."""
    best = 0
    for a in range(1, row.shape[0]):
        if row[a] > row[best]:
            best = a
    return best


@jit
def explore(row: Floats, epsilon: float, rng: np.random.Generator) -> int:
    """A random action with probability epsilon, else a highest one, ties broken at random."""
    count = row.shape[0]
    x = rng.random()
    if x < epsilon:
        return min(int(x / epsilon * count), count - 1)
    best = row[0]
    ties = 1
    for a in range(1, count):
        if row[a] > best:
            best = row[a]
            ties = 1
        elif row[a] == best:
            ties += 1
    pick = 0
    if ties > 1:
        pick = min(int((x - epsilon) / (1.0 - epsilon) * ties), ties - 1)
    for a in range(count):
        if row[a] == best:
            if pick == 0:
                return a
            pick -= 1
    return 0
