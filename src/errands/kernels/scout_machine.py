"""The agenda machine as Scout steps it (Definition 3): a numeric state and a mask of any number of words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from errands.kernels import jit
from errands.tables import Codes, Floats, Ints, Masks

ONE, ZERO = np.uint64(1), np.uint64(0)


class ScoutMachine(NamedTuple):
    """A numeric machine lowered label by label; row[u] + q is an entry, q the mentioned values in base 3."""

    initial: int
    full: Masks
    """[W] the mask of all subtasks."""
    active: Masks
    """[U, W] the subtasks that can be completed in u."""
    variable_bits: Masks
    """[V, W] the subtasks that numeric variable v counts."""
    first: Ints
    """[U + 1] slice of `variables` that u's guards mention."""
    variables: Ints
    row: Ints
    """[U] the first entry of u."""
    status: Codes
    """[U] RUNNING, SUCCESS or FAILURE."""
    label_bits: Masks
    """[L, W] the subtasks whose feature is true in label l."""
    next: Ints
    """[L, R] the numeric state after the step."""
    reward: Floats
    """[L, R] the constant reward, or the factor of the signal."""
    signal: Ints
    """[L, R] index of the signal that is paid, -1 for a constant."""


@jit
def advance(machine: ScoutMachine, u: int, mask: Masks, label: int, after: Masks) -> int:
    """The entry that a step with this label reads; `after` receives the mask after the step."""
    words = mask.shape[0]
    for w in range(words):
        after[w] = mask[w]
    q = 0
    scale = 1
    for i in range(machine.first[u], machine.first[u + 1]):
        # Only variables that u's guards mention can be completed in u; of each, the first subtask that is true.
        bits = machine.variable_bits[machine.variables[i]]
        left, done = False, False
        for w in range(words):
            hit = machine.label_bits[label, w] & machine.active[u, w] & mask[w] & bits[w]
            if hit != ZERO and not done:
                after[w] &= ~(hit & (~hit + ONE))
                done = True
            left = left or after[w] & bits[w] != ZERO
        if not left:
            q += 2 * scale
        elif done:
            q += scale
        scale *= 3
    return machine.row[u] + q
