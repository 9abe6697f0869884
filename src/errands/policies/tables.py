"""Greedy policies as values that numpy alone acts by: by machine state, by option, by objective, by the nearest of a way."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError
from errands.machines.stepping import State, Stepper

# U machine states, S world states, K objectives, E options. A policy is a value: tables are copied, training goes on
# without it, and what it has to remember within an episode is handed in and out as `memory`.
Actions = NDArray[np.integer[Any]]
Exported = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""What stands in a policy file of a policy: plain data and arrays."""
_WORD = (1 << 64) - 1


def changed(before: int, after: int) -> tuple[int, ...]:
    """The subtasks that one mask has and a later one has not."""
    gone = before & ~after
    return tuple(i for i in range(gone.bit_length()) if gone >> i & 1)


@dataclass(frozen=True)
class MachineStates:
    """The number of a machine state: by numeric state and mask, or by numeric state and order where orders are told apart."""

    index: Mapping[tuple[int, Any], int] = field(repr=False)
    """From (numeric state, remaining mask) or (numeric state, completion order)."""
    full: int
    ordered: bool

    def locate(self, machine_state: State, memory: Hashable) -> tuple[int | None, Hashable]:
        """The machine state that an agenda state and the completions so far stand for, if it was met."""
        u, mask = machine_state
        if not self.ordered:
            return self.index.get((u, mask)), None
        # Anything else than a tuple is the start of an episode.
        order, before = memory if isinstance(memory, tuple) else ((), self.full)
        order = (*order, *changed(before, mask))
        return self.index.get((u, order)), (order, mask)

    def exported(self) -> dict[str, Any]:
        """What a policy file holds of it."""
        states = sorted(self.index, key=self.index.__getitem__)
        return {"ordered": self.ordered, "full": self.full, "states": [[u, x] for u, x in states]}


@dataclass(frozen=True)
class MachinePolicy:
    """One action per machine state and world state; machine states that were never met take action 0."""

    actions: Actions = field(repr=False)
    """[U, S]."""
    states: MachineStates

    def act(self, world_state: int, machine_state: State, memory: Hashable) -> tuple[int, Hashable]:
        """The greedy action; the memory is the completion order where the machine tells orders apart."""
        i, memory = self.states.locate(machine_state, memory)
        return (0 if i is None else int(self.actions[i, world_state])), memory

    def exported(self) -> Exported:
        """What a policy file holds of it."""
        return {"kind": "actions", **self.states.exported()}, {"actions": self.actions}


@dataclass(frozen=True)
class NearestPolicy:
    """The machine states of a way; in any other it acts as in the nearest one that the way has.

    What the way does next there must still be to be done; of such machine states one with the same numeric state, if there
    is any, and of those the first that differs in the fewest subtasks.
    """

    actions: Actions = field(repr=False)
    """[U, S]."""
    states: MachineStates
    completed: tuple[int, ...] = field(repr=False)
    """By machine state the mask of the subtasks that the way completes there."""

    def act(self, world_state: int, machine_state: State, memory: Hashable) -> tuple[int, Hashable]:
        """The action of the way's own machine state, or of the nearest one; nothing is remembered."""
        i, _ = self.states.locate(machine_state, None)
        return int(self.actions[self.nearest(machine_state) if i is None else i, world_state]), None

    def nearest(self, machine_state: State) -> int:
        """The number of the way's machine state that is most like another one."""
        u, mask = machine_state

        def distance(entry: tuple[State, int]) -> tuple[bool, bool, int]:
            (numeric, remaining), i = entry
            return bool(self.completed[i] & ~mask), numeric != u, (remaining ^ mask).bit_count()

        return min(self.states.index.items(), key=distance)[1]

    def exported(self) -> Exported:
        """What a policy file holds of it."""
        return {"kind": "nearest", **self.states.exported(), "completed": list(self.completed)}, {"actions": self.actions}


@dataclass(frozen=True)
class OptionPolicy:
    """A controller over options; the memory is the option in hand, for how long, and the machine state it began in."""

    states: MachineStates
    first: NDArray[np.int32] = field(repr=False)
    """[U + 1] where the options of each machine state begin."""
    controller: NDArray[np.int32] = field(repr=False)
    """[S, U] the option that the controller takes."""
    actions: Actions = field(repr=False)
    """[S, E]."""
    option_limit: int

    def act(self, world_state: int, machine_state: State, memory: Hashable) -> tuple[int, Hashable]:
        """The action of the option in hand, or of a new one when it has ended."""
        option, option_steps, begun_in, order = memory if isinstance(memory, tuple) else (-1, 0, None, None)
        i, order = self.states.locate(machine_state, order)
        # A machine state that was never met, or that offers no option.
        if i is None or self.first[i] == self.first[i + 1]:
            return 0, (-1, 0, None, order)
        # The same three ends as in training: by the machine, by the option's own limit, and by the episode.
        if option < 0 or begun_in != i or option_steps >= self.option_limit:
            option, option_steps = int(self.controller[world_state, i]), 0
        return int(self.actions[world_state, option]), (option, option_steps + 1, i, order)

    def exported(self) -> Exported:
        """What a policy file holds of it."""
        about = {"kind": "options", **self.states.exported(), "option_limit": self.option_limit}
        return about, {"first": self.first, "controller": self.controller, "actions": self.actions}


@dataclass(frozen=True)
class ObjectivePolicy:
    """The paper's policy: the open objective with the fewest steps to go, then that objective's own policy."""

    actions: Actions = field(repr=False)
    """[S, K]."""
    objectives: tuple[str, ...] = field(repr=False)
    steps_to_go: Mapping[tuple[int, int, str], float] = field(repr=False)
    """By numeric state, remaining mask and objective."""
    stepper: Stepper = field(repr=False)

    def choice(self, machine_state: State) -> str | None:
        """The objective chosen in an agenda state; the first open one where nothing is known."""
        open_ = self.stepper.alternatives(machine_state)
        # While evaluating, unknown steps to go count as infinite: what has reached the goal before is preferred.
        known = [k for k in open_ if (*machine_state, k) in self.steps_to_go]
        if not open_:
            return None
        return min(known, key=lambda k: self.steps_to_go[(*machine_state, k)]) if known else open_[0]

    def act(self, world_state: int, machine_state: State, memory: Hashable) -> tuple[int, Hashable]:
        """The greedy action."""
        objective = self.choice(machine_state)
        if objective is None:
            return 0, None
        if objective not in self.objectives:
            raise TaskError(f"the policy has learnt nothing about '{objective}'")
        return int(self.actions[world_state, self.objectives.index(objective)]), None

    def exported(self) -> Exported:
        """What a policy file holds of it."""
        words = -(-len(self.stepper.machine.subtasks) // 64)
        labels = list(self.steps_to_go)
        masks = [mask >> 64 * word & _WORD for _, mask, _ in labels for word in range(words)]
        return {"kind": "objectives", "objectives": list(self.objectives)}, {
            "actions": self.actions,
            "numeric": np.array([u for u, _, _ in labels], np.int32),
            # There may be more than 64 subtasks: a mask is stored as words of 64 bits, the lowest first.
            "mask": np.array(masks, np.uint64).reshape(len(labels), words),
            "objective": np.array([self.objectives.index(k) for _, _, k in labels], np.int32),
            "steps": np.array(list(self.steps_to_go.values()), np.float64),
        }
