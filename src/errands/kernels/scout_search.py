"""A* over (machine state, cell) on the known steps, guided by Scout's lower bounds; an untried action is an exit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from errands.kernels import jit
from errands.kernels.scout_bounds import FAR, Landmarks
from errands.kernels.scout_memory import Known
from errands.tables import FAILURE, SUCCESS, Codes, Ints

Longs = NDArray[np.int64]
NONE, GOAL, EXIT, LOST = range(4)
MOST_NODES = 1_500_000


@jit
def estimate(delta: Ints, marks: Landmarks, w: Ints, x: int, s: int) -> int:
    """A lower bound on the steps to success from machine state x in cell s; consistent along known steps."""
    marked = marks.cell.shape[0]
    best = min(marks.exit[s] + w[x, marked], FAR)
    for g in range(marked):
        y = delta[marks.label[g], x]
        if y != x:
            best = min(best, marks.steps[g, s] + w[y, g])
    return best


@jit
def push(keys: Longs, items: Ints, size: int, key: int, item: int) -> None:
    """Put an item into the binary heap of `size` items."""
    i = size
    while i > 0 and keys[(i - 1) >> 1] > key:
        keys[i], items[i] = keys[(i - 1) >> 1], items[(i - 1) >> 1]
        i = (i - 1) >> 1
    keys[i], items[i] = key, item


@jit
def pop(keys: Longs, items: Ints, size: int) -> int:
    """Take the first item out of the heap of `size` items."""
    first = items[0]
    key, item = keys[size - 1], items[size - 1]
    i = 0
    while 2 * i + 1 < size - 1:
        child = 2 * i + 1
        if child + 1 < size - 1 and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[i], items[i] = keys[child], items[child]
        i = child
    keys[i], items[i] = key, item
    return first


@jit
def locate(names: Longs, slots: Ints, name: int) -> int:
    """The slot that holds a node of this name, or the free one where it would stand."""
    mixed = ((name ^ (name >> 31)) & 0x7FFFFFFF) * 1103515245
    i = (mixed ^ (mixed >> 15) ^ (mixed >> 31)) & (slots.shape[0] - 1)
    while slots[i] >= 0 and names[slots[i]] != name:
        i = (i + 1) & (slots.shape[0] - 1)
    return i


@jit
def larger(names: Longs, count: int, size: int) -> Ints:
    """A hash table of `size` slots that holds the first `count` nodes."""
    slots = np.full(size, -1, np.int32)
    for n in range(count):
        slots[locate(names, slots, names[n])] = n
    return slots


@jit
def unfold(names: Longs, parent: Ints, via: Ints, cells: int, n: int, last: int) -> tuple[Ints, Ints, Ints]:
    """The way to node n: actions (then `last` unless it is -1), and the machine state and cell before each."""
    length = 0 if last < 0 else 1
    i = n
    while parent[i] >= 0:
        length += 1
        i = parent[i]
    actions, xs, ss = np.empty(length, np.int32), np.empty(length, np.int32), np.empty(length, np.int32)
    k = length
    if last >= 0:
        k -= 1
        actions[k], xs[k], ss[k] = last, names[n] // cells, names[n] % cells
    i = n
    while parent[i] >= 0:
        k -= 1
        actions[k] = via[i]
        i = parent[i]
        xs[k], ss[k] = names[i] // cells, names[i] % cells
    return actions, xs, ss


@jit
def search(
    known: Known, status: Codes, delta: Ints, marks: Landmarks, w: Ints, x: int, s: int, ceiling: int, hopeful: bool
) -> tuple[int, int, Ints, Ints, Ints]:
    """The cheapest way from (x, s) that costs less than the ceiling, or NONE; LOST where the search grew too large.

    GOAL: over known steps. EXIT (hopeful only): to an untried action, its cost a lower bound on every way that uses one.
    With the cost, the actions and the machine states and cells before them. At equal cost exits come first.
    """
    cells, actions = known.tried.shape
    marked = marks.cell.shape[0]
    room = 256
    names, g, h = np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int32)
    parent, via, closed = np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(room, np.bool_)
    keys, items = np.empty(4 * room, np.int64), np.empty(4 * room, np.int32)
    slots = np.full(1024, -1, np.int32)
    names[0], g[0], h[0], parent[0] = x * cells + s, 0, estimate(delta, marks, w, x, s), -1
    slots[locate(names, slots, names[0])] = 0
    count, size = 1, 0
    if h[0] < ceiling:
        push(keys, items, 0, 0, 0)
        size = 1
    while size > 0:
        n = pop(keys, items, size)
        size -= 1
        leaves = n < 0
        if leaves:
            n = -1 - n
        x, s = names[n] // cells, names[n] % cells
        if leaves:
            last = 0
            while known.tried[s, last] > 0:
                last += 1
            return EXIT, g[n] + w[x, marked], *unfold(names, parent, via, cells, n, last)
        if status[x] == SUCCESS:
            return GOAL, g[n], *unfold(names, parent, via, cells, n, -1)
        if closed[n]:
            continue
        closed[n] = True
        if count > MOST_NODES:
            return LOST, FAR, np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)
        if size + actions + 1 > keys.shape[0]:
            keys, items = np.append(keys, keys), np.append(items, items)
        if count + actions > names.shape[0]:
            names, g, h = np.append(names, names), np.append(g, g), np.append(h, h)
            parent, via, closed = np.append(parent, parent), np.append(via, via), np.append(closed, closed)
            closed[count:] = False
            slots = larger(names, count, 2 * slots.shape[0])
        exits = hopeful
        for a in range(actions):
            if known.tried[s, a] == 0:
                if exits and g[n] + w[x, marked] < ceiling:
                    push(keys, items, size, int(g[n] + w[x, marked]) << 31, -1 - n)
                    size += 1
                exits = False
                continue
            y, there = delta[known.label[s, a, 0], x], known.target[s, a, 0]
            if status[y] == FAILURE or (known.ends[s, a, 0] and status[y] != SUCCESS):
                continue
            place = locate(names, slots, np.int64(y) * cells + there)
            m = slots[place]
            if m < 0:
                m = count
                slots[place] = m
                count += 1
                names[m], g[m] = np.int64(y) * cells + there, FAR
                h[m] = 0 if status[y] == SUCCESS else estimate(delta, marks, w, y, there)
            if g[n] + 1 < g[m] and g[n] + 1 + h[m] < ceiling and not closed[m]:
                g[m], parent[m], via[m] = g[n] + 1, n, a
                push(keys, items, size, (np.int64(g[m] + h[m]) << 31) + (1 << 30) - g[m], m)
                size += 1
    return NONE, FAR, np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)
