"""QCoRM: a policy per objective, learnt in all coupled states at once, under a steps-to-go bandit (Section 4).

Read from the end: `qcorm_loop` takes a step (`act`: the high level chooses an objective, its policy an action) and learns
from it (`learn`). An agenda state (u, mask of remaining subtasks) stands for a group of coupled states, one for each
objective open in it; all of them are occupied at once, and learn at once, each by its objective's column of q. What a
step completes is not learnt then (`ground`) but when the episode has ended (`finish`), by the reward of Theorem 1.
Invariants: v[s, k] is the maximum of q[s, :, k]; `ground` and `passed` have a row for each completion of the episode, as
many as it has steps at most; the steps-to-go table has room for all of `passed` before a step is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot, stepping
from errands.kernels.hashing import pair_slot
from errands.kernels.q_learning import pull
from errands.tables import FAILURE, RUNNING, SUCCESS, AgendaTable, Floats, Ints, Masks, Slope, WorldTable


class StepsToGo(NamedTuple):
    """Capacity is a power of two; key -1 marks an empty slot."""

    # A coupled state is (mask, key). Only those met are stored: N subtasks have up to N 2**(N - 1) for each u.
    mask: Masks
    key: NDArray[np.int64]
    """u * objectives + objective."""
    eta: Floats
    """infinite until an episode that passed here has reached the goal."""
    used: NDArray[np.int64]
    """How often the transition was chosen."""
    size: NDArray[np.int64]
    """[1] slots taken."""


@hot
def slot(table: StepsToGo, mask: np.uint64, key: int) -> int:
    """The slot of a coupled state, or of the empty place where it belongs."""
    return pair_slot(table.mask, table.key, mask, key)


@hot
def insert(table: StepsToGo, mask: np.uint64, key: int) -> int:
    """The slot of a coupled state, taken if it was empty."""
    at = slot(table, mask, key)
    if table.key[at] < 0:
        table.key[at] = key
        table.mask[at] = mask
        table.eta[at] = np.inf
        table.used[at] = 0
        table.size[0] += 1
    return at


@hot
def refill(old: StepsToGo, new: StepsToGo) -> None:
    """Copy every slot into a larger table."""
    # Places depend on the capacity, so each key is hashed again.
    for i in range(old.key.shape[0]):
        if old.key[i] >= 0:
            at = insert(new, old.mask[i], old.key[i])
            new.eta[at] = old.eta[i]
            new.used[at] = old.used[i]


def empty(capacity: int) -> StepsToGo:
    """A table of this capacity without entries."""
    return StepsToGo(
        np.zeros(capacity, np.uint64),
        np.full(capacity, -1, np.int64),
        np.full(capacity, np.inf),
        np.zeros(capacity, np.int64),
        np.zeros(1, np.int64),
    )


NUMERIC = stepping.MACHINE
CHOICE, EXPLOITED, ENTERED, OPEN, GROUNDED, PASSED, CLEAN, CHOICES, STEP, FIELDS = range(stepping.SHARED, stepping.SHARED + 10)
"""Behind the shared fields of `position`, of which MACHINE is the numeric state u:

