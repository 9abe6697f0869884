"""HRM: one option per machine transition, learnt off-policy all at once, under an SMDP controller (Section 2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot, stepping
from errands.kernels.q_learning import Alive, Settled, begin, pull, top
from errands.tables import RUNNING, SUCCESS, Floats, Ints, MachineTable, Slope, WorldTable

OPTION, SINCE, FROM, FIELDS = range(stepping.SHARED, stepping.SHARED + 4)
"""Behind the shared fields: the option in hand (-1 for none), the steps it has lasted, the world state it began in."""


class Options(NamedTuple):
    """The options out of each machine state i: edges first[i]:first[i + 1], each ending in target[e].

    Options that learn together, those of all states alive in i, lie in few unbroken runs of numbers. A loop over a run
    becomes vector instructions, one over a list of states does not; so runs are listed beforehand, by group of states.
    """

    first: Ints
    """[U + 1]."""
    target: Ints
    """[E]."""
    run_first: NDArray[np.int64]
    """[groups + 1] the runs of group g are run_first[g]:run_first[g + 1]."""
    run: NDArray[np.uint32]
    """[R, 2] the first edge of each run, and the one after its last."""


@hot
def count_runs(alive: Alive, first: Ints, i: int, run: NDArray[np.uint32], at: int) -> int:
    """The unbroken runs of options of all states alive in i; written from run[at] on, where `run` has rows."""
    # Called twice: with an empty `run` to learn how many there are, then with room to write them.
    count, end = 0, -1
    for k in range(alive.slice[i, 0], alive.slice[i, 1]):
        state = alive.running[k]
        # A state without options adds nothing, and does not break a run: edge numbers go on behind it.
        if first[state] == first[state + np.uint32(1)]:
            continue
        if first[state] != end:
            if run.shape[0] > 0:
                run[at + count, 0] = first[state]
            count += 1
        end = first[state + np.uint32(1)]
        if run.shape[0] > 0:
            run[at + count - 1, 1] = end
    return count


class OptionRates(NamedTuple):
    """The settings that a step of HRM reads."""

    alpha: float
    gamma: float
    epsilon: Slope
    alpha_controller: float
    epsilon_controller: float
    full_reward: float
    option_limit: int
    limit: int


class OptionValues(NamedTuple):
    """What HRM learns."""

    # Options come last, so that a loop over a run of them walks through memory one number at a time.
    q: Floats
    """[S, A, E] low-level values of each option."""
    v: Floats
    """[S, E] their maximum over actions."""
    controller: Floats
    """[S, E] the controller's value of taking an option in a world state."""
    gain: Floats
    """[2] the discounted reward collected by the option in hand, and the discount so far."""


@hot
def quiet_options(
    options: Options, values: OptionValues, s: int, a: int, s2: int, group: int, alpha: float, gamma: float
) -> bool:
    """A step on which no machine state moves or is paid, replayed for all options of a group; True when one changed."""
    q, v, moved = values.q, values.v, False
    for r in range(options.run_first[group], options.run_first[group + 1]):
        # Two loops, as each becomes vector instructions; an option reads its own v only, so this is safe where s2 is s.
        for e in range(np.uint64(options.run[r, 0]), np.uint64(options.run[r, 1])):
            old = q[s, a, e]
            new = old + alpha * (gamma * v[s2, e] - old)
            moved |= new != old
            q[s, a, e] = new
        for e in range(np.uint64(options.run[r, 0]), np.uint64(options.run[r, 1])):
            v[s, e] = top(q, s, e)
    return moved


@hot
def hrm_learn(
    world: WorldTable,
    alive: Alive,
    options: Options,
    values: OptionValues,
    settled: Settled,
    rates: OptionRates,
    s: int,
    a: int,
    o: int,
    i: int,
) -> None:
    """One world step replayed for every option of every machine state alive in i, unless it is settled.

    An option is paid what the machine pays for its steps, and `full_reward` besides for its own transition. Where
    another transition ends it, only a loss counts: a gain there would teach it to make that transition instead.
    """
    s2, group = world.next[s, a, o], alive.group[i]
    # Read before anything is written: it is the version that the replay below sees.
    version = settled.version[s2]
    if settled.at[s, a, group] == version:
        return
    label, ends, moved = world.label[s, a, o], world.ends[s, a, o], False
    if alive.quiet[label] and not ends:
        moved = quiet_options(options, values, s, a, s2, group, rates.alpha, rates.gamma)
        # An empty range: the loop below is then skipped.
        stop = alive.slice[i, 0]
    else:
        stop = alive.slice[i, 1]
    for at in range(alive.slice[i, 0], stop):
        k = alive.running[at]
        j = alive.next[label, k]
        r = stepping.reward(world, alive.reward[label, k], alive.signal[label, k], s, a, o)
        for e in range(options.first[k], options.first[k + 1]):
            # Its own transition ends an option: nothing is added for what follows, as the controller values that.
            if j == options.target[e]:
                target = r + rates.full_reward
            elif j == k:
                target = r if ends else r + rates.gamma * values.v[s2, e]
            else:
                target = min(r, 0.0)
            moved |= pull(values.q, values.v, s, a, e, target, rates.alpha)
    if moved:
        settled.version[s] += 1
    elif settled.certain:
        settled.at[s, a, group] = version


@hot
def foremost(controller: Floats, s: int, first: int, last: int) -> int:
    """The first option of highest value among first..last-1."""
    best = first
    for e in range(first + 1, last):
        if controller[s, e] > controller[s, best]:
            best = e
    return best


