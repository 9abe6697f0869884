"""Breadth-first search over world x agenda: a product state is m * S + s, m the number of an agenda state."""

from __future__ import annotations

import numpy as np

from errands.kernels import jit
from errands.kernels.stepping import advance
from errands.tables import AgendaTable, Ints, Masks, WorldTable

DONE, DEAD = -1, -2
"""In place of the next agenda state: the task has succeeded, or it can no longer succeed."""


@jit
def expand(machine: AgendaTable, u: int, masks: Masks) -> tuple[Ints, Masks]:
    """The entry and the mask after a step from (u, mask) with each label, both [masks, labels]."""
    labels = machine.label_bits.shape[0]
    entry = np.empty((masks.shape[0], labels), np.int32)
    after = np.empty((masks.shape[0], labels), np.uint64)
    for i in range(masks.shape[0]):
        for label in range(labels):
            found, left, _ = advance(machine, u, masks[i], label)
            entry[i, label] = found
            after[i, label] = left
    return entry, after


@jit
def breadth_first(world: WorldTable, following: Ints, origin: int, level: Ints, whole: bool) -> tuple[Ints, int]:
    """Where each state was reached from (-1: not reached), and the state whose next step succeeds first (-1: none).

    Moves must be certain. The search stops at the first success unless the `whole` space is wanted; `level` receives
    the steps to each state where it is not empty.
    """
    count, actions = world.next.shape[0], world.next.shape[1]
    origin_of = np.full(following.shape[0] * count, -1, np.int32)
    origin_of[origin] = origin
    layer = np.empty(1024, np.int32)
    layer[0] = origin
    waiting, size, depth, last = np.empty(1024, np.int32), 1, 0, -1
    while size > 0:
        found = 0
        for i in range(size):
            here = layer[i]
            m, s = here // count, here % count
            if level.shape[0] > 0:
                level[here] = depth
            for a in range(actions):
                target = following[m, world.label[s, a, 0]]
                if target == DONE:
                    if last < 0:
                        last = here
                    if not whole:
                        return origin_of, last
                    continue
                if target == DEAD or world.ends[s, a, 0]:
                    continue
                there = target * count + world.next[s, a, 0]
                if origin_of[there] >= 0:
                    continue
                origin_of[there] = here
                if found == waiting.shape[0]:
                    longer = np.empty(2 * found, np.int32)
                    for j in range(found):  # a slice here would have the compiler spend seconds on its error message
                        longer[j] = waiting[j]
                    waiting = longer
                waiting[found] = there
                found += 1
        layer, waiting = waiting, layer
        size = found
        depth += 1
    return origin_of, last
