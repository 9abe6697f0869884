"""QRM: Q-learning over world state x machine state (Section 2); machine states may be born as they are met."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot
from errands.kernels.choice import best_action, best_value, explore
from errands.kernels.stepping import outcome, reward, start
from errands.tables import RUNNING, SUCCESS, Floats, MachineTable, WorldTable

UNBORN = UNKNOWN = -1
STATE, MACHINE, TIME, ACTION, OUTCOME, FIELDS = range(6)


class Rates(NamedTuple):
    """The settings that a step of Q-learning reads."""

    alpha: float
    gamma: float
    epsilon: float
    limit: int


@hot
def begin(world: WorldTable, machine: MachineTable, where: NDArray[np.int64], rng: np.random.Generator) -> None:
    """Put the agent at the start of an episode."""
    where[STATE] = start(world, rng)
    where[MACHINE] = machine.initial
    where[TIME] = 0


@hot
def qrm_loop(
    world: WorldTable,
    machine: MachineTable,
    q: Floats,
    where: NDArray[np.int64],
    rates: Rates,
    count: int,
    rng: np.random.Generator,
) -> int:
    """Train for `count` steps, or until a machine state or an outcome is missing; returns the steps taken."""
    for done in range(count):
        s, i = where[STATE], where[MACHINE]
        if where[ACTION] < 0:
            where[ACTION] = explore(q, s, i, rates.epsilon, rng)
            where[OUTCOME] = outcome(world, s, where[ACTION], rng)
        a, o = where[ACTION], where[OUTCOME]
        label = world.label[s, a, o]
        s2 = world.next[s, a, o]
        if s2 == UNKNOWN:
            return done
        j = machine.next[i, label]
        if j == UNBORN:
            return done
        where[ACTION] = -1
        r = reward(world, machine.reward[i, label], machine.signal[i, label], s, a, o)
        over = machine.status[j] != RUNNING or world.ends[s, a, o]
        target = r if over else r + rates.gamma * best_value(q, s2, j)
        q[s, a, i] += rates.alpha * (target - q[s, a, i])
        where[STATE], where[MACHINE] = s2, j
        where[TIME] += 1
        if over or where[TIME] >= rates.limit:
            begin(world, machine, where, rng)
    return count


@hot
def greedy_episode(
    world: WorldTable, machine: MachineTable, q: Floats, limit: int, rng: np.random.Generator
) -> tuple[int, float, bool]:
    """Length, total reward and success of one greedy episode; it stops as unsuccessful in an unborn machine state."""
    s, i = start(world, rng), machine.initial
    total = 0.0
    for t in range(limit):
        a = best_action(q, s, i)
        o = outcome(world, s, a, rng)
        label = world.label[s, a, o]
        j = machine.next[i, label]
        if j == UNBORN:
            return limit, total, False
        total += reward(world, machine.reward[i, label], machine.signal[i, label], s, a, o)
        if machine.status[j] != RUNNING or world.ends[s, a, o]:
            return t + 1, total, machine.status[j] == SUCCESS
        s, i = world.next[s, a, o], j
    return limit, total, False
