"""The parts of A*: its heap, its hash table, and a way that is read back."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from errands.kernels.hashing import slot_of
from errands.learners.scout.kernel.plan import pop, push, rehashed, unfold


@pytest.mark.parametrize("seed", range(5))
def test_the_heap_gives_items_by_their_keys_as_pythons_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys, items = np.empty(300, np.int64), np.empty(300, np.int32)
    size, ours, theirs = 0, [], list[int]()
    chosen: list[int] = []
    for i, key in enumerate(rng.permutation(200).tolist()):
        push(keys, items, size, key, i)
        heapq.heappush(theirs, key)
        chosen.append(key)
        size += 1
        if rng.random() < 0.4:
            ours.append(chosen[pop(keys, items, size)])
            size -= 1
            assert ours[-1] == heapq.heappop(theirs)
    while size:
        assert chosen[pop(keys, items, size)] == heapq.heappop(theirs)
        size -= 1


def test_nodes_are_found_by_their_names_however_large() -> None:
    names = np.array([0, 7, 2**40 + 3, 2**40 + 4, 123_456_789_012], np.int64)
    keys, nodes = rehashed(names, 5, 16)
    assert [int(nodes[slot_of(keys, name)]) for name in names] == [0, 1, 2, 3, 4]
    assert nodes[slot_of(keys, np.int64(99))] == -1


def test_a_way_is_read_back_with_machine_states_and_cells() -> None:
    """Ten cells: (0, 3) by action 1 to (0, 4), by action 2 to (1, 4), then the untried action 5."""
    names = np.array([3, 4, 14], np.int64)
    parent, via = np.array([-1, 0, 1], np.int32), np.array([-1, 1, 2], np.int32)
    actions, states, cells = unfold(names, parent, via, 10, 2, 5)
    assert (actions.tolist(), states.tolist(), cells.tolist()) == ([1, 2, 5], [0, 0, 1], [3, 4, 4])
    actions, states, cells = unfold(names, parent, via, 10, 2, -1)
    assert (actions.tolist(), states.tolist(), cells.tolist()) == ([1, 2], [0, 0], [3, 4])
    assert len(unfold(names, parent, via, 10, 0, -1)[0]) == 0
