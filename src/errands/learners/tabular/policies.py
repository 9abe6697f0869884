"""Greedy policies as values: by machine state, by option, by objective."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from errands.machines.stepping import State, Stepper

Actions = NDArray[np.int8]


def changed(before: int, after: int) -> tuple[int, ...]:
    """The subtasks that one mask has and a later one has not."""
    gone = before & ~after
    return tuple(i for i in range(gone.bit_length()) if gone >> i & 1)


@dataclass(frozen=True)
class MachinePolicy:
    """One action per machine state and world state; machine states that were never met take action 0."""

    actions: Actions
    """[U, S]."""
    index: Mapping[tuple[int, object], int]
    """From (numeric state, remaining mask) or (numeric state, completion order) to the machine state."""
    full: int
    ordered: bool

    def act(self, world_state: int, machine_state: State, memory: Hashable) -> tuple[int, Hashable]:
        """The greedy action; the memory is the completion order where the machine tells orders apart."""
        i, memory = self.locate(machine_state, memory)
        return (0 if i is None else int(self.actions[i, world_state])), memory

    def locate(self, machine_state: State, memory: Hashable) -> tuple[int | None, Hashable]:
        """The machine state that an agenda state and the completions so far stand for, if it was met."""
        u, mask = machine_state
        if not self.ordered:
            return self.index.get((u, mask)), None
        order, before = memory if isinstance(memory, tuple) else ((), self.full)
        order = (*order, *changed(before, mask))
        return self.index.get((u, order)), (order, mask)


@dataclass(frozen=True)
class OptionPolicy:
    """A controller over options; the memory is the option in hand, since when, and the machine state it began in."""

    machine: MachinePolicy
    first: NDArray[np.int32]
    controller: NDArray[np.int32]
    """[S, U] the option that the controller takes."""
    actions: Actions
    """[S, E]."""
    option_limit: int

    def act(self, world_state: int, machine_state: State, memory: Hashable) -> tuple[int, Hashable]:
        """The action of the option in hand, or of a new one when it has ended."""
        option, since, begun, inner = memory if isinstance(memory, tuple) else (-1, 0, None, None)
        i, inner = self.machine.locate(machine_state, inner)
        if i is None or self.first[i] == self.first[i + 1]:
            return 0, (-1, 0, None, inner)
        if option < 0 or begun != i or since >= self.option_limit:
            option, since = int(self.controller[world_state, i]), 0
        return int(self.actions[world_state, option]), (option, since + 1, i, inner)


@dataclass(frozen=True)
class ObjectivePolicy:
    """The paper's policy: the open objective with the fewest steps to go, then that objective's own policy."""

    actions: Actions
    """[S, K]."""
    objectives: tuple[str, ...]
    steps_to_go: Mapping[tuple[int, int, str], float]
    """By numeric state, remaining mask and objective."""
    stepper: Stepper

    def choice(self, machine_state: State) -> str | None:
        """The objective chosen in an agenda state; the first open one where nothing is known."""
        open_ = self.stepper.alternatives(machine_state)
        known = [k for k in open_ if (*machine_state, k) in self.steps_to_go]
        if not open_:
            return None
        return min(known, key=lambda k: self.steps_to_go[(*machine_state, k)]) if known else open_[0]

    def act(self, world_state: int, machine_state: State, memory: Hashable) -> tuple[int, Hashable]:
        """The greedy action."""
        objective = self.choice(machine_state)
        if objective is None:
            return 0, None
        return int(self.actions[world_state, self.objectives.index(objective)]), None
