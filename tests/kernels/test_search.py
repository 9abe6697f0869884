"""Breadth-first search in compiled code: levels, ways back, and where it stops."""

from __future__ import annotations

import numpy as np

from errands.kernels.search import breadth_first
from errands.oracle.product import product
from errands.tasks import load
from errands.worlds.grid import distances


def test_levels_in_the_first_agenda_state_are_distances_around_the_places():
    task = load("visit-3")
    crossed = product(task)
    level = np.full(len(crossed), -1, np.int32)
    origin = crossed.starts[0][0]
    breadth_first(crossed.world.table, crossed.following, origin, level, True)
    cells = [cell for _, cell in task.layout.places]
    expected = distances(task.layout, task.layout.start, avoid=cells)
    assert (level[: task.layout.cells] == expected).all()


def test_it_leads_back_to_the_origin_from_the_first_success():
    crossed = product(load("office-6"))
    origin = crossed.starts[0][0]
    origin_of, here = breadth_first(crossed.world.table, crossed.following, origin, np.empty(0, np.int32), False)
    steps = 1
    while here != origin:
        here, steps = origin_of[here], steps + 1
    assert steps == 60


def test_a_task_that_cannot_succeed_has_no_last_state():
    crossed = product(load("figure-1"))
    blocked = np.where(crossed.following == -1, -2, crossed.following).astype(np.int32)
    assert breadth_first(crossed.world.table, blocked, crossed.starts[0][0], np.empty(0, np.int32), False)[1] == -1
