"""The order where the agenda is too large to be listed: a local search over subtasks, legs through Boolean gates."""

from __future__ import annotations

import numpy as np

from errands.kernels import jit
from errands.kernels.local_search import tour
from errands.kernels.qcorm_plus_memory import (
    GOAL,
    LANDMARKS,
    NUMERIC,
    OPEN,
    PLANNED,
    RANDOM,
    STALE,
    STAR,
    STEP,
    TIME,
    TOUCHED,
    UNTRIED,
    Memory,
    Settings,
)
from errands.kernels.qcorm_plus_plan import legs
from errands.kernels.stepping import ONE, ZERO, advance, lowest_bit, open_subtasks, unheld
from errands.tables import FAILURE, RUNNING, SUCCESS, AgendaTable, Floats, Ints

ANY = -1
FAR = 1e6
GRAIN = 1e6
LEISURE = 5_000
"""Steps between two local searches in a random world, where values never stand still."""


@jit
def steps(value: float, gamma: float) -> float:
    """The steps that a value stands for, rounded: logarithms differ in their last bit between compilers."""
    return np.floor(np.log(value) / np.log(gamma) * GRAIN + 0.5) / GRAIN


@jit
def gates(machine: AgendaTable, label: Ints, u: int, mask: np.uint64, k: int) -> tuple[int, np.uint64]:
    """Where landmark k leads from (u, mask), -1 for nowhere or to failure, and the subtasks that it completes."""
    entry, _, completed = advance(machine, u, mask, label[k])
    target = int(machine.next[entry])
    if machine.status[target] == FAILURE or (target == u and completed == ZERO):
        return -1, ZERO
    return int(target), completed


@jit
def ways(machine: AgendaTable, memory: Memory, reach: Floats, mask: np.uint64, wanted: int) -> Floats:
    """[U, K] the value of completing a subtask from each landmark in each numeric state, passing Boolean gates only.

    For ANY, success and states in which some subtask can be completed count as well.
    """
    count, label = memory.where[LANDMARKS], memory.label
    states = machine.status.shape[0]
    value = np.zeros((states, count))
    changed = True
    while changed:
        changed = False
        for u in range(states):
            if machine.status[u] != RUNNING:
                continue
            for k in range(1, count):
                w = arriving(machine, value, label, u, mask, wanted, k)
                if w == 0.0:
                    continue
                for x in range(1, count):
                    if w * reach[x, k] > value[u, x]:
                        value[u, x] = w * reach[x, k]
                        changed = True
    return value


@jit
def arriving(machine: AgendaTable, value: Floats, label: Ints, u: int, mask: np.uint64, wanted: int, k: int) -> float:
    """What arriving at landmark k in (u, mask) is worth for completing the wanted subtask."""
    target, completed = gates(machine, label, u, mask, k)
    if target < 0:
        return 0.0
    if completed != ZERO:
        return 1.0 if wanted == ANY or completed & (ONE << np.uint64(wanted)) != ZERO else 0.0
    if wanted == ANY and (machine.status[target] == SUCCESS or open_subtasks(machine, target, mask) != ZERO):
        return 1.0
    return value[target, k]


@jit
def next_subtask(machine: AgendaTable, memory: Memory) -> int:
    """The first planned subtask that remains and that no rule holds back; ANY where there is none."""
    left = unheld(machine.order, memory.mask[0], memory.mask[0]) if machine.order.ruled else memory.mask[0]
    for j in memory.order:
        if j >= 0 and left & (ONE << np.uint64(j)) != ZERO:
            return int(j)
    return ANY


@jit
def aim(machine: AgendaTable, memory: Memory, s: int) -> float:
    """Weigh the landmarks on the way to the next planned subtask from cell s; the best value."""
    where, mask = memory.where, memory.mask[0]
    reach = legs(memory)
    best = 0.0
    for wanted in (next_subtask(machine, memory), ANY):
        value = ways(machine, memory, reach, mask, wanted)
        some, where[GOAL] = 0, STAR
        for k in range(where[LANDMARKS]):
            w = arriving(machine, value, memory.label, where[NUMERIC], mask, wanted, k) if k != STAR else 0.0
            if k == STAR and where[UNTRIED] > 0:
                w = 1.0
            memory.weight[k] = w
            if w > 0.0:
                memory.open[some] = k
                some += 1
                if w * memory.v[s, k] > best:
                    best, where[GOAL] = w * memory.v[s, k], k
        where[OPEN] = some
        if best > 0.0:
            break
    return best


@jit
def plan_tour(
    machine: AgendaTable, memory: Memory, settings: Settings, s: int, rng: np.random.Generator
) -> None:
    """Order the subtasks that can be completed from here on by the learnt values of the legs between them."""
    where, label, mask = memory.where, memory.label, memory.mask[0]
    count, total = where[LANDMARKS], memory.order.shape[0]
    reach = legs(memory)
    place, after = np.full(total, -1, np.int64), np.zeros(total, np.int64)
    for u in range(machine.status.shape[0]):
        for k in range(1, count):
            target, completed = gates(machine, label, u, mask, k) if machine.status[u] == RUNNING else (-1, ZERO)
            while completed != ZERO:
                bit = lowest_bit(completed)
                completed &= ~(ONE << np.uint64(bit))
                if place[bit] < 0:
                    place[bit], after[bit] = k, target
    items = np.flatnonzero(place >= 0)
    first, between = np.full(items.shape[0], FAR), np.full((items.shape[0], items.shape[0]), FAR)
    for j in range(items.shape[0]):
        value = ways(machine, memory, reach, mask, items[j])
        for k in range(1, count):
            x = arriving(machine, value, label, where[NUMERIC], mask, items[j], k) * memory.v[s, k]
            if x > 0.0:
                first[j] = min(first[j], steps(x, settings.gamma))
        for i in range(items.shape[0]):
            x = value[after[items[i]], place[items[i]]]
            if i != j and x > 0.0:
                between[i, j] = steps(x, settings.gamma)
    memory.order[:] = -1
    kicks = settings.kicks if where[UNTRIED] == 0 else 0
    path = tour(first, between, np.zeros(items.shape[0]), kicks, rng)
    for i in range(path.shape[0]):
        memory.order[i] = items[path[i]]
    where[STALE] = where[TOUCHED] = 0
    where[PLANNED] = where[STEP]


@jit
def take_aim(
    machine: AgendaTable, memory: Memory, settings: Settings, s: int, rng: np.random.Generator
) -> float:
    """Aim from cell s, ordering the subtasks anew at the start of an episode where something has changed."""
    where = memory.where
    rest = LEISURE if where[RANDOM] == 1 else 0
    if where[TIME] == 0 and where[STALE] + where[TOUCHED] > 0 and where[STEP] - where[PLANNED] >= rest:
        plan_tour(machine, memory, settings, s, rng)
    return aim(machine, memory, s)
