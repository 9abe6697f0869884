"""The high level of QCoRM: which coupled states are occupied, and which objective is pursued (Section 4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot
from errands.kernels.choice import explore
from errands.kernels.stepping import ONE, ZERO, lowest_bit, open_subtasks, standing, start
from errands.kernels.steps_to_go import StepsToGo, insert, slot
from errands.tables import AgendaTable, Floats, Ints, Masks, WorldTable

STATE, NUMERIC, TIME, ACTION, OUTCOME = range(5)
CHOICE, EXPLOITED, ENTERED, OPEN, GROUNDED, PASSED, CLEAN, CHOICES, STEP, FIELDS = range(5, 15)
EVERY, CHOSEN, WHOLE = 0, 1, 2
UNKNOWN = -1


class Coefficients(NamedTuple):
    """The settings that a step of QCoRM reads."""

    alpha: float
    gamma: float
    epsilon: float
    alpha_eta: float
    alpha_k: float
    xi_start: float
    xi_step: float
    xi_end: float
    full_reward: float
    min_step_reward: float
    joint: bool
    replay: int
    """EVERY grounding transition, those of CHOSEN exploitations, or those of WHOLE episodes of exploitation."""
    replay_failed: bool
    lift_remaining: bool
    """Whether remaining subtasks learn too while none of them can be completed."""
    bias: bool
    limit: int
    epsilon_from: int
    epsilon_to: int
    xi_from: int
    xi_to: int


class CoupledValues(NamedTuple):
    """What QCoRM learns, and where it is."""

    q: Floats
    """[S, A, K] low-level values of each objective."""
    v: Floats
    """[S, K] their maximum over actions."""
    shortest_episode: Floats
    """[1] running K_mi."""
    best_duration: Floats
    """[K] running K_op of each objective."""
    where: NDArray[np.int64]
    mask: Masks
    """[1] remaining subtasks."""
    open: Ints
    """[K] the objectives of the coupled states occupied now: the first where[OPEN]."""
    ground: NDArray[np.int64]
    """[limit, 5] grounding transitions of the episode: s, a, objective, duration, exploited."""
    passed: NDArray[np.int64]
    """[limit, 2] coupled states left in the episode: key, time of entry."""
    passed_mask: Masks


@hot
def annealed(value: float, step: int, from_: int, to: int) -> float:
    """A rate that falls linearly to zero between two steps; constant when they are equal."""
    if to <= from_ or step <= from_:
        return value
    return 0.0 if step >= to else value * (to - step) / (to - from_)


@hot
def enlist(values: CoupledValues, k: int, count: int) -> int:
    """Put an objective behind the first `count` of the list unless it is among them; returns the length of the list."""
    known = False
    for i in range(count):
        known = known or values.open[i] == k
    if not known:
        values.open[count] = k
        count += 1
    return count


@hot
def enlist_bits(machine: AgendaTable, values: CoupledValues, bits: np.uint64, count: int) -> int:
    """The same for the objectives of all subtasks of a mask."""
    while bits != ZERO:
        bit = lowest_bit(bits)
        bits &= ~(ONE << np.uint64(bit))
        count = enlist(values, machine.subtask_objective[bit], count)
    return count


@hot
def occupy(machine: AgendaTable, values: CoupledValues) -> None:
    """List the objectives of all coupled states of the current agenda state."""
    where = values.where
    u, mask = where[NUMERIC], values.mask[0]
    count = enlist_bits(machine, values, open_subtasks(machine, u, mask), 0)
    row = standing(machine, u, mask)
    for at in range(machine.alternative_first[row], machine.alternative_first[row + 1]):
        count = enlist(values, machine.alternatives[at], count)
    where[OPEN] = count
    where[CHOICE] = -1
    where[ENTERED] = where[TIME]


@hot
def begin(world: WorldTable, machine: AgendaTable, values: CoupledValues, rng: np.random.Generator) -> None:
    """Put the agent at the start of an episode."""
    where = values.where
    where[STATE] = start(world, rng)
    where[NUMERIC] = machine.initial
    values.mask[0] = machine.full
    where[TIME] = where[GROUNDED] = where[PASSED] = 0
    where[CLEAN] = 1
    occupy(machine, values)


@hot
def lowest(table: StepsToGo, values: CoupledValues) -> int:
    """The place in `open` of the coupled state with the fewest steps to go; -1 when none is known."""
    where, mask, width = values.where, values.mask[0], values.best_duration.shape[0]
    best, fewest = -1, np.inf
    for i in range(where[OPEN]):
        at = slot(table, mask, where[NUMERIC] * width + values.open[i])
        if table.key[at] >= 0 and table.eta[at] < fewest:
            best, fewest = i, table.eta[at]
    return best


@hot
def choose(table: StepsToGo, values: CoupledValues, rates: Coefficients, rng: np.random.Generator) -> None:
    """Choose the objective: the fewest steps to go, or with probability xi another, unused ones first."""
    where, mask, width = values.where, values.mask[0], values.best_duration.shape[0]
    count = where[OPEN]
    pick, where[EXPLOITED] = 0, 1
    if count > 1:
        xi = max(rates.xi_end, rates.xi_start - rates.xi_step * where[CHOICES])
        xi = annealed(xi, where[STEP], rates.xi_from, rates.xi_to)
        where[CHOICES] += 1
        x = rng.random()
        if x < xi:
            where[EXPLOITED] = where[CLEAN] = 0
            unused = 0
            for i in range(count):
                at = slot(table, mask, where[NUMERIC] * width + values.open[i])
                unused += table.key[at] < 0 or table.used[at] == 0
            among = unused if rates.bias and unused > 0 else count
            pick = min(int(x / xi * among), among - 1)
            if among < count:
                for i in range(count):
                    at = slot(table, mask, where[NUMERIC] * width + values.open[i])
                    if table.key[at] < 0 or table.used[at] == 0:
                        if pick == 0:
                            pick = i
                            break
                        pick -= 1
        else:
            pick = lowest(table, values)
            if pick < 0:
                pick = min(int((x - xi) / (1.0 - xi) * count), count - 1)
    where[CHOICE] = values.open[pick]
    table.used[insert(table, mask, where[NUMERIC] * width + where[CHOICE])] += 1


@hot
def act(values: CoupledValues, table: StepsToGo, rates: Coefficients, rng: np.random.Generator) -> int:
    """The next training action: epsilon-greedy in the low-level policy of the chosen objective."""
    where = values.where
    epsilon = annealed(rates.epsilon, where[STEP], rates.epsilon_from, rates.epsilon_to)
    if where[OPEN] == 0:
        return min(int(rng.random() * values.q.shape[1]), values.q.shape[1] - 1)
    if where[CHOICE] < 0:
        choose(table, values, rates, rng)
    return explore(values.q, where[STATE], where[CHOICE], epsilon, rng)