CHOICE     the objective pursued, -1 where none is chosen yet       EXPLOITED  whether the choice was greedy
ENTERED    TIME at which the present coupled states were entered    OPEN       how many entries of `open` count
GROUNDED   rows of `ground` in use                                  PASSED     rows of `passed` in use
CLEAN      whether every choice of the episode was greedy           CHOICES    choices or episodes so far, which xi falls with
STEP       training steps so far, which epsilon falls with
"""
# Values of Coefficients.delta, and of Coefficients.xi_unit.
EPISODE, GATED, PRINTED = 0, 1, 2
PER_CHOICE, PER_STEP, PER_EPISODE = 0, 1, 2


class Coefficients(NamedTuple):
    """The settings that a step of QCoRM reads."""

    alpha: float
    gamma: float
    alpha_eta: float
    alpha_k: float
    epsilon: Slope
    xi: Slope
    xi_unit: int
    """Whether xi changes with choices, training steps or episodes: the place in XI_UNITS."""
    full_reward: float
    min_step_reward: float
    joint: bool
    delta: int
    """How delta K is read: K - K_mi (EPISODE), the printed maximum where K > K_mi (GATED), or always (PRINTED)."""
    limit: int


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
    position: NDArray[np.int64]
    mask: Masks
    """[1] remaining subtasks."""
    open: Ints
    """[K] the objectives of the coupled states occupied now: the first position[OPEN]."""
    # `ground` and `passed` grow together, a row of each for every completion.
    ground: NDArray[np.int64]
    """[limit, 5] grounding transitions of the episode: s, a, objective, duration, exploited."""
    passed: NDArray[np.int64]
    """[limit, 2] coupled states left in the episode: key, time of entry."""
    passed_mask: Masks


@hot
def enlist(values: CoupledValues, k: int, count: int) -> int:
    """Put an objective behind the first `count` of the list unless it is among them; returns the length of the list."""
    # Several subtasks may share an objective (the same feature twice); it learns once a step.
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
    while bits != stepping.ZERO:
        bit = stepping.lowest_bit(bits)
        bits &= ~(stepping.ONE << np.uint64(bit))
        count = enlist(values, machine.subtask_objective[bit], count)
    return count


@hot
def occupy(machine: AgendaTable, values: CoupledValues) -> None:
    """List the objectives of all coupled states of the current agenda state."""
    position = values.position
    u, mask = position[NUMERIC], values.mask[0]
    # Subtasks by bit, then Boolean objectives: where nothing is known evaluations take the first of them.
    count = enlist_bits(machine, values, stepping.open_subtasks(machine, u, mask), 0)
    row = stepping.standing(machine, u, mask)
    for at in range(machine.alternative_first[row], machine.alternative_first[row + 1]):
        count = enlist(values, machine.alternatives[at], count)
    position[OPEN] = count
    position[CHOICE] = -1
    position[ENTERED] = position[stepping.TIME]


@hot
def begin(world: WorldTable, machine: AgendaTable, values: CoupledValues, rng: np.random.Generator) -> None:
    """Put the agent at the start of an episode."""
    position = values.position
    position[stepping.STATE] = stepping.start(world, rng)
    position[NUMERIC] = machine.initial
    values.mask[0] = machine.full
    position[stepping.TIME] = position[GROUNDED] = position[PASSED] = 0
    position[CLEAN] = 1
    occupy(machine, values)


@hot
def lowest(table: StepsToGo, values: CoupledValues) -> int:
    """The place in `open` of the coupled state with the fewest steps to go; -1 when none is known."""
    position, mask, width = values.position, values.mask[0], values.best_duration.shape[0]
    best, fewest = -1, np.inf
    for i in range(position[OPEN]):
        at = slot(table, mask, position[NUMERIC] * width + values.open[i])
        # A free slot is a state never passed; infinite steps to go are never below `fewest`, so these are left out too.
        if table.key[at] >= 0 and table.eta[at] < fewest:
            best, fewest = i, table.eta[at]
    return best


@hot
def choose(table: StepsToGo, values: CoupledValues, rates: Coefficients, rng: np.random.Generator) -> None:
    """Choose the objective: the fewest steps to go, or with probability xi another, unused ones first."""
    position, mask, width = values.position, values.mask[0], values.best_duration.shape[0]
    count = position[OPEN]
    pick, position[EXPLOITED] = 0, 1
    # A single objective is no choice: nothing is drawn, xi does not fall, and the episode stays clean.
    if count > 1:
        xi = stepping.scheduled(rates.xi, position[STEP] if rates.xi_unit == PER_STEP else position[CHOICES])
        position[CHOICES] += rates.xi_unit != PER_EPISODE
        x = rng.random()
        if x < xi:
            position[EXPLOITED] = position[CLEAN] = 0
            unused = 0
            for i in range(count):
                at = slot(table, mask, position[NUMERIC] * width + values.open[i])
                unused += table.key[at] < 0 or table.used[at] == 0
            among = unused if unused > 0 else count
            # x / xi is uniform again; `pick` counts among the unused ones first and is then made a place in `open`.
            pick = min(int(x / xi * among), among - 1)
            if among < count:
                for i in range(count):
                    at = slot(table, mask, position[NUMERIC] * width + values.open[i])
                    if table.key[at] < 0 or table.used[at] == 0:
                        if pick == 0:
                            pick = i
                            break
                        pick -= 1
        else:
            pick = lowest(table, values)
            # No open state has led to the goal yet. Any will do, and it still counts as exploitation.
            if pick < 0:
                pick = min(int((x - xi) / (1.0 - xi) * count), count - 1)
    position[CHOICE] = values.open[pick]
    table.used[insert(table, mask, position[NUMERIC] * width + position[CHOICE])] += 1


@hot
def act(values: CoupledValues, table: StepsToGo, rates: Coefficients, rng: np.random.Generator) -> int:
    """The next training action: epsilon-greedy in the low-level policy of the chosen objective."""
    position = values.position
    epsilon = stepping.scheduled(rates.epsilon, position[STEP])
    # No objective is open here, so there is no policy to follow.
    if position[OPEN] == 0:
        return min(int(rng.random() * values.q.shape[1]), values.q.shape[1] - 1)
    if position[CHOICE] < 0:
        choose(table, values, rates, rng)
    return stepping.explore(values.q, position[stepping.STATE], position[CHOICE], epsilon, rng)


@hot
def final_reward(values: CoupledValues, rates: Coefficients, k: int, duration: int, length: int) -> float:
    """R(K, tau) of Theorem 1 by one of three readings of delta K; the full reward where delta K is 0 or not yet known.

    `duration` is K^tau, `length` K. The term in r_mi comes from a bound that holds for K^tau < K_op only, and is paid then;
    as printed always.
    """
    if not rates.joint:
        return rates.full_reward
    # late is K - K_mi, early K_op - K^tau. Unknown estimates are infinite: late is then minus infinity,
    # early plus infinity, and neither lies strictly between 0 and infinity.
    late, early = length - values.shortest_episode[0], values.best_duration[k] - duration
    excess = late if rates.delta == EPISODE else max(early, late)
    if not (0.0 < excess < np.inf) or (rates.delta == GATED and late <= 0.0):
        return rates.full_reward
    r = rates.gamma ** (excess + 1.0) * rates.full_reward
    if rates.min_step_reward != 0.0 and rates.gamma < 1.0 and (early > 0.0 or rates.delta == PRINTED):
        # gamma ** (1 - K^tau) overflows for thousands of steps (K > 6737 at 0.9), hence the bound below.
        scale = rates.gamma ** min(1.0 - duration, 0.0) - rates.gamma**excess
        r += min(scale, 1e12) / (1.0 - rates.gamma) * rates.min_step_reward
    return r


@hot
def finish(values: CoupledValues, table: StepsToGo, rates: Coefficients, success: bool) -> None:
    """The end of an episode: steps to go, the running estimates, and the replay of grounding transitions."""
    position, length = values.position, values.position[stepping.TIME]
    position[CHOICES] += rates.xi_unit == PER_EPISODE
    # The order matters: K_mi hears of this episode before its transitions are rewarded against it,
    # K_op of each objective only after its own transition has been.
    if success:
        for i in range(position[PASSED]):
            at = insert(table, values.passed_mask[i], values.passed[i, 0])
            togo = float(length - values.passed[i, 1])
            # The first estimate is taken whole: there is no average with infinity.
            if table.eta[at] == np.inf:
                table.eta[at] = togo
            else:
                table.eta[at] += rates.alpha_eta * (togo - table.eta[at])
        # K_mi only falls, and only by episodes without exploration of the order (proof of Theorem 1, part 2).
        if position[CLEAN] == 1 and length <= values.shortest_episode[0]:
            if values.shortest_episode[0] == np.inf:
                values.shortest_episode[0] = length
            else:
                values.shortest_episode[0] += rates.alpha_k * (length - values.shortest_episode[0])
    for i in range(position[GROUNDED]):
        s, a, k = values.ground[i, 0], values.ground[i, 1], values.ground[i, 2]
        duration, exploited = values.ground[i, 3], values.ground[i, 4]
        # The paper is silent on what is replayed; transitions whose own choice exploited worked. EXPLOITED is of the choice in
        # hand, also for an objective that was completed by accident on the way.
        if exploited == 1:
            pull(values.q, values.v, s, a, k, final_reward(values, rates, k, duration, length), rates.alpha)
        if exploited == 1 and success:
            if values.best_duration[k] == np.inf:
                values.best_duration[k] = duration
            else:
                values.best_duration[k] += rates.alpha_k * (duration - values.best_duration[k])


@hot
def ground(values: CoupledValues, s: int, a: int, k: int) -> None:
    """Note that a step completed the open objective k: it is learnt, and its steps to go, when the episode has ended."""
    position, at = values.position, values.position[GROUNDED]
    if at >= values.ground.shape[0]:
        return
    # TIME already counts this step; NUMERIC and mask are still those of the coupled state that is left.
    values.ground[at, 0], values.ground[at, 1], values.ground[at, 2] = s, a, k
    values.ground[at, 3], values.ground[at, 4] = position[stepping.TIME] - position[ENTERED], position[EXPLOITED]
    position[GROUNDED] += 1
    left = position[PASSED]
    values.passed[left, 0] = position[NUMERIC] * values.best_duration.shape[0] + k
    values.passed[left, 1], values.passed_mask[left] = position[ENTERED], values.mask[0]
    position[PASSED] += 1


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
    position = values.position
    s, u, mask = position[stepping.STATE], position[NUMERIC], values.mask[0]
    s2, ends = world.next[s, a, o], world.ends[s, a, o]
    entry, mask2, completed = stepping.advance(machine, u, mask, world.label[s, a, o])
    u2 = machine.next[entry]
    failed = machine.status[u2] == FAILURE or (ends and machine.status[u2] != SUCCESS)
    moved = u2 != u or mask2 != mask
    finished = moved and (completed != stepping.ZERO or machine.fired[entry] >= 0)
    r = 0.0
    # A transition's own reward is not learnt from: final_reward takes its place at the end of the episode.
    if not moved and machine.reward[entry] != 0.0:
        r = stepping.reward(world, machine.reward[entry], machine.signal[entry], s, a, o)
    # After a failure nothing follows: every target is then the step's reward alone.
    q, v, gamma = values.q, values.v, 0.0 if failed else rates.gamma
    position[stepping.TIME] += 1
    position[STEP] += 1
    # Lifted update (paper, Section 4): all that were not completed learn at once. The time limit is no end for them.
    if finished and not failed:
        for i in range(position[OPEN]):
            k = values.open[i]
            if not stepping.completes(machine, entry, completed, k):
                pull(q, v, s, a, k, r + gamma * v[s2, k], rates.alpha)
            else:
                ground(values, s, a, k)
    else:
        for i in range(position[OPEN]):
            k = values.open[i]
            pull(q, v, s, a, k, r + gamma * v[s2, k], rates.alpha)
    position[stepping.STATE], position[NUMERIC], values.mask[0] = s2, u2, mask2
    if failed or machine.status[u2] != RUNNING or position[stepping.TIME] >= rates.limit:
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
    """Train for `count` steps, or until the table is too full or an outcome missing; returns those taken; 0 begins an episode."""
    position = values.position
    if count == 0:
        begin(world, machine, values, rng)
    for done in range(count):
        # Half full at most, counting what `finish` may insert (PASSED), what `choose` may, and what this step may pass.
        # Asked before anything is drawn, so that a stop for a larger table changes no random number.
        if 2 * (table.size[0] + position[PASSED] + 2) > table.key.shape[0]:
            return done
        s = position[stepping.STATE]
        if position[stepping.ACTION] < 0:
            position[stepping.ACTION] = act(values, table, rates, rng)
            position[stepping.OUTCOME] = stepping.outcome(world, s, position[stepping.ACTION], rng)
        a, o = position[stepping.ACTION], position[stepping.OUTCOME]
        if world.next[s, a, o] == stepping.UNKNOWN:
            return done
        position[stepping.ACTION] = -1
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
    """Length, total reward and success of one greedy episode; `values` is a copy whose `position` may be written to."""
    position = values.position
    begin(world, machine, values, rng)
    total = 0.0
    for t in range(limit):
        if position[OPEN] == 0:
            return limit, total, False
        # No draw: evaluations of one policy are the same each time, but for the world's chance.
        if position[CHOICE] < 0:
            position[CHOICE] = values.open[max(lowest(table, values), 0)]
        s = position[stepping.STATE]
        a = stepping.best_action(values.q, s, position[CHOICE])
        o = stepping.outcome(world, s, a, rng)
        entry, mask2, _ = stepping.advance(machine, position[NUMERIC], values.mask[0], world.label[s, a, o])
        u2 = machine.next[entry]
        total += stepping.reward(world, machine.reward[entry], machine.signal[entry], s, a, o)
        if machine.status[u2] != RUNNING or world.ends[s, a, o]:
            return t + 1, total, machine.status[u2] == SUCCESS
        moved = u2 != position[NUMERIC] or mask2 != values.mask[0]
        position[stepping.STATE], position[NUMERIC], values.mask[0] = world.next[s, a, o], u2, mask2
        if moved:
            occupy(machine, values)
    return limit, total, False
