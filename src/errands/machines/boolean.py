"""Boolean reward machines (Definition 1, Figure 2a): one state per numeric state and completion order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from errands.machines.numeric import NumericRM, Outcome, Signals, Trace
from errands.machines.stepping import BUDGET, Stepper, refuse
from errands.tables import FAILURE, RUNNING, SUCCESS

Ordered = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class BooleanRM:
    """The machine that tells completion orders apart; it has no labels, its states are numbered as they are found.

    >>> import errands
    >>> machine = errands.unfold_boolean(errands.any_order("a", "b", "c"))
    >>> len(machine)  # one state per order in which something was completed: 1 + 3 + 6 + 6
    16
    >>> machine.run([{"c"}, {"a"}, {"b"}]).rewards
    (0.0, 0.0, 1.0)
    """

    numeric: NumericRM
    states: tuple[Ordered, ...]
    """(index of the numeric state, subtasks completed in order), the initial state first."""
    stepper: Stepper = field(repr=False, compare=False)

    @cached_property
    def index(self) -> Mapping[Ordered, int]:
        """The position of each state."""
        return {state: i for i, state in enumerate(self.states)}

    def __len__(self) -> int:
        return len(self.states)

    def run(self, trace: Trace, signals: Signals | None = None) -> Outcome:
        """What the machine pays for a trace, walking its own states."""
        at, rewards = 0, []
        for i, true in enumerate(trace):
            u, order = self.states[at]
            (target, _), chosen, completed = self.stepper.step((u, mask_of(self.stepper, order)), true)
            at = self.index[extend(self.stepper, target, order, completed)]
            rewards.append(chosen.reward.paid(signals[i] if signals is not None else None) if chosen else 0.0)
            if (status := self.stepper.status[self.states[at][0]]) != RUNNING:
                return Outcome(tuple(rewards), True, status == SUCCESS)
        return Outcome(tuple(rewards), False, False)


def mask_of(stepper: Stepper, order: tuple[int, ...]) -> int:
    """The mask of what remains after these completions."""
    mask = stepper.full
    for bit in order:
        mask &= ~(1 << bit)
    # Subtasks that a closed choice has removed stand in no order.
    return stepper.order.settled(mask)


def extend(stepper: Stepper, u: int, order: tuple[int, ...], completed: int) -> Ordered:
    """The state reached in numeric state u when the subtasks of a mask follow an order; failures keep none.

    Subtasks of different variables that one step completes follow each other in declared order.
    """
    if stepper.status[u] == FAILURE:
        return (u, ())
    while completed:
        order = (*order, (completed & -completed).bit_length() - 1)
        completed &= completed - 1
    return (u, order)


def unfold_boolean(machine: NumericRM, budget: int = BUDGET) -> BooleanRM:
    """The Boolean machine; refused at once when its predicted size exceeds the budget.

    Parameters:
        machine: what is unfolded.
        budget: the most states that may be built; its size is known before, in closed form.

    >>> import errands
    >>> len(unfold_boolean(errands.load("delivery-2").machine))
    9
    """
    from errands.machines.counting import predicted

    stepper = Stepper(machine)
    if (sizes := predicted(machine)) is not None and sizes.boolean > budget:
        raise refuse("Boolean", sizes.boolean, budget)
    start: Ordered = (stepper.start[0], ())
    found: dict[Ordered, None] = {start: None}
    layer = [start]
    while layer:
        following: list[Ordered] = []
        for u, order in layer:
            for move in stepper.moves((u, mask_of(stepper, order))):
                target = extend(stepper, move.target[0], order, move.completed)
                if target not in found:
                    found[target] = None
                    following.append(target)
        if len(found) > budget:
            raise refuse("Boolean", len(found), budget)
        layer = following
    return BooleanRM(machine, tuple(found), stepper)
