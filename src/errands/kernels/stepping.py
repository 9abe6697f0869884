"""One step of a finite world, one of an agenda machine, and the choice of an action: shared by every compiled loop."""

from __future__ import annotations

import numpy as np

from errands.kernels import hot
from errands.tables import AgendaTable, Floats, OrderTable, Slope, WorldTable

# Typed, as adding a plain int to a uint64 makes a float64 in compiled code.
ONE, ZERO = np.uint64(1), np.uint64(0)
UNKNOWN = -1
STATE, MACHINE, TIME, ACTION, OUTCOME, SHARED = range(6)
"""Where an agent is: the record `where` [FIELDS] of whole numbers, which every loop of a tabular learner writes to.

A compiled loop can stop after any step and be called again, on the same bytes as if it had not stopped, because all that
a step needs from the one before stands in this record (and in tables). Kernels add fields of their own from SHARED on;
learners/engines/tabular.py, which knows no kernel, uses the first five:

STATE    the world state s
MACHINE  the machine's state: its number, QCoRM's numeric state u (beside a mask), or QCoRM+'s node
TIME     steps of the episode so far; 0 says that an episode has just begun
ACTION   the action drawn for s but not yet taken, -1 for none: a loop that stops to ask the host for an outcome
         (UNKNOWN in the world's table), or for room, finds here what it had already drawn
OUTCOME  which outcome it has
"""


@hot
def lowest_bit(mask: np.uint64) -> int:
    """The position of the lowest set bit; -1 for none."""
    if mask == ZERO:
        return -1
    count = 0
    # Halving: drop the lower half where it is empty. Six tests, the same in plain Python.
    for shift in (32, 16, 8, 4, 2, 1):
        low = (ONE << np.uint64(shift)) - ONE
        if mask & low == ZERO:
            mask >>= np.uint64(shift)
            count += shift
    return count


@hot
def outcome(world: WorldTable, s: int, a: int, rng: np.random.Generator) -> int:
    """Which outcome the move has; draws a number only where there is more than one."""
    count = world.next.shape[2]
    if count == 1:
        return 0
    x = rng.random()
    o = 0
    # The last outcome is never compared: a sum of chances may end a little below 1.
    while o < count - 1 and x >= world.cumulative[s, a, o]:
        o += 1
    return o


@hot
def start(world: WorldTable, rng: np.random.Generator) -> int:
    """The state in which an episode starts; draws a number only where there is more than one."""
    count = world.starts.shape[0]
    if count == 1:
        return world.starts[0]
    x = rng.random()
    i = 0
    while i < count - 1 and x >= world.start_cumulative[i]:
        i += 1
    return world.starts[i]


@hot
def unheld(order: OrderTable, mask: np.uint64, wanted: np.uint64) -> np.uint64:
    """Those of the wanted subtasks that no rule holds back while `mask` remains."""
    rest = wanted
    # `mask` is what remains before the step: what one step completes together does not open each other.
    while rest != ZERO:
        bit = lowest_bit(rest)
        rest &= ~(ONE << np.uint64(bit))
        if order.before[bit] & mask != ZERO:
            wanted &= ~(ONE << np.uint64(bit))
    for d in range(order.room.shape[0]):
        first, last = order.part_first[order.enough.shape[0] + d], order.part_first[order.enough.shape[0] + d + 1]
        begun = 0
        for i in range(first, last):
            # Begun and not done: some of its subtasks remain, but not all.
            begun += mask & order.part[i] != ZERO and mask & order.part[i] != order.part[i]
        if begun >= order.room[d]:
            for i in range(first, last):
                # There is no room for another part, so those not begun are held back; those under way go on.
                if mask & order.part[i] == order.part[i]:
                    wanted &= ~order.part[i]
    return wanted


@hot
def settled(order: OrderTable, mask: np.uint64) -> np.uint64:
    """What remains of a mask once every choice of which enough is done has been closed; inner choices come first."""
    for c in range(order.enough.shape[0]):
        # Inner first, since closing an inner choice can be what finishes a part of the outer one.
        done, every = 0, ZERO
        for i in range(order.part_first[c], order.part_first[c + 1]):
            done += mask & order.part[i] == ZERO
            every |= order.part[i]
        if done >= order.enough[c]:
            mask &= ~every
    return mask


@hot
def open_subtasks(machine: AgendaTable, u: int, mask: np.uint64) -> np.uint64:
    """The subtasks that a step from (u, mask) could complete."""
    wanted = machine.active[u] & mask
    return unheld(machine.order, mask, wanted) if machine.order.ruled else wanted


