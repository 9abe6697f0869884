"""The agenda states that a task can be in, numbered without building a machine (Definition 3), and where labels lead."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from errands.kernels import hot
from errands.kernels.hashing import node_slot
from errands.kernels.stepping import settled, unheld
from errands.learners.scout.kernel.memory import ONE, ZERO, ScoutMachine, advance, entry_of
from errands.tables import FAILURE, RUNNING, Codes, Ints, Masks

NO_ROOM, NO_ROOM_TO_MOVE = -1, -2


class AgendaStates(NamedTuple):
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
    """[X + 1] slice of the moves of x: their target, the mask of subtasks completed, the entry read."""
    to: Ints
    done: Masks
    entry: Ints


@hot
def situations(machine: ScoutMachine, u: int, mask: np.uint64) -> int:
    """How many sets of subtasks one step can complete in (u, mask): nothing or one of each variable, any visit's end."""
    count = 1
    open_ = open_of(machine, u, mask)
    for i in range(machine.first[u], machine.first[u + 1]):
        count *= 1 + bits_in(open_ & machine.variable_bits[machine.variables[i], 0])
    return count << bits_in(open_ & machine.order.ends)


@hot
def situation(machine: ScoutMachine, u: int, open_: np.uint64, number: int, count: int) -> np.uint64:
    """The subtasks of a numbered situation: a digit for each variable, 0 for none, k for its k-th open subtask.

    Binary digits for the visits that can end follow. Mostly all that is open belongs to one variable, and `count`, the
    number of situations, is one more than its bits.
    """
    # Two bit tricks: x & (x - 1) drops the lowest set bit of x, x & (~x + 1) keeps only it.
    low = ZERO
    # Two sources of choice multiply, and (1 + a)(1 + b) > 1 + a + b: equality means that there is only one.
    if count == 1 + bits_in(open_):
        for _ in range(number - 1):
            open_ &= open_ - ONE
        return open_ & (~open_ + ONE) if number > 0 else low
    for i in range(machine.first[u], machine.first[u + 1]):
        rest = open_ & machine.variable_bits[machine.variables[i], 0]
        size = 1 + bits_in(rest)
        for _ in range(number % size - 1):
            rest &= rest - ONE
        if number % size > 0:
            low |= rest & (~rest + ONE)
        number //= size
    rest = open_ & machine.order.ends
    while rest != ZERO:
        if number % 2 == 1:
            low |= rest & (~rest + ONE)
        rest &= rest - ONE
        number //= 2
    return low


@hot
def bits_in(mask: np.uint64) -> int:
    """How many bits are set."""
    count = 0
    while mask != ZERO:
        mask &= mask - ONE
        count += 1
    return count


@hot
def open_of(machine: ScoutMachine, u: int, mask: np.uint64) -> np.uint64:
    """The subtasks that a step from (u, mask) could complete; one word."""
    wanted = machine.active[u, 0] & mask
    return unheld(machine.order, mask, wanted) if machine.order.ruled else wanted


@hot
def left_after(machine: ScoutMachine, mask: np.uint64, low: np.uint64) -> np.uint64:
    """What remains of a mask once `low` is completed; one word."""
    return settled(machine.order, mask & ~low) if machine.order.ruled else mask & ~low


@hot
def enumerate_states(machine: ScoutMachine, option_first: Ints, option_to: Ints, states: AgendaStates) -> int:
    """Number all states reachable by symbolic moves, with the moves; how many there are, NO_ROOM or NO_ROOM_TO_MOVE.

    Breadth-first: x runs behind `count`, and a state gets its number when it is first met. In a machine without cycles
    every move then leads to a higher number, and bounds need one sweep from the last state to the first.
    option_to[option_first[e] : option_first[e + 1]] are the numeric states that entry e can lead to under some features.
    """
    us, masks, slots = states.u, states.mask, states.slots
    us[0], masks[0] = machine.initial, machine.full[0]
    slots[node_slot(us, masks, slots, machine.initial, machine.full[0])] = 0
    x, count, k = 0, 1, 0
    while x < count:
        u, mask = us[x], masks[x]
        states.status[x] = machine.status[u]
        # Ended states are numbered too, but nothing leads on from them.
        open_, ways = open_of(machine, u, mask), situations(machine, u, mask) if machine.status[u] == RUNNING else 0
        for i in range(ways):
            low = situation(machine, u, open_, i, ways)
            after = left_after(machine, mask, low)
            entry = entry_of(machine, u, after, low)
            for j in range(option_first[entry], option_first[entry + 1]):
                v = option_to[j]
                # A failed task is one state for each v, whatever remained of it.
                left = ZERO if machine.status[v] == FAILURE else after
                slot = node_slot(us, masks, slots, v, left)
                if slots[slot] < 0:
                    # Bounds on some of the states would prove nothing; the caller may ask for more.
                    if count == us.shape[0]:
                        return NO_ROOM
                    us[count], masks[count], slots[slot] = v, left, count
                    count += 1
                # Moves feed lower bounds on the way to success, to which neither standing still nor failing leads.
                if slots[slot] != x and machine.status[v] != FAILURE:
                    if k == states.to.shape[0]:
                        return NO_ROOM_TO_MOVE
                    states.to[k], states.done[k], states.entry[k] = slots[slot], low, entry
                    k += 1
        x += 1
        states.first[x] = k
    return count


@hot
def follow(machine: ScoutMachine, us: Ints, masks: Masks, slots: Ints, delta: Ints, mask: Masks, after: Masks) -> None:
    """Write into delta [L, X] the state after a step with each label."""
    for label in range(delta.shape[0]):
        for x in range(delta.shape[1]):
            # Ended states stay where they are.
            delta[label, x] = x
            if machine.status[us[x]] == RUNNING:
                # `advance` reads masks as arrays of words; agenda states are numbered only where one word is enough.
                mask[0] = masks[x]
                v = machine.next[label, advance(machine, us[x], mask, label, after)]
                delta[label, x] = slots[node_slot(us, masks, slots, v, ZERO if machine.status[v] == FAILURE else after[0])]
