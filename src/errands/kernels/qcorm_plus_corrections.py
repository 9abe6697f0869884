"""Corrections: values of (node, cell, action), kept only where landmarks alone promise too much."""

from __future__ import annotations

from errands.kernels import jit
from errands.kernels.qcorm_plus_agenda import Agenda
from errands.kernels.qcorm_plus_hash import slot_of
from errands.kernels.qcorm_plus_memory import CORRECTED, FULL, LANDMARKS, UNTRIED, Memory
from errands.kernels.qcorm_plus_plan import TINY, after
from errands.tables import RUNNING, SUCCESS


@jit
def believed(agenda: Agenda, memory: Memory, n: int, s: int, a: int) -> float:
    """What the landmarks promise for a pair in a node, or its correction where that is lower."""
    following, status, label, ends, worth = agenda.next, agenda.status, memory.label, memory.ends, memory.worth
    q = memory.q
    best = q[s, a, 0] * agenda.bound[n] if memory.where[UNTRIED] > 0 else 0.0
    for k in range(1, memory.where[LANDMARKS]):
        if q[s, a, k] > best:
            best = max(best, q[s, a, k] * after(following, status, label, ends, worth, n, k))
    if memory.flagged[n]:
        slot = slot_of(memory.keys, (n * q.shape[0] + s) * q.shape[1] + a)
        if memory.keys[slot] >= 0:
            best = min(best, memory.values[slot])
    return best


@jit
def best_believed(agenda: Agenda, memory: Memory, n: int, s: int) -> tuple[float, int]:
    """The highest belief in a cell, and its first action; action -1 where nothing leads on."""
    best, chosen = 0.0, -1
    for a in range(memory.q.shape[1]):
        value = believed(agenda, memory, n, s, a)
        if value > best:
            best, chosen = value, a
    return best, chosen


@jit
def settle(agenda: Agenda, memory: Memory, gamma: float, n: int, s: int, a: int, m: int, s2: int, ended: bool) -> None:
    """Correct the pair where the step, into node m and cell s2, gives less than was believed of it."""
    given = 0.0
    if agenda.status[m] == SUCCESS:
        given = gamma
    elif agenda.status[m] == RUNNING and not ended:
        given = gamma * best_believed(agenda, memory, m, s2)[0]
    if given < believed(agenda, memory, n, s, a) * (1.0 - TINY):
        key = (n * memory.q.shape[0] + s) * memory.q.shape[1] + a
        slot = slot_of(memory.keys, key)
        if memory.keys[slot] < 0:
            memory.where[CORRECTED] += 1
        memory.keys[slot], memory.values[slot], memory.flagged[n] = key, given, True
        if 2 * memory.where[CORRECTED] + 2 > memory.keys.shape[0]:
            memory.where[FULL] = 1
