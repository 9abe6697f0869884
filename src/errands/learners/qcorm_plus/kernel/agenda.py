"""The agenda machine listed as a graph over the world's labels, for plans that look at every order (Definition 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from errands.kernels import jit
from errands.kernels.hashing import node_slot
from errands.kernels.stepping import ZERO, advance
from errands.tables import FAILURE, RUNNING, SUCCESS, AgendaTable, Codes, Flags, Floats, Ints, Masks


class Agenda(NamedTuple):
    """Nodes (numeric state, remaining subtasks) in breadth-first order; node 0 is the start."""

    numeric: Ints
    """[n] the numeric state."""
    mask: Masks
    """[n] the subtasks that remain; none after a failure."""
    slots: Ints
    """[h] open hash table of node numbers, -1 for a free slot."""
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
def list_nodes(machine: AgendaTable, most: int) -> tuple[Ints, Masks, Ints, Ints]:
    """Numeric states, masks, hash table and next nodes of all reachable nodes; nothing where there are over `most`."""
    labels = machine.label_bits.shape[0]
    numeric, mask = np.zeros(most, np.int32), np.zeros(most, np.uint64)
    following = np.zeros((most, labels), np.int32)
    size = 4
    # At least twice as many slots as nodes: the hash table is never more than half full.
    while size < 2 * most:
        size *= 2
    slots = np.full(size, -1, np.int32)
    numeric[0], mask[0] = machine.initial, machine.full
    slots[node_slot(numeric, mask, slots, machine.initial, machine.full)] = 0
    count, n = 1, 0
    # The arrays are their own queue: nodes before n are done, those from n to count wait.
    while n < count:
        for label in range(labels):
            # Terminal nodes keep this: they lead to themselves.
            following[n, label] = n
            if machine.status[numeric[n]] != RUNNING:
                continue
            entry, left, _ = advance(machine, numeric[n], mask[n], label)
            u = machine.next[entry]
            if machine.status[u] == FAILURE:
                # What remains after a failure does not matter: one node for all failures in the same numeric state.
                left = ZERO
            slot = node_slot(numeric, mask, slots, u, left)
            if slots[slot] < 0:
                if count == most:
                    # Empty arrays, not None: a compiled function has one type of result.
                    return numeric[:0], mask[:0], slots[:0], following[:0]
                numeric[count], mask[count], slots[slot] = u, left, count
                count += 1
            following[n, label] = slots[slot]
        n += 1
    return numeric[:count].copy(), mask[:count].copy(), slots, following[:count].copy()


@jit
def fewest_steps(following: Ints, status: Codes) -> tuple[Ints, bool]:
    """The fewest machine steps to success from each node, -1 where there is no way; and whether nodes lie in layers."""
    count, labels = following.shape
    steps = np.full(count, -1, np.int32)
    layered = True
    changed = True
    while changed:
        changed = False
        # Machines mostly lead on to higher numbers, so that going backwards one pass finds nearly everything.
        for n in range(count - 1, -1, -1):
            best = 0 if status[n] == SUCCESS else -1
            for label in range(labels):
                m = following[n, label]
                # Staying does not break the layers, nor does an end, whose value is known without a plan.
                layered = layered and (m >= n or status[m] != RUNNING)
                if m != n and steps[m] >= 0 and (best < 0 or steps[m] + 1 < best):
                    best = steps[m] + 1
            if best != steps[n]:
                steps[n] = best
                changed = True
    return steps, layered


def list_agenda(machine: AgendaTable, gamma: float, most: int, whole: bool = True) -> Agenda | None:
    """The agenda of a lowered machine as a graph, None above `most` nodes; `whole`: the world has no labels but these."""
    numeric, mask, slots, following = list_nodes(machine, most)
    if not len(numeric):
        return None
    status = machine.status[numeric]
    steps, layered = fewest_steps(following, status)
    # A label still unknown may lead to success at once, so nothing below 1 bounds what an untried pair can give.
    # One step less: the untried pair may itself make the first of the machine's steps.
    bound = np.where(steps > 0, gamma ** (steps - 1.0), 0.0) if whole else np.where(status == RUNNING, 1.0, 0.0)
    running = np.flatnonzero(status == RUNNING)
    # [running nodes, L], both of them.
    moved = following[running] != running[:, None]
    failed = status[following[running]] == FAILURE
    useful, fatal = (moved & ~failed).any(0), failed.all(0)
    return Agenda(numeric, mask, slots, following, status, bound, layered, useful, fatal)
