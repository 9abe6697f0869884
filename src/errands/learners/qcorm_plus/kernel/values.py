"""The values of landmarks, learnt from every step and replayed afterwards, and corrections where they promise too much."""

from __future__ import annotations

import numpy as np

from errands.kernels import hot, jit
from errands.kernels.hashing import slot_of
from errands.learners.qcorm_plus.kernel import memory as me
from errands.learners.qcorm_plus.kernel.agenda import Agenda
from errands.learners.qcorm_plus.kernel.plan import TINY, after
from errands.tables import RUNNING, SUCCESS, Floats, Ints


@hot
def arrival(head: Ints, mark_code: Ints, mark_next: Ints, mark_landmark: Ints, s: int, code: int) -> int:
    """The landmark reached by entering a cell with this label code; 0 where none is known."""
    # A cell has few marks, so its list is short. 0 is STAR, which is no place, hence `none`.
    m = head[s]
    while m >= 0 and mark_code[m] != code:
        m = mark_next[m]
    return mark_landmark[m] if m >= 0 else 0


@jit
def sight(memory: me.Memory, most: int, s: int, code: int) -> int:
    """Mark a cell whose useful label is seen for the first time; the landmark that stands for it."""
    position, k = memory.position, 0
    label, ended = code // 2, code % 2 == 1
    for j in range(1, position[me.LANDMARKS]):
        if memory.label[j] == label and memory.ends[j] == ended:
            k = j
    # A label seen for the first time gets a landmark even beyond `most`: plans could not go there otherwise.
    if k == 0 or position[me.LANDMARKS] < most:
        k = position[me.LANDMARKS]
        position[me.LANDMARKS] += 1
        memory.label[k], memory.ends[k] = label, ended
    m = position[me.MARKS]
    position[me.MARKS] += 1
    memory.mark_cell[m], memory.mark_code[m], memory.mark_landmark[m] = s, code, k
    # Put before the cell's other marks.
    memory.mark_next[m] = memory.head[s]
    memory.head[s] = m
    position[me.STALE] = 1
    # Said when the last place is taken, so that the step in hand can be finished before the host makes room.
    if position[me.LANDMARKS] == memory.label.shape[0] or position[me.MARKS] == memory.mark_cell.shape[0]:
        position[me.FULL] = 1
    return k


@hot
def lift(
    q: Floats, v: Floats, count: int, s: int, a: int, s2: int, reached: int, fatal: bool,
    gamma: float, rate: float, least: float,
) -> bool:
    """Pull the pair's values of all landmarks to what the step showed; True where one of them changed."""
    changed = False
    # STAR needs no rule of its own: an untried pair keeps the value it began with, gamma, and trying it
    # brings in the next cell's, so that STAR's value is gamma ** (steps to the nearest untried pair).
    factor = 0.0 if fatal else gamma
    for k in range(count):
        target = factor * v[s2, k]
        # Reached counts even where the step is fatal: success may lie there.
        if k == reached and k > 0:
            target = gamma
        old = q[s, a, k]
        # Taken whole, not as old + (target - old), whose last bit may differ: replays are to come to rest.
        new = target if rate == 1.0 else old + rate * (target - old)
        if new < least:
            new = 0.0
        if new != old:
            q[s, a, k] = new
            changed = True
    # Once for all landmarks, after q: where s2 is s, all targets above are from before the step.
    if changed:
        for k in range(count):
            best = q[s, 0, k]
            for b in range(1, q.shape[1]):
                best = max(best, q[s, b, k])
            v[s, k] = best
    return changed


