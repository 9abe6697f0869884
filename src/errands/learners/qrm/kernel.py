"""The loop of CRM: each world step is replayed in every machine state that may learn from it. QRM's is kernels/q_learning.py."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot
from errands.kernels.q_learning import Alive, Rates, Settled, begin, draw, move, top
from errands.kernels.stepping import ACTION, MACHINE, OUTCOME, STATE, UNKNOWN, reward, scheduled
from errands.tables import RUNNING, Floats, MachineTable, WorldTable


@hot
def quiet_learn(alive: Alive, q: Floats, s: int, a: int, s2: int, i: int, alpha: float, gamma: float) -> int:
    """A step on which no machine state moves or is paid, replayed in all alive in i; 1 when a value changed."""
    begin, end = alive.slice[i, 0], alive.slice[i, 1]
    moved = 0
    if begin == end:
        return moved
    # Sorted and distinct: if the ends are as far apart as the list is long, there are no gaps.
    first, last = np.uint64(alive.running[begin]), np.uint64(alive.running[end - 1])
    if last - first == np.uint64(end - begin - 1):
        # A range instead of the list, so that the compiler makes vector instructions of it.
        for k in range(first, last + np.uint64(1)):
            old = q[s, a, k]
            new = old + alpha * (gamma * top(q, s2, k) - old)
            moved |= new != old
            q[s, a, k] = new
        return moved
    for at in range(np.uint64(begin), np.uint64(end)):
        k = alive.running[at]
        old = q[s, a, k]
        new = old + alpha * (gamma * top(q, s2, k) - old)
        moved |= new != old
        q[s, a, k] = new
    return moved


@hot
def crm_learn(
    world: WorldTable, alive: Alive, q: Floats, settled: Settled, s: int, a: int, o: int, i: int, rates: Rates
) -> None:
    """One world step replayed in every machine state alive in i, unless it is settled."""
    s2, group = world.next[s, a, o], alive.group[i]
    version = settled.version[s2]
    # Versions begin at 0 and none is -1, so a pair never settled cannot pass here.
    if settled.at[s, a, group] == version:
        return
    label, ends = world.label[s, a, o], world.ends[s, a, o]
    if alive.quiet[label] and not ends:
        moved = quiet_learn(alive, q, s, a, s2, i, rates.alpha, rates.gamma)
    else:
        # Written one after the other: where s2 is s, later states see what earlier ones learnt, always in this order.
        moved = 0
        for at in range(alive.slice[i, 0], alive.slice[i, 1]):
            k = alive.running[at]
            j = alive.next[label, k]
            target = reward(world, alive.reward[label, k], alive.signal[label, k], s, a, o)
            if not ends and alive.status[j] == RUNNING:
                target += rates.gamma * top(q, s2, j)
            old = q[s, a, k]
            new = old + rates.alpha * (target - old)
            moved |= new != old
            q[s, a, k] = new
    if moved:
        settled.version[s] += 1
    elif settled.certain:
        settled.at[s, a, group] = version


@hot
def crm_loop(
    world: WorldTable,
    machine: MachineTable,
    alive: Alive,
    q: Floats,
    settled: Settled,
    position: NDArray[np.int64],
    rates: Rates,
    step: int,
    count: int,
    rng: np.random.Generator,
) -> int:
    """Train for `count` steps after `step`, or until an outcome is missing; 0 begins an episode. q is [S, A, U]."""
    if count == 0:
        begin(world, machine, position, rng)
    for done in range(count):
        s, i = position[STATE], position[MACHINE]
        draw(world, q, position, s, i, scheduled(rates.epsilon, step + done), rng)
        a, o = position[ACTION], position[OUTCOME]
        s2 = world.next[s, a, o]
        if s2 == UNKNOWN:
            return done
        position[ACTION] = -1
        # Who learns is decided by i, before the machine moves: where boxes vanish, states left behind must not.
        crm_learn(world, alive, q, settled, s, a, o, i, rates)
        j = machine.next[i, world.label[s, a, o]]
        over = machine.status[j] != RUNNING or world.ends[s, a, o]
        move(world, machine, position, s2, j, over, rates.limit, rng)
    return count
