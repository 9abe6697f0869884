"""Where a Markov chain ends: elimination without a single subtraction, exact to rounding however rarely it leaves."""

from __future__ import annotations

from errands.kernels import jit
from errands.tables import Floats


@jit
def eliminate(inner: Floats, leaving: Floats, right: Floats) -> Floats:
    """Solve x = inner x + right for a group of states that is left with probabilities `leaving`; overwrites its input.

    The elimination of Grassmann, Taksar and Heyman: 1 - inner[n, n] is summed from what leaves n, never subtracted,
    so that chances of 1e-30 are as exact as others. inner is [n, n], right and the result [n, columns], all >= 0.
    """
    size, columns = right.shape
    for n in range(size - 1, -1, -1):
        away = leaving[n]
        for j in range(n):
            away += inner[n, j]
        leaving[n] /= away
        for j in range(n):
            inner[n, j] /= away
        for c in range(columns):
            right[n, c] /= away
        for i in range(n):
            share = inner[i, n]
            if share > 0.0:
                leaving[i] += share * leaving[n]
                for j in range(n):
                    inner[i, j] += share * inner[n, j]
                for c in range(columns):
                    right[i, c] += share * right[n, c]
    for n in range(size):
        for j in range(n):
            for c in range(columns):
                right[n, c] += inner[n, j] * right[j, c]
    return right
