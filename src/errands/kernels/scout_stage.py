"""Shortest ways within one stage of a task with many subtasks: Boolean objectives are passed, subtasks are not counted."""

from __future__ import annotations

import numpy as np

from errands.kernels import jit
from errands.kernels.scout_bounds import FAR
from errands.kernels.scout_machine import ScoutMachine
from errands.kernels.scout_memory import Known
from errands.tables import FAILURE, SUCCESS, Flags, Ints

SUCCEED = -1
NOWHERE = -2


@jit
def stage_search(
    known: Known, machine: ScoutMachine, entry: Ints, chooser: int, stops: Flags, u: int, s: int, goal: int
) -> tuple[Ints, int, Ints]:
    """Breadth-first search over (numeric state, cell) along usual outcomes, u reading entry[u] all the while.

    [S] steps to enter each cell of `stops` in state `chooser`, steps to success, and the actions to the goal: a cell
    of `stops`, SUCCEED, or NOWHERE for none.
    """
    cells, actions = known.tried.shape
    count = machine.status.shape[0] * cells
    distance = np.full(count, FAR, np.int32)
    parent, via, queue = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    arrive = np.full(cells, FAR, np.int32)
    won = FAR
    origin = u * cells + s
    distance[origin] = 0
    queue[0] = origin
    head, tail = 0, 1
    node, step = -1, -1
    while head < tail and node < 0:
        n = queue[head]
        head += 1
        u, s = n // cells, n % cells
        for a in range(actions):
            if known.tried[s, a] == 0:
                continue
            o = known.mode[s, a]
            there = known.target[s, a, o]
            if u == chooser and stops[there] and arrive[there] == FAR:
                arrive[there] = distance[n] + 1
                if there == goal:
                    node, step = n, a
                    break
            t = machine.next[known.label[s, a, o], entry[u]]
            if machine.status[t] == SUCCESS and won == FAR:
                won = distance[n] + 1
                if goal == SUCCEED:
                    node, step = n, a
                    break
            if machine.status[t] == FAILURE or machine.status[t] == SUCCESS or known.ends[s, a, o]:
                continue
            m = t * cells + there
            if distance[m] == FAR:
                distance[m], parent[m], via[m] = distance[n] + 1, n, a
                queue[tail] = m
                tail += 1
    if node < 0:
        return arrive, won, np.empty(0, np.int32)
    way = np.empty(distance[node] + 1, np.int32)
    way[-1] = step
    while node != origin:
        way[distance[node] - 1] = via[node]
        node = parent[node]
    return arrive, won, way
