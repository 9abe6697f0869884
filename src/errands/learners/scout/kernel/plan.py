"""Scout's plans: lower bounds from distances to landmarks, then A* over (machine state, cell); an untried action is an exit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot
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


def find_landmarks(known: Known, useful: Flags, most: int) -> tuple[Ints, Ints]:
    """The (cell, label) pairs of known steps whose label can move the machine on; none when there are more than `most`."""
    # This module plans for certain moves: the only outcome of a pair is in place 0.
    there, labels = known.target[:, :, 0], known.label[:, :, 0]
    chosen = (known.tried > 0) & useful[labels]
    pairs = dict.fromkeys(zip(there[chosen].tolist(), labels[chosen].tolist(), strict=True))
    # None rather than some: with a landmark missing, the bounds would be too high and prove wrong things.
    cells, shown = np.array(list(pairs) if len(pairs) <= most else [], np.int32).reshape(-1, 2).T.copy()
    return cells, shown


def incoming(known: Known, fatal: Flags) -> tuple[Ints, Ints]:
    """The known steps (s * A + a) into each cell that do not always fail: slices first[cell] : first[cell + 1]."""
    steps = np.flatnonzero((known.tried > 0) & ~fatal[known.label[:, :, 0]])
    there = known.target[:, :, 0].ravel()[steps]
    first = np.concatenate(([0], np.cumsum(np.bincount(there, minlength=len(known.tried)))))
    return first.astype(np.int32), steps[np.argsort(there, kind="stable")].astype(np.int32)


@hot
def spread(known: Known, first: Ints, steps: Ints, distance: Ints, row: int, queue: Ints, tail: int) -> None:
    """Breadth-first search backwards over steps that do not end the episode, from the cells queue[:tail].

    `distance[row]` holds FAR for cells not met; each cell enters the queue once, so that S places are enough.
    """
    actions = known.tried.shape[1]
    head = 0
    while head < tail:
        cell = queue[head]
        head += 1
        for i in range(first[cell], first[cell + 1]):
            s, a = steps[i] // actions, steps[i] % actions
            if distance[row, s] == FAR and not known.ends[s, a, 0]:
                distance[row, s] = distance[row, cell] + 1
                queue[tail] = s
                tail += 1


@hot
def spread_all(known: Known, first: Ints, steps: Ints, cells: Ints, labels: Ints, distance: Ints, queue: Ints, tail: int) -> None:
    """Write the distances to the cells queue[:tail] into the last row of `distance`, those to the landmarks into the others."""
    actions = known.tried.shape[1]
    spread(known, first, steps, distance, cells.shape[0], queue, tail)
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
        spread(known, first, steps, distance, g, queue, tail)


def measure(known: Known, into: tuple[Ints, Ints], cells: Ints, labels: Ints, hopeful: bool) -> Landmarks:
    """The distances to every landmark and, for hopeful plans, to the nearest untried action; `into` is `incoming`."""
    # Cells never seen have untried actions too, but no known way leads there.
    exits = np.flatnonzero((known.cell_label >= 0) & (known.tried == 0).any(axis=1)) if hopeful else cells[:0]
    distance, queue = np.full((len(cells) + 1, len(known.tried)), FAR, np.int32), np.empty(len(known.tried), np.int32)
    distance[-1, exits], queue[: len(exits)] = 0, exits
    spread_all(known, *into, cells, labels, distance, queue, len(exits))
    return Landmarks(cells, labels, distance[:-1], distance[-1])


def bound(states: AgendaStates, delta: Ints, marks: Landmarks, allowed: Flags, open_bits: np.uint64, layered: bool) -> Ints:
    """[X, G + 1] a lower bound on the steps to success from a machine state at a landmark; the last column: elsewhere.

    Elsewhere is any cell reached by an untried action: one step may then complete whatever the machine allows, where
    `allowed` (entry, numeric state) and `open_bits` (subtasks) keep out what the user promised to be on known cells only.
    """
    marked = len(marks.cell)
    w = np.full((len(states.u), marked + 1), FAR, np.int32)
    w[states.status == SUCCESS] = 0
    tighten(states, delta, marks, allowed, open_bits, layered, w, np.empty(marked, np.int32), np.empty(marked, np.int32))
    return w


@hot
def tighten(
    states: AgendaStates, delta: Ints, marks: Landmarks, allowed: Flags, open_bits: np.uint64, layered: bool,
    w: Ints, enabled: Ints, cost: Ints,
) -> None:  # fmt: skip
    """Sweep over the bounds until they stand still; `enabled` and `cost` are scratch."""
    marked = marks.cell.shape[0]
    changed = True
    while changed:
        changed = False
        for x in range(states.u.shape[0] - 1, -1, -1):
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


Longs = NDArray[np.int64]
NONE, GOAL, EXIT, LOST, FULL = range(5)
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


NAME, COST, REST, PARENT, VIA, CLOSED = range(6)
"""A node's row of the tree: its name, steps to it, the bound on those that follow, the node and the action that it was
reached by, whether its cost is final."""
COUNT, SIZE, LAST = range(3)
"""Where a search stands: its nodes, the items in its heap, the node that it ended with."""


@hot
def go_on(
    known: Known, status: Codes, delta: Ints, marks: Landmarks, w: Ints, ceiling: int, hopeful: bool,
    tree: Longs, keys: Longs, items: Ints, at: Longs, named: Longs, nodes: Ints,
) -> int:  # fmt: skip
    """Go on with a search whose tables of names are empty; FULL where the next node may need more room than there is."""
    cells, actions = known.tried.shape
    marked = marks.cell.shape[0]
    count, size = at[COUNT], at[SIZE]
    for n in range(count):
        slot = slot_of(named, tree[n, NAME])
        named[slot], nodes[slot] = tree[n, NAME], n
    if count == 1 and size == 0:
        tree[0, REST] = estimate(delta, marks, w, tree[0, NAME] // cells, tree[0, NAME] % cells)
        if tree[0, REST] < ceiling:
            # The key of the first node does not matter: it is alone in the heap.
            push(keys, items, 0, 0, 0)
            size = 1
    kind = NONE
    while size > 0:
        # An exit and a node for each action.
        if size + actions + 1 > keys.shape[0] or count + actions > tree.shape[0]:
            kind = FULL
            break
        n = pop(keys, items, size)
        size -= 1
        at[LAST] = n if n >= 0 else -1 - n
        if n < 0:
            kind = EXIT
            break
        x, s = tree[n, NAME] // cells, tree[n, NAME] % cells
        if status[x] == SUCCESS:
            kind = GOAL
            break
        if tree[n, CLOSED]:
            continue
        tree[n, CLOSED] = 1
        if count > MAX_NODES:
            kind = LOST
            break
        # One exit a node is enough: the bound is the same for all its untried actions.
        exits = hopeful
        for a in range(actions):
            if known.tried[s, a] == 0:
                if exits and tree[n, COST] + w[x, marked] < ceiling:
                    push(keys, items, size, (tree[n, COST] + w[x, marked]) << 31, -1 - n)
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
                tree[m, NAME], tree[m, COST], tree[m, CLOSED] = name, FAR, 0
                tree[m, REST] = 0 if status[y] == SUCCESS else estimate(delta, marks, w, y, there)
            steps = tree[n, COST] + 1
            if steps < tree[m, COST] and steps + tree[m, REST] < ceiling and not tree[m, CLOSED]:
                tree[m, COST], tree[m, PARENT], tree[m, VIA] = steps, n, a
                push(keys, items, size, ((steps + tree[m, REST]) << 31) + (1 << 30) - steps, m)
                size += 1
    at[COUNT], at[SIZE] = count, size
    return kind


def unfold(tree: Longs, cells: int, n: int, last: int) -> tuple[Ints, Ints, Ints]:
    """The way to node n: actions (then `last` unless it is -1), and the machine state and cell before each."""
    actions, names = ([last], [tree.item(n, NAME)]) if last >= 0 else ([], [])
    while (parent := tree.item(n, PARENT)) >= 0:
        actions.append(tree.item(n, VIA))
        names.append(tree.item(parent, NAME))
        n = parent
    places = np.array(names[::-1], np.int64)
    return np.array(actions[::-1], np.int32), (places // cells).astype(np.int32), (places % cells).astype(np.int32)


def search(
    known: Known, status: Codes, delta: Ints, marks: Landmarks, w: Ints, x: int, s: int, ceiling: int, hopeful: bool
) -> tuple[int, int, Ints, Ints, Ints]:
    """The cheapest way from (x, s) that costs less than the ceiling, or NONE; LOST where the search grew too large.

    GOAL: over known steps. EXIT (hopeful only): to an untried action, its cost a lower bound on every way that uses one.
    With the cost, the actions and the machine states and cells before them. At equal cost exits come first.

    A node is named x * S + s; `named` and `nodes` find its number n, its row of the tree. The heap holds (key, item).
    Key = f << 31, f the cost of the way plus the lower bound on its rest, with ties broken in the low bits:
    - an item n >= 0 is a node; its key adds 2^30 - cost, so that among equal f the deepest node comes first;
    - an item -1 - n < 0 is the exit from node n by an untried action; its key adds 0, so that at equal f an exit is
      popped before every node. The certificate rests on this: NONE below the ceiling means that no exit is cheaper.
    A node that gets cheaper is pushed again; its old item is skipped when it comes up (CLOSED). The estimate is
    consistent, so a closed node is never improved, and the first success or exit popped is the cheapest.
    """
    cells = len(known.tried)
    tree, keys, items = np.empty((256, 6), np.int64), np.empty(1024, np.int64), np.empty(1024, np.int32)
    tree[0], at, kind = (x * cells + s, 0, 0, -1, -1, 0), np.array([1, 0, 0]), FULL
    while kind == FULL:
        named, nodes = np.full(4 * len(tree), -1, np.int64), np.full(4 * len(tree), -1, np.int32)
        kind = go_on(known, status, delta, marks, w, ceiling, hopeful, tree, keys, items, at, named, nodes)
        if kind == FULL:
            tree, keys, items = np.concatenate((tree, tree)), np.concatenate((keys, keys)), np.concatenate((items, items))
    if kind not in (GOAL, EXIT):
        nothing = np.empty(0, np.int32)
        return kind, FAR, nothing, nothing, nothing
    n = at.item(LAST)
    x, s = divmod(tree.item(n, NAME), cells)
    # One exit stands for all untried actions of its cell; the first of them is taken.
    last, more = (int(np.argmin(known.tried[s] > 0)), int(w[x, -1])) if kind == EXIT else (-1, 0)
    return kind, tree.item(n, COST) + more, *unfold(tree, cells, n, last)
