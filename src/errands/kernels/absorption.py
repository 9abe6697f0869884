"""Where a Markov chain ends within a time limit: probability is passed on along its edges, step by step.

A chain is two arrays of edges: those of node i are first[i] to first[i + 1] - 1, and target[e] < 0 is an end.
"""

from __future__ import annotations

import numpy as np

from errands.kernels import jit
from errands.tables import Floats, Ints

NEGLIGIBLE = 1e-15
"""Steps that are no longer counted: fewer than rounding makes of a single one."""


@jit
def absorb(
    first: Ints, target: Ints, chance: Floats, reward: Floats, mass: Floats, limit: int, gamma: float, work: int
) -> tuple[bool, Floats]:
    """Success, failure, being cut off, steps and discounted return of episodes that start with probabilities `mass`.

    False where more than `work` edges would have to be passed. Nothing is ever subtracted, so that a chance of 1e-30 is
    as exact as any other. `mass` is overwritten.
    """
    totals = np.zeros(5)
    after = np.zeros_like(mass)
    # Only nodes that hold some probability are visited: `here` and `there` list them for this step and the next.
    here, there = np.empty(len(mass), np.int32), np.empty(len(mass), np.int32)
    count = 0
    for node in range(len(mass)):
        if mass[node] > 0.0:
            here[count] = node
            count += 1
    discount, left, passed = 1.0, 1.0, 0
    for step in range(limit):
        if count == 0 or left * (limit - step) < NEGLIGIBLE:
            return True, totals
        if passed > work:
            return False, totals
        found, left = 0, 0.0
        for i in range(count):
            node = here[i]
            p = mass[node]
            mass[node] = 0.0
            totals[3] += p
            passed += first[node + 1] - first[node]
            for e in range(first[node], first[node + 1]):
                q = p * chance[e]
                totals[4] += discount * q * reward[e]
                if target[e] < 0:
                    # Ends -1 and -2 are the columns 0 and 1: success and failure.
                    totals[-1 - target[e]] += q
                elif q > 0.0:
                    if after[target[e]] == 0.0:
                        there[found] = target[e]
                        found += 1
                    after[target[e]] += q
                    left += q
        here, there, mass, after, count = there, here, after, mass, found
        discount *= gamma
    totals[2] = left
    return True, totals
