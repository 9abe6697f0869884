"""An open hash table of whole numbers, for values that few keys have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot

_SPREAD, _LOW = 0x9E3779B1, 0x7FFFFFFF


@hot
def slot_of(keys: NDArray[np.int64], key: int) -> int:
    """The slot of a key: its own, or the free one (-1) where it belongs; there is always one."""
    size = keys.shape[0] - 1
    mixed = (key & _LOW) * _SPREAD ^ (key >> 31)
    slot = (mixed ^ (mixed >> 17)) & size
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & size
    return slot
