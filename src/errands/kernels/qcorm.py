"""QCoRM: a policy per objective, learnt in all coupled states at once, under a steps-to-go bandit (Section 4)."""

from __future__ import annotations

import numpy as np

from errands.kernels import hot
from errands.kernels.choice import best_action
from errands.kernels.coupled import (
    ACTION,
    CHOICE,
    CHOSEN,
    CLEAN,
    ENTERED,
    EVERY,
    EXPLOITED,
    GROUNDED,
    NUMERIC,
    OPEN,
    OUTCOME,
    PASSED,
    STATE,
    STEP,
    TIME,
    UNKNOWN,
    Coefficients,
    CoupledValues,
    act,
    begin,
    enlist_bits,
    lowest,
    occupy,
)
from errands.kernels.crm import pull
from errands.kernels.stepping import ZERO, advance, completes, outcome, reward
from errands.kernels.steps_to_go import StepsToGo, insert
from errands.tables import FAILURE, RUNNING, SUCCESS, AgendaTable, WorldTable


@hot
def final_reward(values: CoupledValues, rates: Coefficients, k: int, duration: int, length: int) -> float:
    """R(K, tau) of Theorem 1, the difference clamped at 0; the full reward without joint optimisation."""
    if not rates.joint:
        return rates.full_reward
    excess = max(values.best_duration[k] - duration, length - values.shortest_episode[0])
    if not (0.0 < excess < np.inf):
        return rates.full_reward
    r = rates.gamma ** (excess + 1.0) * rates.full_reward
    if rates.min_step_reward != 0.0 and rates.gamma < 1.0:
        scale = rates.gamma ** min(1.0 - duration, 0.0) - rates.gamma**excess
        r += min(scale, 1e12) / (1.0 - rates.gamma) * rates.min_step_reward
    return r


@hot
def finish(values: CoupledValues, table: StepsToGo, rates: Coefficients, success: bool) -> None:
    """The end of an episode: steps to go, the running estimates, and the replay of grounding transitions."""
    where, length = values.where, values.where[TIME]
    if success:
        for i in range(where[PASSED]):
            at = insert(table, values.passed_mask[i], values.passed[i, 0])
            togo = float(length - values.passed[i, 1])
            if table.eta[at] == np.inf:
                table.eta[at] = togo
            else:
                table.eta[at] += rates.alpha_eta * (togo - table.eta[at])
        if where[CLEAN] == 1 and length <= values.shortest_episode[0]:
            if values.shortest_episode[0] == np.inf:
                values.shortest_episode[0] = length
            else:
                values.shortest_episode[0] += rates.alpha_k * (length - values.shortest_episode[0])
    elif not rates.replay_failed:
        return
    for i in range(where[GROUNDED]):
        s, a, k = values.ground[i, 0], values.ground[i, 1], values.ground[i, 2]
        duration, exploited = values.ground[i, 3], values.ground[i, 4]
        gate = rates.replay == EVERY or (exploited == 1 and (rates.replay == CHOSEN or where[CLEAN] == 1))
        if gate:
            pull(values.q, values.v, s, a, k, final_reward(values, rates, k, duration, length), rates.alpha)
        if exploited == 1 and success:
            if values.best_duration[k] == np.inf:
                values.best_duration[k] = duration
            else:
                values.best_duration[k] += rates.alpha_k * (duration - values.best_duration[k])


@hot
def remaining(machine: AgendaTable, values: CoupledValues) -> int:
    """List the other remaining subtasks behind the open objectives; returns the length of the list."""
    others = values.mask[0] & ~machine.active[values.where[NUMERIC]]
    return enlist_bits(machine, values, others, values.where[OPEN])


