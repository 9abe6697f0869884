"""Exact solutions on world x agenda: breadth-first search, and value iteration where moves are random.

A product state is m * S + s, m the number of an agenda state, s that of a world state. `following` [M, L] is the agenda
state after a step with each label, or DONE or DEAD.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot, jit
from errands.kernels.stepping import advance
from errands.tables import AgendaTable, Flags, Floats, Ints, Masks, WorldTable

DONE, DEAD = -1, -2
"""In place of the next agenda state: the task has succeeded, or it can no longer succeed."""


@hot
def expand(machine: AgendaTable, u: int, masks: Masks, entry: Ints, after: Masks, completed: Masks) -> None:
    """Write the entry, the mask after it and those completed by a step from (u, mask) with each label, all [masks, labels]."""
    for i in range(masks.shape[0]):
        for label in range(machine.label_bits.shape[0]):
            entry[i, label], after[i, label], completed[i, label] = advance(machine, u, masks[i], label)


NEXT, SIZE, REACHED, DEPTH, LAST = range(5)
"""Where a search stands: the place in its layer, that layer's size, the next one's so far, steps from the origin, success."""


@hot
def go_on(
    world: WorldTable, following: Ints, origin_of: Ints, level: Ints, layers: Ints, at: NDArray[np.int64], whole: bool
) -> bool:
    """Go on with a breadth-first search; False where the next layer may need more room than `layers` has.

    `layers` [2, room] takes turns: one row is the layer being left, the other the one being filled.
    """
    count, actions = world.next.shape[0], world.next.shape[1]
    while at[SIZE] > 0:
        layer = at[DEPTH] % 2
        while at[NEXT] < at[SIZE]:
            if at[REACHED] + actions > layers.shape[1]:
                return False
            here = layers[layer, at[NEXT]]
            at[NEXT] += 1
            m, s = here // count, here % count
            if level.shape[0] > 0:
                level[here] = at[DEPTH]
            for a in range(actions):
                # Outcome 0 is the only one, as moves are certain.
                target = following[m, world.label[s, a, 0]]
                # Success is asked before `ends`: a world may end the episode with the very step that succeeds.
                if target == DONE:
                    if at[LAST] < 0:
                        at[LAST] = here
                    if not whole:
                        return True
                    continue
                if target == DEAD or world.ends[s, a, 0]:
                    continue
                there = target * count + world.next[s, a, 0]
                if origin_of[there] < 0:
                    origin_of[there] = here
                    layers[1 - layer, at[REACHED]] = there
                    at[REACHED] += 1
        at[NEXT], at[SIZE], at[REACHED] = 0, at[REACHED], 0
        at[DEPTH] += 1
    return True


def breadth_first(world: WorldTable, following: Ints, origin: int, level: Ints, whole: bool) -> tuple[Ints, int]:
    """Where each state was reached from (-1: not reached), and the state whose next step succeeds first (-1: none).

    Moves must be certain. The search stops at the first success unless the `whole` space is wanted; `level` receives
    the steps to each state where it is not empty.
    """
    # Also the set of states seen; the origin comes from itself, which ends a walk back along it.
    origin_of = np.full(len(following) * len(world.next), -1, np.int32)
    origin_of[origin] = origin
    layers, at = np.full((2, 1024), origin, np.int32), np.array([0, 1, 0, 0, -1])
    while not go_on(world, following, origin_of, level, layers, at, whole):
        layers = np.concatenate([layers, layers], axis=1)
    return origin_of, int(at[LAST])


class Payment(NamedTuple):
    """What a step pays: a constant for every step, and the machine's reward where `factor` has rows."""

    each: float
    factor: Floats
    """[M, L] the constant reward, or the factor of the signal; no rows where the machine's rewards do not count."""
    signal: Ints
    """[M, L] index of the signal that is paid, -1 for a constant."""
    success: float
    """Paid in addition when the task succeeds."""
    failure: float
    """Paid in addition when it fails, or the world ends the episode."""
    gamma: float


@jit
def within(world: WorldTable, chance: Floats, row: Ints, s: int, a: int, inside: Flags) -> bool:
    """Whether no outcome of an action fails or leaves the set `inside`; `row` is one agenda state's `following`."""
    count = world.next.shape[0]
    for o in range(world.next.shape[2]):
        # Padding outcomes have chance 0 and are no outcomes.
        if chance[s, a, o] > 0.0:
            target = row[world.label[s, a, o]]
            if target == DONE:
                continue
            if target == DEAD or world.ends[s, a, o] or not inside[target * count + world.next[s, a, o]]:
                return False
    return True


@jit
def nearing(world: WorldTable, chance: Floats, row: Ints, s: int, a: int, near: Flags) -> bool:
    """Whether some outcome of an action succeeds or enters the set `near`."""
    count = world.next.shape[0]
    for o in range(world.next.shape[2]):
        if chance[s, a, o] > 0.0:
            target = row[world.label[s, a, o]]
            if target == DONE:
                return True
            if target != DEAD and not world.ends[s, a, o] and near[target * count + world.next[s, a, o]]:
                return True
    return False


