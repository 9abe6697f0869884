"""The optimum of Water and zones, exactly: at every place and speed the machine states in which one can be there, step by step.

The agent is always on whole numbers, and no ball feels it. So what can be reached in t steps is an array of bits `now`
[SIDE * SIDE, SPEEDS * SPEEDS, words]: bit m of a place and a velocity is machine state m. A touch is an overlap that
begins, so it depends on the place a step came from: steps are gone through by that place, not by the one they lead to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot, jit
from errands.kernels.search import DEAD, DONE
from errands.tables import Ints

SIDE, SPEEDS, BITS = 371, 7, 32
"""Places and velocities along an axis, and machine states in a word."""
TOP, PUSH = 9, 3
"""The highest velocity, and what a push adds; the velocities are TOP, TOP - PUSH, ... down to -TOP."""
Bits = NDArray[np.uint32]
Touches = NDArray[np.uint16]


@hot
def landed(at: int, speed: int) -> tuple[int, int]:
    """Place and velocity along one axis after a move: past a wall an agent is put against it and turned round."""
    there = at + PUSH * speed - TOP
    if there < 0:
        return 0, SPEEDS - 1 - speed
    if there >= SIDE:
        return SIDE - 1, SPEEDS - 1 - speed
    return there, speed


@jit
def spread(
    now: Bits, then: Bits, old: Touches, new: Touches, colours: Ints, following: Ints, same: NDArray[np.bool_], box: Ints,
    landing: Ints, shut: NDArray[np.bool_],
) -> bool:  # fmt: skip
    """Write what one more step reaches into `then`; True where a step succeeds, and then `landing` is where it led.

    Nothing is anywhere but in the `box` of first and last places (x, x, y, y), nor in `then`, which is overwritten.

    `old` and `new` [SIDE * SIDE] are the balls that each place overlaps before and after the step, `colours` the label of a
    set of balls that are newly overlapped; `following` [M, L] is the machine, `same` [L] whether a label leaves all as it is.
    Whom a place that is `shut` would take in stays where he was, turned round.
    """
    words, alive, places = now.shape[2], False, (box[1] - box[0] + 1) * (box[3] - box[2] + 1)
    for x in range(max(0, box[0] - TOP), min(SIDE, box[1] + TOP + 1)):
        then[x * SIDE + max(0, box[2] - TOP) : x * SIDE + min(SIDE, box[3] + TOP + 1)] = 0
    for place in range(places):
        x, y = box[0] + place // (box[3] - box[2] + 1), box[2] + place % (box[3] - box[2] + 1)
        cell, empty = x * SIDE + y, True
        for v in range(SPEEDS * SPEEDS):
            for w in range(words):
                if now[cell, v, w] != 0:
                    empty = False
        if empty:
            continue
        alive = True
        for v in range(SPEEDS * SPEEDS):
            ux, uy = v // SPEEDS, v % SPEEDS
            xx, sx = landed(x, ux)
            yy, sy = landed(y, uy)
            there, speed = xx * SIDE + yy, sx * SPEEDS + sy
            if shut[there]:
                there, speed = cell, SPEEDS * SPEEDS - 1 - v
            label = colours[new[there] & ~old[cell]]
            for w in range(words):
                # All velocities from which an action leads to this one; at the top speed a push changes nothing.
                bits = now[cell, v, w]
                if ux > 0:
                    bits |= now[cell, v - SPEEDS, w]
                if ux < SPEEDS - 1:
                    bits |= now[cell, v + SPEEDS, w]
                if uy > 0:
                    bits |= now[cell, v - 1, w]
                if uy < SPEEDS - 1:
                    bits |= now[cell, v + 1, w]
                if bits == 0:
                    continue
                if same[label]:
                    then[there, speed, w] |= bits
                    continue
                for b in range(BITS):
                    if bits >> np.uint32(b) & np.uint32(1):
                        target = following[w * BITS + b, label]
                        if target == DONE:
                            landing[0], landing[1] = there, speed
                            return True
                        if target != DEAD:
                            then[there, speed, target // BITS] |= np.uint32(1) << np.uint32(target % BITS)
    # Told apart from success by the place: nothing is anywhere any more.
    if not alive:
        landing[0], landing[1] = DEAD, DEAD
    return False


@jit
def before(
    now: Bits, old: Touches, new: Touches, colours: Ints, following: Ints, pushes: Ints, there: int, speed: int, target: int,
    found: Ints, shut: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Write a place, velocity, machine state and action into `found` from which a step leads there, at this speed, in `target`."""
    x, y = there // SIDE, there % SIDE
    for xx in range(max(0, x - TOP), min(SIDE, x + TOP + 1)):
        for yy in range(max(0, y - TOP), min(SIDE, y + TOP + 1)):
            cell = xx * SIDE + yy
            label = colours[new[there] & ~old[cell]]
            for v in range(SPEEDS * SPEEDS):
                for action in range(pushes.shape[0]):
                    ux = min(SPEEDS - 1, max(0, v // SPEEDS + pushes[action, 0]))
                    uy = min(SPEEDS - 1, max(0, v % SPEEDS + pushes[action, 1]))
                    atx, sx = landed(xx, ux)
                    aty, sy = landed(yy, uy)
                    at, turned = atx * SIDE + aty, sx * SPEEDS + sy
                    if shut[at]:
                        at, turned = cell, SPEEDS * SPEEDS - 1 - (ux * SPEEDS + uy)
                    if at != there or turned != speed:
                        continue
                    for m in range(following.shape[0]):
                        if following[m, label] == target and now[cell, v, m // BITS] >> np.uint32(m % BITS) & np.uint32(1):
                            found[0], found[1], found[2], found[3] = cell, v, m, action
                            return