@hot
def learn(
    world: WorldTable,
    machine: AgendaTable,
    values: CoupledValues,
    table: StepsToGo,
    rates: Coefficients,
    a: int,
    o: int,
) -> bool:
    """Learn from one world step and move on; True when the episode is over."""
    where = values.where
    s, u, mask, width = where[STATE], where[NUMERIC], values.mask[0], values.best_duration.shape[0]
    s2, ends = world.next[s, a, o], world.ends[s, a, o]
    entry, mask2, completed = advance(machine, u, mask, world.label[s, a, o])
    u2 = machine.next[entry]
    failed = machine.status[u2] == FAILURE or (ends and machine.status[u2] != SUCCESS)
    moved = u2 != u or mask2 != mask
    finished = moved and (completed != ZERO or machine.fired[entry] >= 0)
    r = 0.0
    if not moved and machine.reward[entry] != 0.0:
        r = reward(world, machine.reward[entry], machine.signal[entry], s, a, o)
    q, v, gamma = values.q, values.v, 0.0 if failed else rates.gamma
    for i in range(remaining(machine, values) if rates.lift_remaining else where[OPEN]):
        k = values.open[i]
        target = r + gamma * v[s2, k]
        if q[s, a, k] != target and (not finished or failed or not completes(machine, entry, completed, k)):
            pull(q, v, s, a, k, target, rates.alpha)
    where[TIME] += 1
    where[STEP] += 1
    if finished and not failed:
        for i in range(where[OPEN]):
            k = values.open[i]
            if where[GROUNDED] < values.ground.shape[0] and completes(machine, entry, completed, k):
                at = where[GROUNDED]
                values.ground[at, 0], values.ground[at, 1], values.ground[at, 2] = s, a, k
                values.ground[at, 3], values.ground[at, 4] = where[TIME] - where[ENTERED], where[EXPLOITED]
                where[GROUNDED] += 1
                values.passed[where[PASSED], 0], values.passed[where[PASSED], 1] = u * width + k, where[ENTERED]
                values.passed_mask[where[PASSED]] = mask
                where[PASSED] += 1
    where[STATE], where[NUMERIC], values.mask[0] = s2, u2, mask2
    if failed or machine.status[u2] != RUNNING or where[TIME] >= rates.limit:
        finish(values, table, rates, machine.status[u2] == SUCCESS)
        return True
    if moved:
        occupy(machine, values)
    return False


@hot
def qcorm_loop(
    world: WorldTable,
    machine: AgendaTable,
    values: CoupledValues,
    table: StepsToGo,
    rates: Coefficients,
    count: int,
    rng: np.random.Generator,
) -> int:
    """Train for `count` steps, or until the table is too full or an outcome missing; returns the steps taken."""
    where = values.where
    for done in range(count):
        if 2 * (table.size[0] + where[PASSED] + 2) > table.key.shape[0]:
            return done
        s = where[STATE]
        if where[ACTION] < 0:
            where[ACTION] = act(values, table, rates, rng)
            where[OUTCOME] = outcome(world, s, where[ACTION], rng)
        a, o = where[ACTION], where[OUTCOME]
        if world.next[s, a, o] == UNKNOWN:
            return done
        where[ACTION] = -1
        over = learn(world, machine, values, table, rates, a, o)
        if over:
            begin(world, machine, values, rng)
    return count


@hot
def coupled_episode(
    world: WorldTable,
    machine: AgendaTable,
    values: CoupledValues,
    table: StepsToGo,
    limit: int,
    rng: np.random.Generator,
) -> tuple[int, float, bool]:
    """Length, total reward and success of one greedy episode; `values` is a copy whose `where` may be written to."""
    where = values.where
    begin(world, machine, values, rng)
    total = 0.0
    for t in range(limit):
        if where[OPEN] == 0:
            return limit, total, False
        if where[CHOICE] < 0:
            where[CHOICE] = values.open[max(lowest(table, values), 0)]
        s = where[STATE]
        a = best_action(values.q, s, where[CHOICE])
        o = outcome(world, s, a, rng)
        entry, mask2, _ = advance(machine, where[NUMERIC], values.mask[0], world.label[s, a, o])
        u2 = machine.next[entry]
        total += reward(world, machine.reward[entry], machine.signal[entry], s, a, o)
        if machine.status[u2] != RUNNING or world.ends[s, a, o]:
            return t + 1, total, machine.status[u2] == SUCCESS
        moved = u2 != where[NUMERIC] or mask2 != values.mask[0]
        where[STATE], where[NUMERIC], values.mask[0] = world.next[s, a, o], u2, mask2
        if moved:
            occupy(machine, values)
    return limit, total, False
