"""The order: exact over listed agenda nodes and landmarks, or a local search over subtasks where they are too many."""

from __future__ import annotations

import numpy as np

from errands.kernels import hot, jit
from errands.kernels.local_search import tour
from errands.kernels.stepping import ONE, TIME, ZERO, advance, lowest_bit, open_subtasks, unheld
from errands.learners.qcorm_plus.kernel import memory as me
from errands.learners.qcorm_plus.kernel.agenda import Agenda
from errands.tables import FAILURE, RUNNING, SUCCESS, AgendaTable, Codes, Flags, Floats, Ints

# Relative differences of values below TINY are rounding. WORK: see `due`.
TINY = 1e-12
WORK = 16


@hot
def after(following: Ints, status: Codes, label: Ints, ends: Flags, worth: Floats, n: int, k: int) -> float:
    """What arriving at a landmark is worth in node n: nothing where the node ignores it."""
    m = following[n, label[k]]
    if m == n or status[m] == FAILURE:
        return 0.0
    if status[m] == SUCCESS:
        return 1.0
    # An end of the world that is not a success leads nowhere; worth -1 is a pair that no plan has met.
    return 0.0 if ends[k] else max(worth[m, k], 0.0)


@jit
def legs(memory: me.Memory) -> Floats:
    """[K, K] the best value of each landmark from the cells of each landmark."""
    count = memory.position[me.LANDMARKS]
    reach = np.zeros((count, count))
    for m in range(memory.position[me.MARKS]):
        x = memory.mark_landmark[m]
        for k in range(count):
            # The best cell of a shared landmark: too high for the others, which is what corrections fix.
            reach[x, k] = max(reach[x, k], memory.v[memory.mark_cell[m], k])
    return reach


@jit
def plan(agenda: Agenda, memory: me.Memory) -> None:
    """Worth and choice of every node at every landmark that leads to it, from the end to the beginning."""
    position, worth, choice, label, ends = memory.position, memory.worth, memory.choice, memory.label, memory.ends
    following, status = agenda.next, agenda.status
    count, nodes = position[me.LANDMARKS], following.shape[0]
    reach = legs(memory)
    # First which pairs (node, landmark just reached) can occur, 0 for -1; only these are planned.
    worth[:, :count] = -1.0
    for n in range(nodes):
        if status[n] == RUNNING:
            for k in range(1, count):
                m = following[n, label[k]]
                if m != n and status[m] == RUNNING and not ends[k]:
                    worth[m, k] = 0.0
    weight, open_ = np.zeros(count), np.zeros(count, np.int64)
    changed = True
    while changed:
        changed = False
        # Backwards: in layers every node that n leads to is final by now, and one pass is enough.
        for n in range(nodes - 1, -1, -1):
            if status[n] != RUNNING:
                continue
            # Place 0 is STAR's while pairs are untried (open_[0] is then 0); else the first landmark overwrites it.
            weight[0], some = agenda.bound[n], int(position[me.UNTRIED] > 0)
            for k in range(1, count):
                w = after(following, status, label, ends, worth, n, k)
                if w > 0.0:
                    weight[some], open_[some] = w, k
                    some += 1
            for x in range(1, count):
                if worth[n, x] < 0.0:
                    continue
                best, chosen, old = 0.0, 0, choice[n, x]
                for i in range(some):
                    value = weight[i] * reach[x, open_[i]]
                    # Ties keep the old choice, so that the agent does not change its mind without a reason.
                    if value > best or (value == best and open_[i] == old):
                        best, chosen = value, open_[i]
                if best != worth[n, x]:
                    worth[n, x], choice[n, x] = best, chosen
                    changed = not agenda.layered
    position[me.STALE] = position[me.TOUCHED] = 0
    position[me.PLANNED] = position[me.STEP]


@hot
def look(agenda: Agenda, memory: me.Memory, n: int, s: int) -> float:
    """List the landmarks that lead on from a node with their worth; the best value from cell s, and its landmark."""
    following, status, label, ends, worth = agenda.next, agenda.status, memory.label, memory.ends, memory.worth
    position, weight, open_, v = memory.position, memory.weight, memory.open, memory.v
    some, best, goal = 0, 0.0, me.STAR
    # Every weight is written, zeros too, as they are left over from another node.
    for k in range(position[me.LANDMARKS]):
        w = after(following, status, label, ends, worth, n, k) if k != me.STAR else 0.0
        if k == me.STAR and position[me.UNTRIED] > 0:
            w = agenda.bound[n]
        weight[k] = w
        if w > 0.0:
            open_[some] = k
            some += 1
            if w * v[s, k] > best:
                best, goal = w * v[s, k], k
    position[me.OPEN], position[me.GOAL] = some, goal
    return best


@jit
def kept(agenda: Agenda, memory: me.Memory, n: int) -> bool:
    """Whether the planned way on is still worth what it was: then, as values only fall, no other order is better."""
    position, label, k = memory.position, memory.label, memory.position[me.GOAL]
    # As many marks as landmarks (STAR has none): then mark k - 1 is landmark k's, as they were made together.
    unshared = position[me.MARKS] == position[me.LANDMARKS] - 1
    # Multiply the legs along the plan as they are now, until success or STAR, and compare with what was planned.
    planned, now = memory.weight[k], 1.0
    while k != me.STAR and now >= planned * (1.0 - TINY):
        n = agenda.next[n, label[k]]
        if agenda.status[n] != RUNNING:
            break
        following, leg = memory.choice[n, k], 0.0
        for i in range(k - 1 if unshared else 0, k if unshared else position[me.MARKS]):
            if memory.mark_landmark[i] == k:
                leg = max(leg, memory.v[memory.mark_cell[i], following])
        now *= leg
        k = following
        if k == me.STAR:
            now *= agenda.bound[n] if position[me.UNTRIED] > 0 else 0.0
    return now >= planned * (1.0 - TINY)


