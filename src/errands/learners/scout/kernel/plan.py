"""Scout's plans: lower bounds from distances to landmarks, then A* over (machine state, cell); an untried action is an exit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot, jit
from errands.kernels.hashing import slot_of
from errands.learners.scout.kernel.agenda import AgendaStates
from errands.learners.scout.kernel.memory import Known
from errands.tables import FAILURE, RUNNING, SUCCESS, Codes, Flags, Ints

FAR = 1 << 28
"""Out of reach; twice this still fits 32 bits, so that sums need no test."""


class Landmarks(NamedTuple):
    """Cells where the machine can change, with the label of the steps that enter them."""

    cell: Ints
    label: Ints
    steps: Ints
    """[G, S] fewest known steps, at least one, from a cell to the landmark."""
    exit: Ints
    """[S] fewest known steps to a cell with an untried action; FAR everywhere for plans on known steps only."""


@jit
def find_landmarks(known: Known, useful: Flags, most: int) -> tuple[Ints, Ints]:
    """The (cell, label) pairs of known steps whose label can move the machine on; none when there are more than `most`.

    last[cell] is the landmark last found at a cell; others at the same cell are found by going back through the list.
    """
    cells, labels = np.empty(most, np.int32), np.empty(most, np.int32)
    last = np.full(known.tried.shape[0], -1, np.int32)
    count = 0
    for s in range(known.tried.shape[0]):
        for a in range(known.tried.shape[1]):
            if known.tried[s, a] == 0:
                continue
            # This module plans for certain moves: the only outcome of a pair is in place 0.
            there, label = known.target[s, a, 0], known.label[s, a, 0]
            if not useful[label]:
                continue
            g = last[there]
            while g >= 0 and labels[g] != label:
                g -= 1
                while g >= 0 and cells[g] != there:
                    g -= 1
            if g < 0:
                # None rather than some: with a landmark missing, the bounds would be too high and prove wrong things.
                if count == most:
                    return cells[:0], labels[:0]
                cells[count], labels[count], last[there] = there, label, count
                count += 1
    return cells[:count].copy(), labels[:count].copy()


@jit
def incoming(known: Known, fatal: Flags) -> tuple[Ints, Ints]:
    """The known steps (s * A + a) into each cell that do not always fail: slices first[cell] : first[cell + 1]."""
    count, actions = known.tried.shape
    first = np.zeros(count + 1, np.int32)
    for s in range(count):
        for a in range(actions):
            if known.tried[s, a] > 0 and not fatal[known.label[s, a, 0]]:
                first[known.target[s, a, 0] + 1] += 1
    for s in range(count):
        first[s + 1] += first[s]
    # A counting sort: sizes were summed up into slices, `at` now fills each slice from its front.
    at = first[:-1].copy()
    steps = np.empty(first[count], np.int32)
    for s in range(count):
        for a in range(actions):
            if known.tried[s, a] > 0 and not fatal[known.label[s, a, 0]]:
                there = known.target[s, a, 0]
                steps[at[there]] = s * actions + a
                at[there] += 1
    return first, steps


@jit
def spread(known: Known, first: Ints, steps: Ints, distance: Ints, queue: Ints, head: int, tail: int) -> None:
    """Breadth-first search backwards over steps that do not end the episode, from the cells queue[head:tail].

    `distance` holds FAR for cells not met; each cell enters the queue once, so that S places are enough.
    """
    actions = known.tried.shape[1]
    while head < tail:
        cell = queue[head]
        head += 1
        for i in range(first[cell], first[cell + 1]):
            s, a = steps[i] // actions, steps[i] % actions
            if distance[s] == FAR and not known.ends[s, a, 0]:
                distance[s] = distance[cell] + 1
                queue[tail] = s
                tail += 1


@jit
def measure(known: Known, fatal: Flags, cells: Ints, labels: Ints, hopeful: bool) -> Landmarks:
    """The distances to every landmark and, for hopeful plans, to the nearest untried action."""
    count, actions = known.tried.shape
    first, steps = incoming(known, fatal)
    queue = np.empty(count, np.int32)
    distance = np.full((cells.shape[0], count), FAR, np.int32)
    for g in range(cells.shape[0]):
        tail = 0
        for i in range(first[cells[g]], first[cells[g] + 1]):
            s, a = steps[i] // actions, steps[i] % actions
            # The search starts one step away, never at 0: standing on a landmark completes nothing, entering it does.
            # The entering step may end the episode, as a success can; steps before it may not (`spread`).
            if known.label[s, a, 0] == labels[g] and distance[g, s] == FAR:
                distance[g, s] = 1
                queue[tail] = s
                tail += 1
        spread(known, first, steps, distance[g], queue, 0, tail)
    away = np.full(count, FAR, np.int32)
    if hopeful:
        tail = 0
        for s in range(count):
            # Cells never seen have untried actions too, but no known way leads there.
            if known.cell_label[s] >= 0:
                for a in range(actions):
                    if known.tried[s, a] == 0 and away[s] == FAR:
                        away[s] = 0
                        queue[tail] = s
                        tail += 1
        spread(known, first, steps, away, queue, 0, tail)
    return Landmarks(cells, labels, distance, away)


@jit
def bound(states: AgendaStates, delta: Ints, marks: Landmarks, allowed: Flags, open_bits: np.uint64, layered: bool) -> Ints:
    """[X, G + 1] a lower bound on the steps to success from a machine state at a landmark; the last column: elsewhere.

    Elsewhere is any cell reached by an untried action: one step may then complete whatever the machine allows, where
    `allowed` (entry, numeric state) and `open_bits` (subtasks) keep out what the user promised to be on known cells only.
    """
    count, marked = states.u.shape[0], marks.cell.shape[0]
    w = np.full((count, marked + 1), FAR, np.int32)
    for x in range(count):
        if states.status[x] == SUCCESS:
            w[x, :] = 0
    enabled, cost = np.empty(marked, np.int32), np.empty(marked, np.int32)
    changed = True
    while changed:
        changed = False
        for x in range(count - 1, -1, -1):
            if states.status[x] != RUNNING:
                continue
            # `star` is the bound from an unseen cell: the next step may complete whatever could still be there, or
            # enter any known landmark. It must never be too high, for the certificate rests on it.
            star = FAR
            for i in range(states.first[x], states.first[x + 1]):
                y = states.to[i]
                if states.done[i] & ~open_bits != np.uint64(0):
                    continue
                if allowed[states.entry[i], states.u[y]] and w[y, marked] < star:
                    star = w[y, marked]
            n = 0
            for g in range(marked):
                y = delta[marks.label[g], x]
                if y != x and w[y, g] < FAR:
                    enabled[n], cost[n] = g, w[y, g]
                    star = min(star, cost[n])
                    n += 1
            star = min(star + 1, FAR)
            changed = changed or star != w[x, marked]
            w[x, marked] = star
            for g in range(marked):
                s = marks.cell[g]
                best = min(marks.exit[s] + star, FAR)
                for i in range(n):
                    best = min(best, marks.steps[enabled[i], s] + cost[i])
                changed = changed or best != w[x, g]
                w[x, g] = best
        # Layered: from the last state to the first, every successor was final when it was read. One sweep is enough.
        changed = changed and not layered
    return w


Longs = NDArray[np.int64]
NONE, GOAL, EXIT, LOST = range(4)
MAX_NODES = 1_500_000


@hot
def estimate(delta: Ints, marks: Landmarks, w: Ints, x: int, s: int) -> int:
    """A lower bound on the steps to success from machine state x in cell s; consistent along known steps."""
    marked = marks.cell.shape[0]
    best = min(marks.exit[s] + w[x, marked], FAR)
    for g in range(marked):
        y = delta[marks.label[g], x]
        if y != x:
            best = min(best, marks.steps[g, s] + w[y, g])
    return best


@hot
def push(keys: Longs, items: Ints, size: int, key: int, item: int) -> None:
    """Put an item into the binary heap of `size` items."""
    # A hole moves up from the end to where the key belongs; the item is written once.
    i = size
    while i > 0 and keys[(i - 1) >> 1] > key:
        keys[i], items[i] = keys[(i - 1) >> 1], items[(i - 1) >> 1]
        i = (i - 1) >> 1
    keys[i], items[i] = key, item


@hot
def pop(keys: Longs, items: Ints, size: int) -> int:
    """Take the first item out of the heap of `size` items."""
    first = items[0]
    # The last item fills the hole at the top, which moves down to where its key belongs.
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
def rehashed(names: Longs, count: int, size: int) -> tuple[Longs, Ints]:
    """An open hash table of `size` slots with the first `count` nodes: the name in each slot, and its node."""
    keys, nodes = np.full(size, -1, np.int64), np.full(size, -1, np.int32)
    for n in range(count):
        slot = slot_of(keys, names[n])
        keys[slot], nodes[slot] = names[n], n
    return keys, nodes


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

    A node is named x * S + s; `named` and `nodes` find its number n, `closed[n]` says that its cost g[n] is final. The heap holds
    (key, item). Key = f << 31, f the cost of the way plus the lower bound on its rest, with ties broken in the low bits:
    - an item n >= 0 is a node; its key adds 2^30 - g[n], so that among equal f the deepest node comes first;
    - an item -1 - n < 0 is the exit from node n by an untried action; its key adds 0, so that at equal f an exit is
      popped before every node. The certificate rests on this: NONE below the ceiling means that no exit is cheaper.
    A node that gets cheaper is pushed again; its old item is skipped when it comes up (`closed`). The estimate is
    consistent, so a closed node is never improved, and the first success or exit popped is the cheapest.
    """
    cells, actions = known.tried.shape
    marked = marks.cell.shape[0]
    room = 256
    names, g, h = np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int32)
    parent, via, closed = np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(room, np.bool_)
    keys, items = np.empty(4 * room, np.int64), np.empty(4 * room, np.int32)
    names[0], g[0], h[0], parent[0] = x * cells + s, 0, estimate(delta, marks, w, x, s), -1
    named, nodes = rehashed(names, 1, 1024)
    count, size = 1, 0
    if h[0] < ceiling:
        # The key of the first node does not matter: it is alone in the heap.
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
            # One exit stands for all untried actions of its cell; the first of them is taken.
            last = 0
            while known.tried[s, last] > 0:
                last += 1
            return EXIT, g[n] + w[x, marked], *unfold(names, parent, via, cells, n, last)
        if status[x] == SUCCESS:
            return GOAL, g[n], *unfold(names, parent, via, cells, n, -1)
        if closed[n]:
            continue
        closed[n] = True
        if count > MAX_NODES:
            return LOST, FAR, np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)
        # Room for all that one node can push, an exit and a node for each action, is made before.
        if size + actions + 1 > keys.shape[0]:
            keys, items = np.append(keys, keys), np.append(items, items)
        if count + actions > names.shape[0]:
            names, g, h = np.append(names, names), np.append(g, g), np.append(h, h)
            parent, via, closed = np.append(parent, parent), np.append(via, via), np.append(closed, closed)
            # np.append has copied the old flags into the new half.
            closed[count:] = False
            named, nodes = rehashed(names, count, 2 * named.shape[0])
        # One exit a node is enough: the bound is the same for all its untried actions.
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
            name = np.int64(y) * cells + there
            slot = slot_of(named, name)
            m = nodes[slot]
            if m < 0:
                m = count
                named[slot], nodes[slot] = name, m
                count += 1
                names[m], g[m] = name, FAR
                h[m] = 0 if status[y] == SUCCESS else estimate(delta, marks, w, y, there)
            if g[n] + 1 < g[m] and g[n] + 1 + h[m] < ceiling and not closed[m]:
                g[m], parent[m], via[m] = g[n] + 1, n, a
                push(keys, items, size, (np.int64(g[m] + h[m]) << 31) + (1 << 30) - g[m], m)
                size += 1
    return NONE, FAR, np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)