@hot
def pick(controller: Floats, s: int, first: int, last: int, epsilon: float, rng: np.random.Generator) -> int:
    """A random option with probability epsilon, else one of highest value, ties broken at random."""
    # One draw for both questions: below epsilon x / epsilon is uniform again, above it the rest is.
    x = rng.random()
    if x < epsilon:
        return first + min(int(x / epsilon * (last - first)), last - first - 1)
    best, ties = foremost(controller, s, first, last), 0
    # `best` is the first of the highest, so that no tie stands before it.
    for e in range(best, last):
        ties += controller[s, e] == controller[s, best]
    rank = min(int((x - epsilon) / (1.0 - epsilon) * ties), ties - 1)
    for e in range(best, last):
        if controller[s, e] == controller[s, best]:
            if rank == 0:
                return e
            rank -= 1
    return best


@hot
def settle(
    options: Options, values: OptionValues, rates: OptionRates, position: NDArray[np.int64], s2: int, j: int, over: bool
) -> None:
    """End the option in hand: one SMDP update of the controller."""
    # gain[1] is gamma ** SINCE: the discount of an option that took SINCE steps.
    target = values.gain[0]
    # A time limit is not an end: the value of what would have followed is added all the same.
    if not over:
        first, last = options.first[j], options.first[j + 1]
        if last > first:
            target += values.gain[1] * values.controller[s2, foremost(values.controller, s2, first, last)]
    e, s = position[OPTION], position[FROM]
    values.controller[s, e] += rates.alpha_controller * (target - values.controller[s, e])
    position[OPTION] = -1


@hot
def hrm_loop(
    world: WorldTable,
    machine: MachineTable,
    alive: Alive,
    options: Options,
    values: OptionValues,
    settled: Settled,
    position: NDArray[np.int64],
    rates: OptionRates,
    step: int,
    count: int,
    rng: np.random.Generator,
) -> int:
    """Train for `count` steps after `step`, or until an outcome is missing; returns the steps taken; 0 begins an episode."""
    if count == 0:
        begin(world, machine, position, rng)
    for done in range(count):
        s, i = position[stepping.STATE], position[stepping.MACHINE]
        first, last = options.first[i], options.first[i + 1]
        # The draws are option, action, outcome, in this order; a stop in between finds them in `position`.
        if position[OPTION] < 0 and last > first:
            position[OPTION] = pick(values.controller, s, first, last, rates.epsilon_controller, rng)
            position[FROM], position[SINCE] = s, 0
            values.gain[0], values.gain[1] = 0.0, 1.0
        if position[stepping.ACTION] < 0:
            if last > first:
                epsilon = stepping.scheduled(rates.epsilon, step + done)
                position[stepping.ACTION] = stepping.explore(values.q, s, position[OPTION], epsilon, rng)
            else:
                position[stepping.ACTION] = min(int(rng.random() * world.next.shape[1]), world.next.shape[1] - 1)
            position[stepping.OUTCOME] = stepping.outcome(world, s, position[stepping.ACTION], rng)
        a, o = position[stepping.ACTION], position[stepping.OUTCOME]
        label, s2, ends = world.label[s, a, o], world.next[s, a, o], world.ends[s, a, o]
        # Nothing is learnt yet and ACTION stays: the host fills in the outcome and calls again.
        if s2 == stepping.UNKNOWN:
            return done
        position[stepping.ACTION] = -1
        # All options learn from the step, whichever was in hand; only the controller asks which it was.
        hrm_learn(world, alive, options, values, settled, rates, s, a, o, i)
        j = machine.next[i, label]
        values.gain[0] += values.gain[1] * stepping.reward(world, machine.reward[i, label], machine.signal[i, label], s, a, o)
        values.gain[1] *= rates.gamma
        position[SINCE] += 1
        position[stepping.TIME] += 1
        over = ends or machine.status[j] != RUNNING
        late = position[stepping.TIME] >= rates.limit
        if position[OPTION] >= 0 and (over or late or j != i or position[SINCE] >= rates.option_limit):
            settle(options, values, rates, position, s2, j, over)
        position[stepping.STATE], position[stepping.MACHINE] = s2, j
        # OPTION is -1 by now: what ends an episode also ends the option in hand.
        if over or late:
            begin(world, machine, position, rng)
    return count


@hot
def greedy_options(
    world: WorldTable,
    machine: MachineTable,
    options: Options,
    values: OptionValues,
    rates: OptionRates,
    rng: np.random.Generator,
) -> tuple[int, float, bool]:
    """Length, total reward and success of one greedy episode."""
    s, i = stepping.start(world, rng), machine.initial
    total, e, since = 0.0, -1, 0
    for t in range(rates.limit):
        first, last = options.first[i], options.first[i + 1]
        if e < 0 and last > first:
            e, since = foremost(values.controller, s, first, last), 0
        # A machine state without options: only failure can follow, or nothing, whatever is done.
        a = stepping.best_action(values.q, s, e) if last > first else 0
        o = stepping.outcome(world, s, a, rng)
        label = world.label[s, a, o]
        j = machine.next[i, label]
        total += stepping.reward(world, machine.reward[i, label], machine.signal[i, label], s, a, o)
        since += 1
        if machine.status[j] != RUNNING or world.ends[s, a, o]:
            return t + 1, total, machine.status[j] == SUCCESS
        if j != i or since >= rates.option_limit:
            e = -1
        s, i = world.next[s, a, o], j
    return rates.limit, total, False