@jit
def surely(world: WorldTable, chance: Floats, following: Ints) -> Flags:
    """The states from which some policy succeeds with probability 1: the greatest set that can keep to itself.

    Two fixed points, one inside the other. `near` grows from success: states with an action that stays inside for sure
    and may come nearer. `inside` shrinks to it, until from every state inside there is a way on that cannot leave. Agenda
    states are swept from the last to the first because machines mostly lead on to higher numbers.
    """
    count, actions = world.next.shape[0], world.next.shape[1]
    inside = np.ones(following.shape[0] * count, np.bool_)
    shrinking = True
    # Each round starts `near` anew: a way on that led through a state now outside must be proved again.
    while shrinking:
        near = np.zeros(inside.shape[0], np.bool_)
        growing = True
        while growing:
            growing = False
            for m in range(following.shape[0] - 1, -1, -1):
                # A world's states come in no useful order, so each agenda state is swept until it stands still.
                again = True
                while again:
                    again = False
                    for s in range(count):
                        here = m * count + s
                        if near[here] or not inside[here]:
                            continue
                        for a in range(actions):
                            if within(world, chance, following[m], s, a, inside) and nearing(
                                world, chance, following[m], s, a, near
                            ):
                                near[here] = True
                                again = True
                                growing = True
                                break
        shrinking = bool(np.any(inside != near))
        inside = near
    return inside


@jit
def worth(
    world: WorldTable, chance: Floats, following: Ints, pay: Payment, value: Floats, m: int, s: int, a: int
) -> float:
    """What an action is worth: its expected payment and the discounted value of what follows."""
    count = world.next.shape[0]
    total = pay.each
    for o in range(world.next.shape[2]):
        p = chance[s, a, o]
        if p <= 0.0:
            continue
        label = world.label[s, a, o]
        if pay.factor.shape[0] > 0:
            k = pay.signal[m, label]
            total += p * (pay.factor[m, label] if k < 0 else pay.factor[m, label] * world.signal[k, s, a, o])
        target = following[m, label]
        if target == DONE:
            total += p * pay.success
        elif target != DEAD and not world.ends[s, a, o]:
            total += p * pay.gamma * value[target * count + world.next[s, a, o]]
        else:
            total += p * pay.failure
    return total


@jit
def iterate(
    world: WorldTable, chance: Floats, following: Ints, pay: Payment, inside: Flags, tolerance: float
) -> tuple[Floats, Ints]:
    """Values and best actions by Gauss-Seidel sweeps to and fro, from 0 until none changes by more than `tolerance`.

    Where `inside` has entries, only its states and the actions that cannot leave it are used.
    """
    count, actions = world.next.shape[0], world.next.shape[1]
    value = np.zeros(following.shape[0] * count)
    best = np.full(value.shape[0], -1, np.int32)
    limited = inside.shape[0] > 0
    # Pass over all agenda states until a pass changes none: two passes where they lead to higher numbers only.
    passing = True
    while passing:
        passing = False
        for m in range(following.shape[0] - 1, -1, -1):
            change = tolerance + 1.0
            back = False
            while change > tolerance:
                change = 0.0
                back = not back
                for i in range(count):
                    # To and fro, so that values travel far in one sweep whichever way the world's states are numbered.
                    s = count - 1 - i if back else i
                    here = m * count + s
                    if limited and not inside[here]:
                        continue
                    high = -np.inf
                    for a in range(actions):
                        if limited and not within(world, chance, following[m], s, a, inside):
                            continue
                        q = worth(world, chance, following, pay, value, m, s, a)
                        # The first of equal actions: no tie is left to chance.
                        if q > high:
                            high = q
                            best[here] = a
                    change = max(change, abs(high - value[here]))
                    value[here] = high
                if change > tolerance:
                    passing = True
    return value, best


@jit
def within_steps(
    world: WorldTable, chance: Floats, following: Ints, pay: Payment, value: Floats, plan: Ints, steps: int, tolerance: float,
    work: int,
) -> tuple[bool, Floats]:
    """The greatest values with so many steps to go, from those with none (`value`), which are overwritten.

    Time is one more state: a sweep adds one step. Where `plan` has entries it is followed, and its states without an
    action are left as they are. No change grows from one sweep to the next, so that a sweep that changes nothing by more
    than tolerance / steps leaves an error of `tolerance` at most. False where more than `work` outcomes would be visited.
    """
    count, actions, outcomes = world.next.shape
    planned = plan.shape[0] > 0
    after = value.copy()
    visits = value.shape[0] * outcomes * (1 if planned else actions)
    for step in range(steps):
        if (step + 1) * visits > work:
            return False, value
        change = 0.0
        for m in range(following.shape[0]):
            for s in range(count):
                here = m * count + s
                high = -np.inf
                if planned:
                    if plan[here] < 0:
                        continue
                    high = worth(world, chance, following, pay, value, m, s, plan[here])
                else:
                    for a in range(actions):
                        high = max(high, worth(world, chance, following, pay, value, m, s, a))
                if high != value[here]:
                    change = max(change, abs(high - value[here]))
                after[here] = high
        value, after = after, value
        if change * steps <= tolerance:
            break
    return True, value
