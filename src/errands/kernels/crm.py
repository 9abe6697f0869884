"""CRM: Q-learning with counterfactual steps: every machine state learns from every world step (Section 2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import jit
from errands.kernels.choice import explore
from errands.kernels.qrm import ACTION, MACHINE, OUTCOME, STATE, TIME, UNKNOWN, Rates, begin
from errands.kernels.stepping import outcome
from errands.tables import RUNNING, Codes, Floats, Ints, MachineTable, WorldTable


class Alive(NamedTuple):
    """Which machine states may learn counterfactually while the machine is in state i: running[slice[i, 0]:slice[i, 1]]."""

    next: Ints
    """[L, U] the machine's transitions, label by label."""
    reward: Floats
    """[L, U]."""
    signal: Ints
    """[L, U]."""
    status: Codes
    slice: NDArray[np.int64]
    """[U, 2]."""
    running: Ints


@jit
def count_reachable(following: Ints, status: Codes, seen: NDArray[np.int32], stack: Ints, source: int) -> int:
    """How many running states can be reached from `source`, itself included; they are left in stack[:count]."""
    count = 0
    if status[source] != RUNNING:
        return 0
    stack[0] = source
    seen[source] = source + 1
    count, at = 1, 0
    while at < count:
        i = stack[at]
        at += 1
        for label in range(following.shape[1]):
            j = following[i, label]
            if status[j] == RUNNING and seen[j] != source + 1:
                seen[j] = source + 1
                stack[count] = j
                count += 1
    return count


@jit
def reachable_counts(following: Ints, status: Codes) -> NDArray[np.int64]:
    """For each machine state, how many running states can still be reached from it."""
    count = following.shape[0]
    seen, stack = np.zeros(count, np.int32), np.zeros(count, np.int32)
    found = np.zeros(count, np.int64)
    for i in range(count):
        found[i] = count_reachable(following, status, seen, stack, i)
    return found


@jit
def reachable_lists(following: Ints, status: Codes, first: NDArray[np.int64], running: Ints) -> None:
    """Fill the lists of running states that can still be reached, each in ascending order."""
    count = following.shape[0]
    seen, stack = np.zeros(count, np.int32), np.zeros(count, np.int32)
    for i in range(count):
        found = count_reachable(following, status, seen, stack, i)
        running[first[i] : first[i] + found] = np.sort(stack[:found])


@jit
def crm_learn(
    alive: Alive, q: Floats, v: Floats, s: int, a: int, s2: int, label: int, ends: bool, signals: Floats, i: int,
    alpha: float, gamma: float,
) -> None:
    """One world step replayed in every machine state alive in i; v is the maximum of q over actions."""
    for at in range(alive.slice[i, 0], alive.slice[i, 1]):
        k = alive.running[at]
        j = alive.next[label, k]
        r = alive.reward[label, k]
        if alive.signal[label, k] >= 0:
            r *= signals[alive.signal[label, k]]
        if not ends and alive.status[j] == RUNNING:
            r += gamma * v[s2, j]
        old = q[s, a, k]
        new = old + alpha * (r - old)
        q[s, a, k] = new
        if new >= v[s, k]:
            v[s, k] = new
        elif old == v[s, k]:
            best = q[s, 0, k]
            for b in range(1, q.shape[1]):
                best = max(best, q[s, b, k])
            v[s, k] = best


@jit
def crm_loop(
    world: WorldTable,
    machine: MachineTable,
    alive: Alive,
    q: Floats,
    v: Floats,
    where: NDArray[np.int64],
    rates: Rates,
    count: int,
    rng: np.random.Generator,
) -> int:
    """Train for `count` steps, or until an outcome is missing; q is [S, A, U]; returns the steps taken."""
    for done in range(count):
        s, i = where[STATE], where[MACHINE]
        if where[ACTION] < 0:
            where[ACTION] = explore(q[s, :, i], rates.epsilon, rng)
            where[OUTCOME] = outcome(world, s, where[ACTION], rng)
        a, o = where[ACTION], where[OUTCOME]
        label, s2, ends = world.label[s, a, o], world.next[s, a, o], world.ends[s, a, o]
        if s2 == UNKNOWN:
            return done
        where[ACTION] = -1
        crm_learn(alive, q, v, s, a, s2, label, ends, world.signal[:, s, a, o], i, rates.alpha, rates.gamma)
        j = machine.next[i, label]
        where[STATE], where[MACHINE] = s2, j
        where[TIME] += 1
        if ends or machine.status[j] != RUNNING or where[TIME] >= rates.limit:
            begin(world, machine, where, rng)
    return count
