"""Q-learning over world state x machine state (Section 2), and the states that may learn from a step that others took."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot
from errands.kernels.stepping import (
    ACTION,
    MACHINE,
    OUTCOME,
    SHARED,
    STATE,
    TIME,
    UNKNOWN,
    best_action,
    best_value,
    explore,
    outcome,
    reward,
    scheduled,
    start,
)
from errands.tables import RUNNING, SUCCESS, Codes, Flags, Floats, Ints, MachineTable, Slope, WorldTable

# A machine state not yet unfolded (LazyMachine): the host adds its row and calls again.
UNBORN = -1
FIELDS = SHARED
"""Q-learning needs no more of a position than all loops do (see stepping)."""


class Rates(NamedTuple):
    """The settings that a step of Q-learning reads."""

    alpha: float
    gamma: float
    epsilon: Slope
    limit: int


@hot
def begin(world: WorldTable, machine: MachineTable, position: NDArray[np.int64], rng: np.random.Generator) -> None:
    """Put the agent at the start of an episode."""
    position[STATE] = start(world, rng)
    position[MACHINE] = machine.initial
    position[TIME] = 0


@hot
def draw(
    world: WorldTable, q: Floats, position: NDArray[np.int64], s: int, k: int, epsilon: float, rng: np.random.Generator
) -> None:
    """Draw the action of column k in state s and its outcome, once, even if the loop then stops to ask the host.

    So random numbers do not depend on stops: a loop that is called again finds ACTION and OUTCOME as they were drawn.
    """
    if position[ACTION] < 0:
        position[ACTION] = explore(q, s, k, epsilon, rng)
        position[OUTCOME] = outcome(world, s, position[ACTION], rng)


@hot
def move(
    world: WorldTable,
    machine: MachineTable,
    position: NDArray[np.int64],
    s2: int,
    j: int,
    over: bool,
    limit: int,
    rng: np.random.Generator,
) -> None:
    """Put the agent where the step has led, or at the start of the next episode."""
    position[STATE], position[MACHINE] = s2, j
    position[TIME] += 1
    if over or position[TIME] >= limit:
        begin(world, machine, position, rng)


@hot
def qrm_loop(
    world: WorldTable,
    machine: MachineTable,
    q: Floats,
    position: NDArray[np.int64],
    rates: Rates,
    step: int,
    count: int,
    rng: np.random.Generator,
) -> int:
    """Train for `count` steps after `step`, or until a machine state or an outcome is missing; returns the steps taken.

    No steps at all begin an episode: compiling an entry of its own for `begin` would take half a second.
    """
    if count == 0:
        begin(world, machine, position, rng)
    for done in range(count):
        s, i = position[STATE], position[MACHINE]
        draw(world, q, position, s, i, scheduled(rates.epsilon, step + done), rng)
        a, o = position[ACTION], position[OUTCOME]
        label = world.label[s, a, o]
        s2 = world.next[s, a, o]
        if s2 == UNKNOWN:
            return done
        j = machine.next[i, label]
        if j == UNBORN:
            return done
        # From here on the step is taken: nothing may stop it half done.
        position[ACTION] = -1
        r = reward(world, machine.reward[i, label], machine.signal[i, label], s, a, o)
        over = machine.status[j] != RUNNING or world.ends[s, a, o]
        # The time limit is not in `over`: it cuts an episode short, and the value of what follows still counts.
        target = r if over else r + rates.gamma * best_value(q, s2, j)
        q[s, a, i] += rates.alpha * (target - q[s, a, i])
        move(world, machine, position, s2, j, over, rates.limit, rng)
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


class Alive(NamedTuple):
    """Which machine states learn counterfactually while the machine is in state i: running[slice[i, 0]:slice[i, 1]]."""

    # Transposed: loops hold the label and run over machine states.
    next: Ints
    """[L, U] the machine's transitions, label by label."""
    reward: Floats
    """[L, U]."""
    signal: Ints
    """[L, U]."""
    status: Codes
    quiet: Flags
    """[L] whether no machine state moves or is paid on this label."""
    slice: NDArray[np.int64]
    """[U, 2]."""
    running: NDArray[np.uint32]
    """Unsigned like the loops over it: the compiler then need not ask whether an index counts from the end."""
    group: Ints
    """[U] machine states in which the same states are alive share a group."""


class Settled(NamedTuple):
    """Steps that change nothing: their last replay changed nothing, nor did q[next state] change since.

    A replay of (s, a) reads q[next state] and writes q[s, a]. So if one changed nothing, another changes nothing as long
    as q[next state] has the same version: it can be left out without changing a bit. That holds where moves are certain,
    for the machine states that learnt then, which is why it is noted by group of states alive. Not saved: a resumed run
    begins with nothing settled, and replays once more what would change nothing.
    """

    certain: bool
    """Whether a step from s with a always goes the same way; else nothing is ever settled."""
    version: Ints
    """[S] how often q[s] changed."""
    at: Ints
    """[S, A, groups] the version of the next state at which a replay changed nothing; -1 for none."""


@hot
def count_reachable(following: Ints, status: Codes, seen: Ints, stack: Ints, source: int) -> int:
    """How many running states can be reached from `source`, itself included; they are left in stack[:count]."""
    # `seen` is stamped with the number of the source and never cleared, so a call costs what it finds.
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


@hot
def reachable(
    following: Ints, status: Codes, seen: Ints, stack: Ints, first: NDArray[np.int64], running: NDArray[np.uint32]
) -> None:
    """List the running states that can still be reached from each state i in running[first[i]:first[i + 1]], in any order.

    Where `running` is empty, `first` is what is found out; else it is given.
    """
    for i in range(following.shape[0]):
        count = count_reachable(following, status, seen, stack, i)
        if running.shape[0] == 0:
            first[i + 1] = first[i] + count
        else:
            for k in range(count):
                running[first[i] + k] = stack[k]


@hot
def pull(q: Floats, v: Floats, s: int, a: int, k: int, target: float, alpha: float) -> bool:
    """Move q[s, a, k] towards its target and keep v[s, k], its maximum over actions; True when q changed."""
    old = q[s, a, k]
    if target == old:
        return False
    new = old + alpha * (target - old)
    q[s, a, k] = new
    # v is kept without looking at all actions, unless what has just fallen was the maximum.
    if new >= v[s, k]:
        v[s, k] = new
    elif old == v[s, k]:
        v[s, k] = best_value(q, s, k)
    # A small alpha can be lost in rounding: then the replay has changed nothing, and says so.
    return new != old


@hot
def top(q: Floats, s: int, k: int) -> float:
    """The highest value in q[s, :, k]; four actions are compared without a loop."""
    if q.shape[1] != 4:
        return best_value(q, s, k)
    # A tree of comparisons without a branch, which vector instructions can do; grids have four moves.
    first = q[s, 0, k] if q[s, 0, k] > q[s, 1, k] else q[s, 1, k]
    last = q[s, 2, k] if q[s, 2, k] > q[s, 3, k] else q[s, 3, k]
    return first if first > last else last
