"""HRM: one option per machine transition, learnt off-policy all at once, under an SMDP controller (Section 2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import jit
from errands.kernels.choice import explore, greedy
from errands.kernels.crm import Alive
from errands.kernels.qrm import ACTION, MACHINE, OUTCOME, STATE, TIME, UNKNOWN, begin
from errands.kernels.stepping import outcome, reward, start
from errands.tables import RUNNING, SUCCESS, Floats, Ints, MachineTable, WorldTable

OPTION, SINCE, FROM, FIELDS = 5, 6, 7, 8


class Options(NamedTuple):
    """The options out of each machine state i: edges first[i]:first[i + 1], each ending in target[e]."""

    first: Ints
    target: Ints


class OptionRates(NamedTuple):
    """The settings that a step of HRM reads."""

    alpha: float
    gamma: float
    epsilon: float
    alpha_controller: float
    epsilon_controller: float
    full_reward: float
    option_limit: int
    limit: int


class OptionValues(NamedTuple):
    """What HRM learns."""

    q: Floats
    """[S, A, E] low-level values of each option."""
    v: Floats
    """[S, E] their maximum over actions."""
    controller: Floats
    """[S, E] the controller's value of taking an option in a world state."""
    gain: Floats
    """[2] the discounted reward collected by the option in hand, and the discount so far."""


@jit
def hrm_learn(
    alive: Alive, options: Options, values: OptionValues, rates: OptionRates,
    s: int, a: int, s2: int, label: int, ends: bool, signals: Floats, i: int,
) -> None:
    """One world step replayed for every option of every machine state alive in i."""
    q, v = values.q, values.v
    for at in range(alive.slice[i, 0], alive.slice[i, 1]):
        k = alive.running[at]
        j = alive.next[label, k]
        r = 0.0
        if alive.signal[label, k] >= 0:
            r = alive.reward[label, k] * signals[alive.signal[label, k]]
        for e in range(options.first[k], options.first[k + 1]):
            if j == options.target[e]:
                target = rates.full_reward
            elif j != k or ends:
                target = 0.0
            else:
                target = r + rates.gamma * v[s2, e]
            old = q[s, a, e]
            new = old + rates.alpha * (target - old)
            q[s, a, e] = new
            if new >= v[s, e]:
                v[s, e] = new
            elif old == v[s, e]:
                best = q[s, 0, e]
                for b in range(1, q.shape[1]):
                    best = max(best, q[s, b, e])
                v[s, e] = best


@jit
def settle(
    options: Options, values: OptionValues, rates: OptionRates, where: NDArray[np.int64], s2: int, j: int, over: bool
) -> None:
    """End the option in hand: one SMDP update of the controller."""
    target = values.gain[0]
    if not over:
        first, last = options.first[j], options.first[j + 1]
        if last > first:
            target += values.gain[1] * values.controller[s2, first:last].max()
    e, s = where[OPTION], where[FROM]
    values.controller[s, e] += rates.alpha_controller * (target - values.controller[s, e])
    where[OPTION] = -1


@jit
def hrm_loop(
    world: WorldTable,
    machine: MachineTable,
    alive: Alive,
    options: Options,
    values: OptionValues,
    where: NDArray[np.int64],
    rates: OptionRates,
    count: int,
    rng: np.random.Generator,
) -> int:
    """Train for `count` steps, or until an outcome is missing; returns the steps taken."""
    for done in range(count):
        s, i = where[STATE], where[MACHINE]
        first, last = options.first[i], options.first[i + 1]
        if where[OPTION] < 0 and last > first:
            where[OPTION] = first + explore(values.controller[s, first:last], rates.epsilon_controller, rng)
            where[FROM], where[SINCE] = s, 0
            values.gain[0], values.gain[1] = 0.0, 1.0
        if where[ACTION] < 0:
            if last > first:
                where[ACTION] = explore(values.q[s, :, where[OPTION]], rates.epsilon, rng)
            else:
                where[ACTION] = min(int(rng.random() * world.next.shape[1]), world.next.shape[1] - 1)
            where[OUTCOME] = outcome(world, s, where[ACTION], rng)
        a, o = where[ACTION], where[OUTCOME]
        label, s2, ends = world.label[s, a, o], world.next[s, a, o], world.ends[s, a, o]
        if s2 == UNKNOWN:
            return done
        where[ACTION] = -1
        hrm_learn(alive, options, values, rates, s, a, s2, label, ends, world.signal[:, s, a, o], i)
        j = machine.next[i, label]
        values.gain[0] += values.gain[1] * reward(world, machine.reward[i, label], machine.signal[i, label], s, a, o)
        values.gain[1] *= rates.gamma
        where[SINCE] += 1
        where[TIME] += 1
        over = ends or machine.status[j] != RUNNING
        late = where[TIME] >= rates.limit
        if where[OPTION] >= 0 and (over or late or j != i or where[SINCE] >= rates.option_limit):
            settle(options, values, rates, where, s2, j, over)
        where[STATE], where[MACHINE] = s2, j
        if over or late:
            begin(world, machine, where, rng)
    return count


@jit
def greedy_options(
    world: WorldTable, machine: MachineTable, options: Options, values: OptionValues, rates: OptionRates,
    rng: np.random.Generator,
) -> tuple[int, float, bool]:
    """Length, total reward and success of one greedy episode."""
    s, i = start(world, rng), machine.initial
    total, e, since = 0.0, -1, 0
    for t in range(rates.limit):
        first, last = options.first[i], options.first[i + 1]
        if last == first:
            return rates.limit, total, False
        if e < 0:
            e, since = first + greedy(values.controller[s, first:last]), 0
        a = greedy(values.q[s, :, e])
        o = outcome(world, s, a, rng)
        label = world.label[s, a, o]
        j = machine.next[i, label]
        total += reward(world, machine.reward[i, label], machine.signal[i, label], s, a, o)
        since += 1
        if machine.status[j] != RUNNING or world.ends[s, a, o]:
            return t + 1, total, machine.status[j] == SUCCESS
        if j != i or since >= rates.option_limit:
            e = -1
        s, i = world.next[s, a, o], j
    return rates.limit, total, False
