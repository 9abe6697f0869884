"""The agenda states that a task can be in, numbered without building a machine (Definition 3), and where labels lead."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from errands.kernels import jit
from errands.kernels.scout_machine import ONE, ZERO, ScoutMachine, advance
from errands.tables import FAILURE, RUNNING, Codes, Ints, Masks


class States(NamedTuple):
    """Agenda states in breadth-first order, a hash table to find them, and every symbolic way on from each."""

    u: Ints
    """[X] the numeric state."""
    mask: Masks
    """[X] the remaining subtasks."""
    status: Codes
    """[X] RUNNING, SUCCESS or FAILURE."""
    slots: Ints
    """[power of two] the state kept in a slot, -1 for none."""
    first: Ints
    """[X + 1] slice of the moves of x: their target, the subtask completed or -1, the entry read."""
    to: Ints
    bit: Ints
    entry: Ints


@jit
def slot_of(u: int, mask: np.uint64, size: int) -> int:
    """The slot in which the search for a state begins."""
    low, high = mask & np.uint64(0xFFFFFFFF), mask >> np.uint64(32)
    mixed = (low * np.uint64(2654435769)) ^ (high * np.uint64(2246822519)) ^ (np.uint64(u) * np.uint64(3266489917))
    return int(np.int64((mixed ^ (mixed >> np.uint64(15)) ^ (mixed >> np.uint64(32))) & np.uint64(size - 1)))


@jit
def find(us: Ints, masks: Masks, slots: Ints, u: int, mask: np.uint64) -> int:
    """The number of a state, or -1 - (the free slot where it would stand)."""
    i = slot_of(u, mask, slots.shape[0])
    while slots[i] >= 0:
        x = slots[i]
        if us[x] == u and masks[x] == mask:
            return x
        i = (i + 1) & (slots.shape[0] - 1)
    return -1 - i


@jit
def entry_of(machine: ScoutMachine, u: int, mask: np.uint64, low: np.uint64) -> int:
    """The entry of u when `low` was completed (0 for nothing) and `mask` remains."""
    q = 0
    scale = 1
    for i in range(machine.first[u], machine.first[u + 1]):
        bits = machine.variable_bits[machine.variables[i], 0]
        if mask & bits == ZERO:
            q += 2 * scale
        elif low & bits != ZERO:
            q += scale
        scale *= 3
    return machine.row[u] + q


@jit
def enumerate_states(
    machine: ScoutMachine, option_first: Ints, option_to: Ints, most: int
) -> tuple[bool, Ints, Masks, Ints]:
    """Whether all states reachable by symbolic moves number at most `most`; then their u, their masks, the slots."""
    size = 64
    while size < 2 * most:
        size *= 2
    slots = np.full(size, -1, np.int32)
    us = np.zeros(most + 1, np.int32)
    masks = np.zeros(most + 1, np.uint64)
    us[0], masks[0] = machine.initial, machine.full[0]
    slots[slot_of(machine.initial, machine.full[0], size)] = 0
    x, count = 0, 1
    while x < count:
        u, mask = us[x], masks[x]
        x += 1
        if machine.status[u] != RUNNING:
            continue
        rest = machine.active[u, 0] & mask
        low = ZERO
        while True:
            after = mask & ~low
            entry = entry_of(machine, u, after, low)
            for i in range(option_first[entry], option_first[entry + 1]):
                v = option_to[i]
                left = ZERO if machine.status[v] == FAILURE else after
                place = find(us, masks, slots, v, left)
                if place < 0:
                    if count == most:
                        return False, us[:0], masks[:0], slots
                    us[count], masks[count] = v, left
                    slots[-1 - place] = count
                    count += 1
            if rest == ZERO:
                break
            low = rest & (~rest + ONE)
            rest &= ~low
    return True, us[:count].copy(), masks[:count].copy(), slots


@jit
def moves(
    machine: ScoutMachine, us: Ints, masks: Masks, slots: Ints, option_first: Ints, option_to: Ints
) -> tuple[Ints, Ints, Ints, Ints]:
    """The symbolic moves of every state that change it: first, target, subtask bit or -1, entry."""
    count = us.shape[0]
    first = np.zeros(count + 1, np.int32)
    to, bit, entries = np.empty(64, np.int32), np.empty(64, np.int32), np.empty(64, np.int32)
    k = 0
    for x in range(count):
        u, mask = us[x], masks[x]
        rest = machine.active[u, 0] & mask if machine.status[u] == RUNNING else ZERO
        low, at = ZERO, -1
        while machine.status[u] == RUNNING:
            after = mask & ~low
            entry = entry_of(machine, u, after, low)
            for i in range(option_first[entry], option_first[entry + 1]):
                v = option_to[i]
                y = find(us, masks, slots, v, ZERO if machine.status[v] == FAILURE else after)
                if y != x and machine.status[v] != FAILURE:
                    if k == to.shape[0]:
                        to, bit, entries = np.append(to, to), np.append(bit, bit), np.append(entries, entries)
                    to[k], bit[k], entries[k] = y, at, entry
                    k += 1
            if rest == ZERO:
                break
            at += 1
            while rest & (ONE << np.uint64(at)) == ZERO:
                at += 1
            low = ONE << np.uint64(at)
            rest &= ~low
        first[x + 1] = k
    return first, to[:k].copy(), bit[:k].copy(), entries[:k].copy()


@jit
def follow(machine: ScoutMachine, us: Ints, masks: Masks, slots: Ints) -> Ints:
    """[L, X] the state after a step with each label."""
    labels, count = machine.next.shape[0], us.shape[0]
    delta = np.empty((labels, count), np.int32)
    mask, after = np.zeros(1, np.uint64), np.zeros(1, np.uint64)
    for label in range(labels):
        for x in range(count):
            delta[label, x] = x
            if machine.status[us[x]] == RUNNING:
                mask[0] = masks[x]
                v = machine.next[label, advance(machine, us[x], mask, label, after)]
                delta[label, x] = find(us, masks, slots, v, ZERO if machine.status[v] == FAILURE else after[0])
    return delta
