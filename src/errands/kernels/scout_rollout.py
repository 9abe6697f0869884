"""One episode of a tabular world along a list of actions, for Scout's evaluations."""

from __future__ import annotations

import numpy as np

from errands.kernels import jit
from errands.kernels.scout_machine import ScoutMachine, advance
from errands.kernels.stepping import outcome
from errands.tables import RUNNING, SUCCESS, Ints, WorldTable


@jit
def rehearse(
    world: WorldTable, machine: ScoutMachine, s: int, actions: Ints, limit: int, rng: np.random.Generator
) -> tuple[int, float, bool]:
    """Steps, total reward and success of these actions from s; when they run out, action 0 until the limit."""
    u, total = machine.initial, 0.0
    mask, after = machine.full.copy(), machine.full.copy()
    for step in range(limit):
        a = actions[step] if step < actions.shape[0] else 0
        o = outcome(world, s, a, rng)
        label = world.label[s, a, o]
        row = advance(machine, u, mask, label, after)
        k = machine.signal[label, row]
        paid = machine.reward[label, row]
        total += paid if k < 0 else paid * world.signal[k, s, a, o]
        u = machine.next[label, row]
        mask[:] = after
        if machine.status[u] != RUNNING or world.ends[s, a, o]:
            return step + 1, total, machine.status[u] == SUCCESS
        s = world.next[s, a, o]
    return limit, total, False
