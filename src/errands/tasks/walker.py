"""Any of the four machines as something to walk on: a position, its number, its code of zeros and ones, its label."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError
from errands.machines import AgendaRM, BooleanRM, CoupledRM, Machine, NumericRM, Stepper, unfold_agenda
from errands.machines.boolean import Ordered, extend, mask_of
from errands.machines.stepping import State
from errands.tables import RUNNING, SUCCESS

MOST_CODES = 4_096
"""A numeric machine with more agenda states than this is coded by numeric state and remaining subtasks."""

Position = State | Ordered
Code = NDArray[np.int8]


class Walked(NamedTuple):
    """What one step on a machine did."""

    position: Position
    reward: float
    terminal: bool
    success: bool


class Walker:
    """Walks on a machine without keeping a position itself, so that one walker serves every copy of an environment."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.boolean = machine if isinstance(machine, BooleanRM) else None
        self.coupled = machine if isinstance(machine, CoupledRM) else None
        self.agenda = _agenda(machine)
        listed = self.boolean or self.agenda
        self.numeric = machine if isinstance(machine, NumericRM) else cast(AgendaRM | BooleanRM, listed).numeric
        self.stepper = Stepper(self.numeric)
        self.start: Position = (self.stepper.start[0], ()) if self.boolean else self.stepper.start
        self._reachable: dict[Position, tuple[Position, ...]] = {}

    @property
    def count(self) -> int | None:
        """How many positions there are; None where they are too many to be numbered."""
        listed = self.boolean or self.agenda
        return None if listed is None else len(listed)

    @property
    def width(self) -> int:
        """The length of a code."""
        if self.coupled:
            return len(self.coupled)
        return self.count or len(self.numeric) + len(self.numeric.subtasks)

    def plain(self, position: Position) -> State:
        """The numeric state and the mask of remaining subtasks."""
        u, rest = position
        return (u, rest) if isinstance(rest, int) else (u, mask_of(self.stepper, rest))

    def step(self, position: Position, true: Set[str], signals: Mapping[str, float] | None = None) -> Walked:
        """One step with the features that are true."""
        target, chosen, completed = self.stepper.step(self.plain(position), true)
        reward = chosen.reward.paid(signals) if chosen else 0.0
        status = self.stepper.status[target[0]]
        return Walked(self._after(position, target, completed), reward, status != RUNNING, status == SUCCESS)

    def _after(self, position: Position, target: State, completed: int) -> Position:
        rest = position[1]
        return target if isinstance(rest, int) else extend(self.stepper, target[0], rest, completed)

    def index(self, position: Position) -> int:
        """The number of a position; unique also where positions are not listed."""
        if self.boolean:
            return self.boolean.index[cast(Ordered, position)]
        if self.agenda:
            return self.agenda.index[cast(State, position)]
        u, mask = cast(State, position)
        return mask * len(self.numeric) + u

    def position(self, index: int) -> Position:
        """The position of a number."""
        listed: Any = self.boolean or self.agenda
        if listed is None:
            return (index % len(self.numeric), index // len(self.numeric))
        if not 0 <= index < len(listed):
            raise TaskError(f"the machine state {index} does not exist; states are numbered 0 to {len(listed) - 1}")
        found: Position = listed.states[index]
        return found

    def code(self, position: Position) -> Code:
        """One-hot of the position (coupled: of all occupied), or of the numeric state, followed by remaining bits."""
        code = np.zeros(self.width, np.int8)
        if self.coupled:
            code[list(self.coupled.groups[self.index(position)])] = 1
        elif self.count is not None:
            code[self.index(position)] = 1
        else:
            u, mask = self.plain(position)
            code[u] = 1
            code[len(self.numeric) :] = [mask >> i & 1 for i in range(len(self.numeric.subtasks))]
        return code

    def label(self, position: Position) -> str:
        """How the position is called: the paper's label, or the numeric state with what remains or the order so far."""
        if self.agenda:
            return str(self.agenda.labels[self.index(position)])
        u, rest = position
        name = self.numeric.states[u]
        if not isinstance(rest, int):
            return f"{name}({','.join(self.numeric.subtasks[i] for i in rest)})"
        objectives = self.stepper.alternatives((u, rest))
        shown = f"{{{','.join(objectives)}}}" if len(objectives) > 1 else "".join(objectives)
        return f"{name}{{{','.join(self.remaining(position))}}}{shown}"

    def remaining(self, position: Position) -> tuple[str, ...]:
        """The names of the subtasks that remain."""
        return self.stepper.named(self.plain(position)[1])

    def running(self, source: Position | None = None) -> tuple[Position, ...]:
        """The positions in which the task goes on: all, or those that can still be reached from `source` on."""
        start = self.start if source is None else source
        if start not in self._reachable:
            if self.count is None:
                raise TaskError(
                    f"the machine has too many states to go through them all (more than {MOST_CODES:,}); "
                    "use kind='coupled', or unfold_agenda(machine) if its states do fit into memory"
                )
            found = {start: None}
            stack = [start]
            while stack:
                here = stack.pop()
                for move in self.stepper.moves(self.plain(here)):
                    target = self._after(here, move.target, move.completed)
                    if target not in found:
                        found[target] = None
                        stack.append(target)
            self._reachable[start] = tuple(p for p in found if self.stepper.status[p[0]] == RUNNING)
        return self._reachable[start]


def _agenda(machine: Machine) -> AgendaRM | None:
    if isinstance(machine, AgendaRM):
        return machine
    if isinstance(machine, CoupledRM):
        return machine.agenda
    if isinstance(machine, BooleanRM):
        return None
    try:
        return unfold_agenda(machine, MOST_CODES)
    except TaskError:
        return None
