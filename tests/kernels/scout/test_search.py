"""The parts of A*: its heap, its hash table, and a way that is read back."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from errands.learners.scout.kernel.plan import FAR, GOAL, Landmarks, pop, push, search, unfold
from errands.learners.scout.tabular import new_known


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


def test_a_way_is_read_back_with_machine_states_and_cells() -> None:
    """Ten cells: (0, 3) by action 1 to (0, 4), by action 2 to (1, 4), then the untried action 5."""
    names, parents, via, none = (3, 4, 14), (-1, 0, 1), (-1, 1, 2), (0, 0, 0)
    tree = np.array([names, none, none, parents, via, none]).T
    actions, states, cells = unfold(tree, 10, 2, 5)
    assert (actions.tolist(), states.tolist(), cells.tolist()) == ([1, 2, 5], [0, 0, 1], [3, 4, 4])
    actions, states, cells = unfold(tree, 10, 2, -1)
    assert (actions.tolist(), states.tolist(), cells.tolist()) == ([1, 2], [0, 0], [3, 4])
    assert len(unfold(tree, 10, 0, -1)[0]) == 0


def test_a_search_without_bounds_makes_room_for_all_that_it_meets() -> None:
    """A corridor of 2,000 cells, left and right known everywhere, whose cell 1,500 ends the task."""
    known, none = new_known(2_000, 2, 1), np.empty(0, np.int32)
    known.tried[:] = known.hits[:] = 1
    known.target[:, 0, 0], known.target[:, 1, 0] = np.maximum(np.arange(2_000) - 1, 0), np.minimum(np.arange(2_000) + 1, 1_999)
    known.label[:] = known.target == 1_500
    status, delta = np.array([0, 1], np.int8), np.array([[0, 1], [1, 1]], np.int32)
    marks = Landmarks(none, none, np.zeros((0, 2_000), np.int32), np.zeros(2_000, np.int32))
    found = search(known, status, delta, marks, np.zeros((2, 1), np.int32), 0, 3, FAR, False)
    assert found[:2] == (GOAL, 1_497)
    assert found[2].tolist() == [1] * 1_497
    assert found[4].tolist() == list(range(3, 1_500))