@hot
def advance(machine: AgendaTable, u: int, mask: np.uint64, label: int) -> tuple[int, np.uint64, np.uint64]:
    """The entry that a step with this label reads, the mask after it, and the mask of the subtasks completed."""
    hit = machine.label_bits[label] & machine.active[u] & mask
    low = ZERO
    if hit != ZERO and machine.order.ruled:
        hit = unheld(machine.order, mask, hit)
    if hit != ZERO:
        # x & (~x + 1) leaves the lowest set bit of x. One bit is the common case, and needs no loop over variables.
        low = hit & (~hit + ONE)
        if low != hit:
            # Several are true: the first of each numeric variable is completed, the others wait (Assumption 5).
            for v in range(machine.variable_bits.shape[0]):
                own = hit & machine.variable_bits[v]
                if own != ZERO:
                    low |= own & (~own + ONE)
            # Bits that wait for the end of a visit belong to no variable: all of them that hold are done.
            low |= hit & machine.order.ends
        mask &= ~low
        if machine.order.ruled:
            mask = settled(machine.order, mask)
    # What the guards see is how each variable stands after the step. Nothing left reads as reached,
    # also in later steps, so this is asked first; then whether this step took something away.
    q = 0
    scale = 1
    for i in range(machine.first[u], machine.first[u + 1]):
        bits = machine.variable_bits[machine.variables[i]]
        if mask & bits == ZERO:
            q += 2 * scale
        elif low & bits != ZERO:
            q += scale
        scale *= 3
    return machine.offset[u] + label * machine.width[u] + q, mask, low


@hot
def completes(machine: AgendaTable, entry: int, completed: np.uint64, k: int) -> bool:
    """Whether a step that read this entry and completed these subtasks has completed the open objective k."""
    # An objective is completed by the transition itself (Boolean) or by one of the subtasks that it took.
    if machine.fired[entry] == k:
        return True
    while completed != ZERO:
        bit = lowest_bit(completed)
        if machine.subtask_objective[bit] == k:
            return True
        completed &= ~(ONE << np.uint64(bit))
    return False


@hot
def standing(machine: AgendaTable, u: int, mask: np.uint64) -> int:
    """The row of Boolean alternatives open in (u, mask)."""
    # No step has been taken, so no digit is 1: a variable is at its bound (2) or not (0).
    q = 0
    scale = 1
    for i in range(machine.first[u], machine.first[u + 1]):
        if mask & machine.variable_bits[machine.variables[i]] == ZERO:
            q += 2 * scale
        scale *= 3
    return machine.alternative_row[u] + q


@hot
def reward(world: WorldTable, factor: float, signal: int, s: int, a: int, o: int) -> float:
    """The reward of an entry: its constant, or its factor times the signal of this outcome."""
    return factor if signal < 0 else factor * world.signal[signal, s, a, o]


@hot
def best_action(q: Floats, i: int, j: int) -> int:
    """The first action of highest value in q[i, :, j]: the deterministic choice of evaluations."""
    best = 0
    for a in range(1, q.shape[1]):
        if q[i, a, j] > q[i, best, j]:
            best = a
    return best


@hot
def best_value(q: Floats, i: int, j: int) -> float:
    """The highest value in q[i, :, j]."""
    best = q[i, 0, j]
    for a in range(1, q.shape[1]):
        if q[i, a, j] > best:
            best = q[i, a, j]
    return best


@hot
def scheduled(line: Slope, count: int) -> float:
    """The value of a schedule at a count."""
    return min(max(line.start + line.slope * (count - line.first), line.low), line.high)


@hot
def explore(q: Floats, i: int, j: int, epsilon: float, rng: np.random.Generator) -> int:
    """A random action with probability epsilon, else a highest one in q[i, :, j], ties broken at random."""
    count = q.shape[1]
    # One draw for both questions: below epsilon x / epsilon is uniform again, above it the rest is.
    x = rng.random()
    if x < epsilon:
        return min(int(x / epsilon * count), count - 1)
    best, pick, ties = q[i, 0, j], 0, 1
    # Ties matter: values that start at 0 all tie, and learning then needs them broken at random.
    for a in range(1, count):
        if q[i, a, j] > best:
            best, pick, ties = q[i, a, j], a, 1
        elif q[i, a, j] == best:
            ties += 1
    if ties > 1:
        rank = min(int((x - epsilon) / (1.0 - epsilon) * ties), ties - 1)
        # `pick` is the first of the highest, so that no tie stands before it.
        for a in range(pick, count):
            if q[i, a, j] == best:
                if rank == 0:
                    return a
                rank -= 1
    return pick
