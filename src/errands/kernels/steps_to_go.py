"""The steps-to-go table eta of QCoRM: an open-addressing hash over coupled states (u, remaining, objective)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot
from errands.tables import Floats, Masks

_LOW = np.uint64(0x7FFFFFFF)


class StepsToGo(NamedTuple):
    """Capacity is a power of two; key -1 marks an empty slot."""

    mask: Masks
    key: NDArray[np.int64]
    """u * objectives + objective."""
    eta: Floats
    """infinite until an episode that passed here has reached the goal."""
    used: NDArray[np.int64]
    """How often the transition was chosen."""
    size: NDArray[np.int64]
    """[1] slots taken."""


@hot
def slot(table: StepsToGo, mask: np.uint64, key: int) -> int:
    """The slot of a coupled state, or of the empty place where it belongs."""
    low = np.int64(mask & _LOW)
    high = np.int64((mask >> np.uint64(31)) & _LOW)
    top = np.int64(mask >> np.uint64(62))
    h = (low * 73856093) ^ (high * 19349663) ^ ((key * 4 + top) * 83492791)
    h ^= h >> 23
    last = table.key.shape[0] - 1
    at = h & last
    while table.key[at] >= 0 and (table.key[at] != key or table.mask[at] != mask):
        at = (at + 1) & last
    return at


@hot
def insert(table: StepsToGo, mask: np.uint64, key: int) -> int:
    """The slot of a coupled state, taken if it was empty."""
    at = slot(table, mask, key)
    if table.key[at] < 0:
        table.key[at] = key
        table.mask[at] = mask
        table.eta[at] = np.inf
        table.used[at] = 0
        table.size[0] += 1
    return at


@hot
def refill(old: StepsToGo, new: StepsToGo) -> None:
    """Copy every slot into a larger table."""
    for i in range(old.key.shape[0]):
        if old.key[i] >= 0:
            at = insert(new, old.mask[i], old.key[i])
            new.eta[at] = old.eta[i]
            new.used[at] = old.used[i]


def empty(capacity: int) -> StepsToGo:
    """A table of this capacity without entries."""
    return StepsToGo(
        np.zeros(capacity, np.uint64),
        np.full(capacity, -1, np.int64),
        np.full(capacity, np.inf),
        np.zeros(capacity, np.int64),
        np.zeros(1, np.int64),
    )