@jit
def due(agenda: Agenda, memory: me.Memory, n: int) -> bool:
    """Whether the order must be planned anew before going on from node n."""
    position = memory.position
    if position[me.RANDOM] == 1:
        # Values of a random world never stand still: plan so rarely that its cost is spread over the steps between.
        return position[me.STEP] - position[me.PLANNED] >= agenda.next.shape[0] * position[me.LANDMARKS] // WORK
    return position[me.STALE] == 1 or not kept(agenda, memory, n)


# ANY: no particular subtask. FAR: steps of a leg not known yet, finite so that sums can be compared.
# GRAIN: parts of a step to which lengths are rounded.
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
def ways(machine: AgendaTable, memory: me.Memory, reach: Floats, mask: np.uint64, wanted: int) -> Floats:
    """[U, K] the value of completing a subtask from each landmark in each numeric state, passing Boolean gates only.

    For ANY, success and states in which some subtask can be completed count as well.
    """
    count, label = memory.position[me.LANDMARKS], memory.label
    states = machine.status.shape[0]
    value = np.zeros((states, count))
    # Values rise from 0 and no leg is above 1, so that going round in a circle gains nothing, and this ends.
    # The mask stands still, as only steps that complete no subtask are chained.
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
    # Completing another subtask is worth nothing: it would change the mask that this table is made for.
    if completed != ZERO:
        return 1.0 if wanted == ANY or completed & (ONE << np.uint64(wanted)) != ZERO else 0.0
    if wanted == ANY and (machine.status[target] == SUCCESS or open_subtasks(machine, target, mask) != ZERO):
        return 1.0
    return value[target, k]


@jit
def next_subtask(machine: AgendaTable, memory: me.Memory) -> int:
    """The first planned subtask that remains and that no rule holds back; ANY where there is none."""
    left = unheld(machine.order, memory.mask[0], memory.mask[0]) if machine.order.ruled else memory.mask[0]
    for j in memory.order:
        if j >= 0 and left & (ONE << np.uint64(j)) != ZERO:
            return int(j)
    return ANY


@jit
def aim(machine: AgendaTable, memory: me.Memory, s: int) -> float:
    """Weigh the landmarks on the way to the next planned subtask from cell s; the best value."""
    position, mask = memory.position, memory.mask[0]
    reach = legs(memory)
    best = 0.0
    # If no known way leads to the planned subtask, anything that gets the machine on will do.
    for wanted in (next_subtask(machine, memory), ANY):
        value = ways(machine, memory, reach, mask, wanted)
        some, position[me.GOAL] = 0, me.STAR
        for k in range(position[me.LANDMARKS]):
            w = arriving(machine, value, memory.label, position[me.NUMERIC], mask, wanted, k) if k != me.STAR else 0.0
            if k == me.STAR and position[me.UNTRIED] > 0:
                # No bound is known without a list of nodes: an untried pair may give everything.
                w = 1.0
            memory.weight[k] = w
            if w > 0.0:
                memory.open[some] = k
                some += 1
                if w * memory.v[s, k] > best:
                    best, position[me.GOAL] = w * memory.v[s, k], k
        position[me.OPEN] = some
        if best > 0.0:
            break
    return best


@jit
def plan_tour(
    machine: AgendaTable, memory: me.Memory, settings: me.Settings, s: int, rng: np.random.Generator
) -> None:
    """Order the subtasks that can be completed from here on by the learnt values of the legs between them."""
    position, label, mask = memory.position, memory.label, memory.mask[0]
    count, total = position[me.LANDMARKS], memory.order.shape[0]
    reach = legs(memory)
    # For each subtask the first landmark that completes it, and the numeric state in which that leaves the machine.
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
    # Values are gamma ** steps; the search adds up steps, and need not end anywhere, so its last costs are 0.
    for j in range(items.shape[0]):
        value = ways(machine, memory, reach, mask, items[j])
        for k in range(1, count):
            x = arriving(machine, value, label, position[me.NUMERIC], mask, items[j], k) * memory.v[s, k]
            if x > 0.0:
                first[j] = min(first[j], steps(x, settings.gamma))
        for i in range(items.shape[0]):
            x = value[after[items[i]], place[items[i]]]
            if i != j and x > 0.0:
                between[i, j] = steps(x, settings.gamma)
    memory.order[:] = -1
    # While pairs are untried legs still change: a rough order is enough.
    kicks = settings.kicks if position[me.UNTRIED] == 0 else 0
    path = tour(first, between, np.zeros(items.shape[0]), kicks, rng)
    for i in range(path.shape[0]):
        memory.order[i] = items[path[i]]
    position[me.STALE] = position[me.TOUCHED] = 0
    position[me.PLANNED] = position[me.STEP]


@jit
def take_aim(
    machine: AgendaTable, memory: me.Memory, settings: me.Settings, s: int, rng: np.random.Generator
) -> float:
    """Aim from cell s, ordering the subtasks anew at the start of an episode where something has changed."""
    position = memory.position
    # Only at the start of an episode: an order made on the way would leave out what is already done.
    rest = LEISURE if position[me.RANDOM] == 1 else 0
    if position[TIME] == 0 and position[me.STALE] + position[me.TOUCHED] > 0 and position[me.STEP] - position[me.PLANNED] >= rest:
        plan_tour(machine, memory, settings, s, rng)
    return aim(machine, memory, s)
