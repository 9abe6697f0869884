"""The open hash table: every key has one slot, and it is found again."""

from __future__ import annotations

import numpy as np
import pytest

from errands.kernels import hashing

slot_of = getattr(hashing.slot_of, "py_func", hashing.slot_of)


@pytest.mark.parametrize("keys", [range(400), range(0, 2**40, 2**31 + 7), [k * 512 for k in range(200)], [0, 2**62]])
def test_keys_have_slots_of_their_own_and_are_found_again(keys: list[int]) -> None:
    table = np.full(1024, -1, np.int64)
    slots = {}
    for key in list(keys)[:500]:
        slot = slot_of(table, key)
        assert table[slot] == -1
        table[slot] = key
        slots[key] = slot
    assert len(set(slots.values())) == len(slots)
    assert all(slot_of(table, key) == slot for key, slot in slots.items())


def test_a_key_that_is_not_there_gets_a_free_slot() -> None:
    table = np.full(8, -1, np.int64)
    for key in range(7):
        table[slot_of(table, key)] = key
    free = slot_of(table, 1_000_003)
    assert table[free] == -1
    assert sorted(table[table >= 0].tolist()) == list(range(7))


def test_keys_spread_over_the_table() -> None:
    """Neighbouring keys, as cells and actions give them: hardly any collides in a table that is a quarter full."""
    empty = np.full(4096, -1, np.int64)
    assert len({slot_of(empty, key) for key in range(1024)}) > 850
