"""The order: exact over agenda nodes and landmarks."""

from __future__ import annotations

import numpy as np

from errands.kernels import hot, jit
from errands.learners.qcorm_plus.kernel import memory as me
from errands.learners.qcorm_plus.kernel.agenda import Agenda
from errands.tables import FAILURE, RUNNING, SUCCESS, Codes, Flags, Floats, Ints

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
