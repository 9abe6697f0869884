"""Attempts at an edge of DiRL's graph with the policy that was learnt for it."""

from __future__ import annotations

import numpy as np

from errands.kernels import hot
from errands.kernels.stepping import outcome, start
from errands.tables import RUNNING, SUCCESS, Codes, Ints, MachineTable, WorldTable

MISSED = -1


@hot
def attempt_edge(
    world: WorldTable,
    machine: MachineTable,
    actions: Codes,
    limit: int,
    most: int,
    ends: Ints,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Fill `ends` with where each attempt succeeded, or MISSED; returns the attempts made and their steps.

    Stops after `most` steps; an attempt that this cuts short is not among those made, though its steps are counted.
    """
    steps = 0
    for k in range(ends.shape[0]):
        s, i = start(world, rng), machine.initial
        t = 0
        while machine.status[i] == RUNNING and t < limit:
            # Asked before each step, so that the budget is kept to the step.
            if steps == most:
                return k, steps
            a = actions[s]
            o = outcome(world, s, a, rng)
            i = machine.next[i, world.label[s, a, o]]
            s = world.next[s, a, o]
            t += 1
            steps += 1
        ends[k] = s if machine.status[i] == SUCCESS else MISSED
    return ends.shape[0], steps
