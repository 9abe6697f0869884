"""The order: exact dynamic programming over agenda nodes and landmarks, redone only when its own legs have changed."""

from __future__ import annotations

import numpy as np

from errands.kernels import hot, jit
from errands.kernels.qcorm_plus_agenda import Agenda
from errands.kernels.qcorm_plus_memory import (
    GOAL,
    LANDMARKS,
    MARKS,
    OPEN,
    PLANNED,
    RANDOM,
    STALE,
    STAR,
    STEP,
    TOUCHED,
    UNTRIED,
    Memory,
)
from errands.tables import FAILURE, RUNNING, SUCCESS, Codes, Flags, Floats, Ints

TINY = 1e-12
WORK = 16


@hot
def after(following: Ints, status: Codes, label: Ints, ends: Flags, worth: Floats, n: int, k: int) -> float:
    """What arriving at a landmark is worth in node n: nothing where the node ignores it."""
    m = following[n, label[k]]
    if m == n or status[m] == FAILURE:
        return 0.0
    if status[m] == SUCCESS:
        return 1.0
    return 0.0 if ends[k] else max(worth[m, k], 0.0)


@jit
def legs(memory: Memory) -> Floats:
    """[K, K] the best value of each landmark from the cells of each landmark."""
    count = memory.where[LANDMARKS]
    reach = np.zeros((count, count))
    for m in range(memory.where[MARKS]):
        x = memory.mark_landmark[m]
        for k in range(count):
            reach[x, k] = max(reach[x, k], memory.v[memory.mark_cell[m], k])
    return reach


@jit
def plan(agenda: Agenda, memory: Memory) -> None:
    """Worth and choice of every node at every landmark that leads to it, from the end to the beginning."""
    where, worth, choice, label, ends = memory.where, memory.worth, memory.choice, memory.label, memory.ends
    following, status = agenda.next, agenda.status
    count, nodes = where[LANDMARKS], following.shape[0]
    reach = legs(memory)
    worth[:, :count] = -1.0
    for n in range(nodes):
        if status[n] == RUNNING:
            for k in range(1, count):
                m = following[n, label[k]]
                if m != n and status[m] == RUNNING and not ends[k]:
                    worth[m, k] = 0.0
    weight, open_ = np.zeros(count), np.zeros(count, np.int64)
    changed = True
    while changed:
        changed = False
        for n in range(nodes - 1, -1, -1):
            if status[n] != RUNNING:
                continue
            weight[0], some = agenda.bound[n], int(where[UNTRIED] > 0)
            for k in range(1, count):
                w = after(following, status, label, ends, worth, n, k)
                if w > 0.0:
                    weight[some], open_[some] = w, k
                    some += 1
            for x in range(1, count):
                if worth[n, x] < 0.0:
                    continue
                best, chosen, old = 0.0, 0, choice[n, x]
                for i in range(some):
                    value = weight[i] * reach[x, open_[i]]
                    if value > best or (value == best and open_[i] == old):
                        best, chosen = value, open_[i]
                if best != worth[n, x]:
                    worth[n, x], choice[n, x] = best, chosen
                    changed = not agenda.layered
    where[STALE] = where[TOUCHED] = 0
    where[PLANNED] = where[STEP]


@hot
def look(agenda: Agenda, memory: Memory, n: int, s: int) -> float:
    """List the landmarks that lead on from a node with their worth; the best value from cell s, and its landmark."""
    following, status, label, ends, worth = agenda.next, agenda.status, memory.label, memory.ends, memory.worth
    where, weight, open_, v = memory.where, memory.weight, memory.open, memory.v
    some, best, goal = 0, 0.0, STAR
    for k in range(where[LANDMARKS]):
        w = after(following, status, label, ends, worth, n, k) if k != STAR else 0.0
        if k == STAR and where[UNTRIED] > 0:
            w = agenda.bound[n]
        weight[k] = w
        if w > 0.0:
            open_[some] = k
            some += 1
            if w * v[s, k] > best:
                best, goal = w * v[s, k], k
    where[OPEN], where[GOAL] = some, goal
    return best


@jit
def kept(agenda: Agenda, memory: Memory, n: int) -> bool:
    """Whether the planned way on is still worth what it was: then, as values only fall, no other order is better."""
    where, label, k = memory.where, memory.label, memory.where[GOAL]
    unshared = where[MARKS] == where[LANDMARKS] - 1
    planned, now = memory.weight[k], 1.0
    while k != STAR and now >= planned * (1.0 - TINY):
        n = agenda.next[n, label[k]]
        if agenda.status[n] != RUNNING:
            break
        following, leg = memory.choice[n, k], 0.0
        for i in range(k - 1 if unshared else 0, k if unshared else where[MARKS]):
            if memory.mark_landmark[i] == k:
                leg = max(leg, memory.v[memory.mark_cell[i], following])
        now *= leg
        k = following
        if k == STAR:
            now *= agenda.bound[n] if where[UNTRIED] > 0 else 0.0
    return now >= planned * (1.0 - TINY)


@jit
def due(agenda: Agenda, memory: Memory, n: int) -> bool:
    """Whether the order must be planned anew before going on from node n."""
    where = memory.where
    if where[RANDOM] == 1:
        return where[STEP] - where[PLANNED] >= agenda.next.shape[0] * where[LANDMARKS] // WORK
    return where[STALE] == 1 or not kept(agenda, memory, n)
