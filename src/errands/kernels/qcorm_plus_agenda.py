"""The agenda machine listed as a graph over the world's labels, for plans that look at every order (Definition 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from errands.kernels import jit
from errands.kernels.stepping import ZERO, advance
from errands.tables import FAILURE, RUNNING, SUCCESS, AgendaTable, Codes, Flags, Floats, Ints, Masks

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(29)


class Agenda(NamedTuple):
    """Nodes (numeric state, remaining subtasks) in breadth-first order; none where there are too many to list."""

    numeric: Ints
    """[n] the numeric state."""
    mask: Masks
    """[n] the subtasks that remain; none after a failure."""
    next: Ints
    """[n, L] the node after a step with label l; a terminal stays."""
    status: Codes
    """[n] RUNNING, SUCCESS or FAILURE."""
    bound: Floats
    """[n] gamma ** (fewest machine steps to success, less one): the most that an untried pair can be worth."""
    layered: bool
    """Whether every change of running node leads to a higher number, so that one backward pass plans exactly."""
    useful: Flags
    """[L] whether the label leads some node on to something other than failure."""
    fatal: Flags
    """[L] whether the label fails the task from every running node."""


@jit
def find(keys_u: Ints, keys_mask: Masks, table: Ints, u: int, mask: np.uint64) -> int:
    """The slot of a node in an open hash table of node numbers: its own, or the free one where it belongs."""
    size = np.uint64(table.shape[0] - 1)
    mixed = (mask ^ (np.uint64(u) << np.uint64(58))) * _SPREAD
    slot = (mixed ^ (mixed >> _FOLD)) & size
    while table[slot] >= 0 and (keys_u[table[slot]] != u or keys_mask[table[slot]] != mask):
        slot = (slot + np.uint64(1)) & size
    return int(slot)


@jit
def list_nodes(machine: AgendaTable, most: int) -> tuple[Ints, Masks, Ints]:
    """Numeric states, masks and next nodes of all reachable nodes; empty arrays where there are more than `most`."""
    labels = machine.label_bits.shape[0]
    numeric, mask = np.zeros(most, np.int32), np.zeros(most, np.uint64)
    following = np.zeros((most, labels), np.int32)
    size = 4
    while size < 2 * most:
        size *= 2
    table = np.full(size, -1, np.int32)
    numeric[0], mask[0] = machine.initial, machine.full
    table[find(numeric, mask, table, machine.initial, machine.full)] = 0
    count, n = 1, 0
    while n < count:
        for label in range(labels):
            following[n, label] = n
            if machine.status[numeric[n]] != RUNNING:
                continue
            entry, left, _ = advance(machine, numeric[n], mask[n], label)
            u = machine.next[entry]
            if machine.status[u] == FAILURE:
                left = ZERO
            slot = find(numeric, mask, table, u, left)
            if table[slot] < 0:
                if count == most:
                    return numeric[:0], mask[:0], following[:0]
                numeric[count], mask[count], table[slot] = u, left, count
                count += 1
            following[n, label] = table[slot]
        n += 1
    return numeric[:count].copy(), mask[:count].copy(), following[:count].copy()


@jit
def fewest_steps(following: Ints, status: Codes) -> tuple[Ints, bool]:
    """The fewest machine steps to success from each node, -1 where there is no way; and whether nodes lie in layers."""
    count, labels = following.shape
    steps = np.full(count, -1, np.int32)
    layered = True
    changed = True
    while changed:
        changed = False
        for n in range(count - 1, -1, -1):
            best = 0 if status[n] == SUCCESS else -1
            for label in range(labels):
                m = following[n, label]
                layered = layered and (m >= n or status[m] != RUNNING)
                if m != n and steps[m] >= 0 and (best < 0 or steps[m] + 1 < best):
                    best = steps[m] + 1
            if best != steps[n]:
                steps[n] = best
                changed = True
    return steps, layered


def list_agenda(machine: AgendaTable, gamma: float, most: int) -> Agenda:
    """The agenda of a lowered machine as a graph, with what follows from it for planning."""
    numeric, mask, following = list_nodes(machine, most)
    status = machine.status[numeric]
    steps, layered = fewest_steps(following, status)
    bound = np.where(steps > 0, gamma ** (steps - 1.0), 0.0)
    running = np.flatnonzero(status == RUNNING)
    moved = following[running] != running[:, None]
    failed = status[following[running]] == FAILURE
    return Agenda(numeric, mask, following, status, bound, layered, (moved & ~failed).any(0), failed.all(0))
