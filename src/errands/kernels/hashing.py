"""The one open-addressing hash table: a power of two of slots, at most half of them taken, the next free one on collision.

Each function gives the slot of a key, or the free slot where it belongs; the caller sees which by looking, takes it by
writing the key there, and makes a larger table in time: a full one would be searched for ever. Slots are stored with a
run (QCoRM's steps to go, QCoRM+'s corrections), so how keys are mixed is part of the format of checkpoints.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot
from errands.tables import Ints, Masks

# No product of keys in use overflows, signed or unsigned: plain Python, which would warn, computes the same slots.
# 0x9E3779B1 is a prime near 2**32 over the golden ratio (Knuth): it spreads keys that follow one another.
_SPREAD, _LOW = 0x9E3779B1, 0x7FFFFFFF
_MASK_SPREAD, _MASK_OTHER = np.uint64(0x9E3779B1), np.uint64(0x85EBCA6B)
_HALF, _MASK_LOW, _FOLD, _MASK_31 = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(15), np.uint64(0x7FFFFFFF)


@hot
def slot_of(keys: NDArray[np.int64], key: int) -> int:
    """By one whole number: the slot whose key it is, or a free one (-1)."""
    # The number of slots less one: a mask of low bits, as the number is a power of two.
    size = keys.shape[0] - 1
    mixed = (key & _LOW) * _SPREAD ^ (key >> 31)
    # The low bits choose the slot, the product mixes best in the high ones: fold these down.
    slot = (mixed ^ (mixed >> 17)) & size
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & size
    return slot


@hot
def pair_slot(masks: Masks, keys: NDArray[np.int64], mask: np.uint64, key: int) -> int:
    """By a mask of subtasks and a whole number: the slot that holds both, or a free one (key -1)."""
    # 64 bits in pieces of 31, 31 and 2, as a signed word has no room for products of longer ones.
    low = np.int64(mask & _MASK_31)
    high = np.int64((mask >> np.uint64(31)) & _MASK_31)
    top = np.int64(mask >> np.uint64(62))
    # The three primes of Teschner's hash of points in space.
    h = (low * 73856093) ^ (high * 19349663) ^ ((key * 4 + top) * 83492791)
    h ^= h >> 23
    last = keys.shape[0] - 1
    at = h & last
    # Only `keys` says whether a slot is free: every mask, 0 too, is a possible one.
    while keys[at] >= 0 and (keys[at] != key or masks[at] != mask):
        at = (at + 1) & last
    return at


@hot
def node_slot(numeric: Ints, masks: Masks, slots: Ints, u: int, mask: np.uint64) -> int:
    """By numeric state and mask: the slot of the number of the node that has both, or a free one (-1).

    The keys stand in `numeric` and `masks`, in the order of nodes; `slots` holds numbers of nodes only.
    """
    size = np.uint64(slots.shape[0] - 1)
    # Both halves of the mask, with multipliers of their own: subtasks above the 32nd bit count as much.
    mixed = ((mask & _MASK_LOW) * _MASK_SPREAD) ^ ((mask >> _HALF) * _MASK_OTHER) ^ np.uint64(u)
    slot = (mixed ^ (mixed >> _FOLD)) & size
    while slots[slot] >= 0 and (numeric[slots[slot]] != u or masks[slots[slot]] != mask):
        slot = (slot + np.uint64(1)) & size
    return int(slot)
