"""The agenda states of a task and where each label leads, as arrays; only where they are few enough to be numbered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from errands.kernels.scout_states import States, enumerate_states, find, follow, moves
from errands.learners.scout.lowering import Lowering
from errands.machines.stepping import State
from errands.tables import FAILURE, RUNNING, Flags, Ints

FEW_STATES, MOST_STATES = 2_000, 150_000


@dataclass(frozen=True)
class Agenda:
    """Numbered agenda states with their successors under every label."""

    states: States
    delta: Ints
    """[L, X] the state after a step with each label."""
    useful: Flags
    """[L] whether a label can move the machine on without failing."""
    fatal: Flags
    """[L] whether a label fails the task in every running state."""
    layered: bool
    """Whether every move leads to a state with a higher number."""

    def number(self, state: State) -> int:
        """The number of an agenda state."""
        parts = self.states
        return int(find(parts.u, parts.mask, parts.slots, state[0], np.uint64(state[1])))

    def state(self, x: int) -> State:
        """The agenda state of a number."""
        return int(self.states.u[x]), int(self.states.mask[x])


def number_states(lowering: Lowering) -> Agenda | None:
    """The agenda states of a machine; None where they are too many."""
    machine = lowering.machine
    if lowering.words > 1:
        return None
    option_first, option_to, _ = lowering.options()
    few, us, masks, slots = enumerate_states(machine, option_first, option_to, FEW_STATES)
    if not few:
        few, us, masks, slots = enumerate_states(machine, option_first, option_to, MOST_STATES)
    if not few:
        return None
    status = machine.status[us]
    states = States(us, masks, status, slots, *moves(machine, us, masks, slots, option_first, option_to))
    sources = np.repeat(np.arange(len(us)), np.diff(states.first))
    return with_labels(lowering, states, bool((states.to > sources).all()))


def with_labels(lowering: Lowering, states: States, layered: bool) -> Agenda:
    """The same states under all labels known by now."""
    delta = follow(lowering.machine, states.u, states.mask, states.slots)
    fails = states.status[delta] == FAILURE
    moved = delta != np.arange(len(states.u), dtype=np.int32)
    running = states.status == RUNNING
    return Agenda(states, delta, (moved & ~fails).any(axis=1), fails[:, running].all(axis=1), layered)
