"""Scout's lower bounds: distances to landmarks over known steps, and the cheapest way through the machine by them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from errands.kernels import jit
from errands.kernels.scout_memory import Known
from errands.kernels.scout_states import States
from errands.tables import RUNNING, SUCCESS, Flags, Ints

FAR = 1 << 28


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
    """The (cell, label) pairs of known steps whose label can move the machine on; none when there are more than `most`."""
    cells, labels = np.empty(most, np.int32), np.empty(most, np.int32)
    last = np.full(known.tried.shape[0], -1, np.int32)
    count = 0
    for s in range(known.tried.shape[0]):
        for a in range(known.tried.shape[1]):
            if known.tried[s, a] == 0:
                continue
            there, label = known.target[s, a, 0], known.label[s, a, 0]
            if not useful[label]:
                continue
            g = last[there]
            while g >= 0 and labels[g] != label:
                g -= 1
                while g >= 0 and cells[g] != there:
                    g -= 1
            if g < 0:
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
    """Breadth-first search backwards over steps that do not end the episode, from the cells queued."""
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
            if known.label[s, a, 0] == labels[g] and distance[g, s] == FAR:
                distance[g, s] = 1
                queue[tail] = s
                tail += 1
        spread(known, first, steps, distance[g], queue, 0, tail)
    away = np.full(count, FAR, np.int32)
    if hopeful:
        tail = 0
        for s in range(count):
            if known.cell_label[s] >= 0:
                for a in range(actions):
                    if known.tried[s, a] == 0 and away[s] == FAR:
                        away[s] = 0
                        queue[tail] = s
                        tail += 1
        spread(known, first, steps, away, queue, 0, tail)
    return Landmarks(cells, labels, distance, away)


@jit
def bound(states: States, delta: Ints, marks: Landmarks, allowed: Flags, open_bits: np.uint64, layered: bool) -> Ints:
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
        changed = changed and not layered
    return w
