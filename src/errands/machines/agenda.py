"""Agenda reward machines (Definition 3): one state per numeric state and set of remaining subtasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from errands.machines.numeric import Label, NumericRM, Outcome, Signals, Trace
from errands.machines.stepping import BUDGET, State, Stepper, refuse
from errands.tables import FAILURE


@dataclass(frozen=True)
class AgendaRM:
    """A Boolean machine of (numeric state, remaining subtasks), labelled by depth, agenda and objective.

    >>> import errands
    >>> machine = errands.unfold_agenda(errands.any_order("a", "b"))
    >>> print(*machine.labels)
    0{a,b}{a,b} 1{b}b 1{a}a 2{}
    >>> machine.run([{"b"}, {"a"}]).success
    True
    """

    numeric: NumericRM
    states: tuple[State, ...]
    """(index of the numeric state, mask of remaining subtasks), the initial state first."""
    depths: tuple[int, ...]
    """The shortest distance of each state from the initial one."""
    stepper: Stepper = field(repr=False, compare=False)

    @cached_property
    def index(self) -> Mapping[State, int]:
        """The position of each state."""
        return {state: i for i, state in enumerate(self.states)}

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The label of each state; two states can share one (lint reports it)."""
        return tuple(
            Label(depth, self.remaining(state), self.stepper.shown(state))
            for state, depth in zip(self.states, self.depths, strict=True)
        )

    def remaining(self, state: State) -> tuple[str, ...]:
        """The names of the subtasks that remain in a state."""
        return self.stepper.named(state[1])

    def __len__(self) -> int:
        return len(self.states)

    def run(self, trace: Trace, signals: Signals | None = None) -> Outcome:
        """What the machine pays for a trace."""
        return self.stepper.run(trace, signals)


def unfold_agenda(machine: NumericRM, budget: int = BUDGET) -> AgendaRM:
    """The agenda machine, built directly by breadth-first search; refused when it would exceed the budget.

    Parameters:
        machine: what is unfolded.
        budget: the most states that may be built; more are refused with a TaskError.

    >>> import errands
    >>> len(unfold_agenda(errands.load("delivery-2").machine))
    7
    """
    from errands.machines.counting import predicted

    stepper = Stepper(machine)
    if (sizes := predicted(machine)) is not None and sizes.agenda > budget:
        raise refuse("agenda", sizes.agenda, budget)
    depth: dict[State, int] = {stepper.start: 0}
    layer = [stepper.start]
    while layer:
        following: list[State] = []
        for state in layer:
            for target in _targets(stepper, state):
                if target not in depth:
                    depth[target] = depth[state] + 1
                    following.append(target)
        if len(depth) > budget:
            raise refuse("agenda", len(depth), budget)
        layer = following
    # Breadth first, so the depth is the d of Definition 3. States are pairs and not labels: Proposition 2, that labels
    # tell states apart, does not hold for every machine.
    return AgendaRM(machine, tuple(depth), tuple(depth.values()), stepper)


def _targets(stepper: Stepper, state: State) -> list[State]:
    """The states one move away; equal moves of interchangeable subtasks are looked up once."""
    u, mask = state
    groups = [left for bits in stepper.variable_bits if (left := mask & bits & stepper.active[u])]
    if not stepper.symmetric or len(groups) > 1:  # rules, too, tell subtasks apart
        return [move.target for move in stepper.moves(state)]
    found: list[State] = []
    if stepper.status[u]:
        return found
    # Every subtask of the variable gives the same values, so the transitions are looked up once, for the lowest bit.
    # Where none fires the machine stays in u, with one subtask less.
    for left in groups:
        low = left & -left
        options = stepper.options(u, stepper.values(u, mask & ~low, low))
        for target in {stepper.index[t.target] if t else u for t, _ in options}:
            if stepper.status[target] == FAILURE:
                found.append((target, 0))
                continue
            rest = left
            while rest:
                low = rest & -rest
                found.append((target, mask & ~low))
                rest &= rest - 1
    for chosen, _ in stepper.options(u, stepper.values(u, mask)):
        if chosen:
            target = stepper.index[chosen.target]
            found.append((target, 0 if stepper.status[target] == FAILURE else mask))
    return found