@jit
def replay_backwards(memory: me.Memory, settings: me.Settings) -> None:
    """Learn from recent steps again, the last first, until nothing changes: for worlds whose moves are certain."""
    position, trace, q, v = memory.position, memory.trace, memory.q, memory.v
    size, count, least = trace.shape[0], position[me.LANDMARKS], memory.numbers[me.LEAST]
    steps = min(position[me.STEP], size, settings.backwards)
    for _ in range(settings.passes):
        changed = False
        # Last step first: one pass carries a value back along the whole way that led to it.
        for i in range(1, steps + 1):
            t = (position[me.STEP] - i) & (size - 1)
            s, a, s2 = int(trace[t, 0]), int(trace[t, 1]), int(trace[t, 2])
            if lift(q, v, count, s, a, s2, trace[t, 3], trace[t, 4] != 0, settings.gamma, 1.0, least):
                changed = True
        if not changed:
            break
        # Some leg may have changed; which one is not kept track of here.
        position[me.TOUCHED] = 1


@hot
def replay_some(
    q: Floats, v: Floats, updates: Ints, trace: Ints, count: int, have: int, replays: int, gamma: float,
    horizon: float, rng: np.random.Generator,
) -> None:
    """Learn again from some recent steps, drawn at random: for random worlds."""
    for _ in range(replays):
        t = min(int(rng.random() * have), have - 1)
        s, a, s2 = int(trace[t, 0]), int(trace[t, 1]), int(trace[t, 2])
        updates[s, a] += 1
        rate = (horizon + 1.0) / (horizon + updates[s, a])
        # No least value: averages over chance may be as small as they like.
        lift(q, v, count, s, a, s2, trace[t, 3], trace[t, 4] != 0, gamma, rate, 0.0)


@jit
def believed(agenda: Agenda, memory: me.Memory, n: int, s: int, a: int) -> float:
    """What the landmarks promise for a pair in a node, or its correction where that is lower."""
    following, status, label, ends, worth = agenda.next, agenda.status, memory.label, memory.ends, memory.worth
    q = memory.q
    best = q[s, a, 0] * agenda.bound[n] if memory.position[me.UNTRIED] > 0 else 0.0
    for k in range(1, memory.position[me.LANDMARKS]):
        # `after` is 1 at most, so that a lower q cannot win: most landmarks are passed over without a look at the plan.
        if q[s, a, k] > best:
            best = max(best, q[s, a, k] * after(following, status, label, ends, worth, n, k))
    # Both are upper bounds where moves are certain, so the lower one holds. Most nodes are spared the hash table.
    if memory.flagged[n]:
        slot = slot_of(memory.keys, (n * q.shape[0] + s) * q.shape[1] + a)
        if memory.keys[slot] >= 0:
            best = min(best, memory.values[slot])
    return best


@jit
def best_believed(agenda: Agenda, memory: me.Memory, n: int, s: int) -> tuple[float, int]:
    """The highest belief in a cell, and its first action; action -1 where nothing leads on."""
    best, chosen = 0.0, -1
    for a in range(memory.q.shape[1]):
        value = believed(agenda, memory, n, s, a)
        if value > best:
            best, chosen = value, a
    return best, chosen


@jit
def settle(agenda: Agenda, memory: me.Memory, gamma: float, n: int, s: int, a: int, m: int, s2: int, ended: bool) -> None:
    """Correct the pair where the step, into node m and cell s2, gives less than was believed of it."""
    given = 0.0
    if agenda.status[m] == SUCCESS:
        given = gamma
    elif agenda.status[m] == RUNNING and not ended:
        given = gamma * best_believed(agenda, memory, m, s2)[0]
    # Beliefs are compared and not values of landmarks: a correction in m may bring one about in n.
    if given < believed(agenda, memory, n, s, a) * (1.0 - TINY):
        key = (n * memory.q.shape[0] + s) * memory.q.shape[1] + a
        slot = slot_of(memory.keys, key)
        if memory.keys[slot] < 0:
            memory.position[me.CORRECTED] += 1
        memory.keys[slot], memory.values[slot], memory.flagged[n] = key, given, True
        if 2 * memory.position[me.CORRECTED] + 2 > memory.keys.shape[0]:
            memory.position[me.FULL] = 1
