"""What a numeric machine unfolds to: Boolean machines of completion orders, agenda machines of what remains, coupled ones.

An agenda machine is stepped, not built, wherever that is enough (`stepping.Stepper`); these are for looking at, for
methods with one row of a table per state, and for tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from errands.errors import SpecError
from errands.machines.counting import objectives, predicted
from errands.machines.numeric import Label, NumericRM, RewardMachine
from errands.machines.stepping import BUDGET, Move, State, Stepper, too_large
from errands.tables import FAILURE

Ordered = tuple[int, tuple[int, ...]]
Position = State | Ordered
"""A state of an agenda machine, or of a Boolean one."""


@dataclass(frozen=True, repr=False)
class BooleanRM(RewardMachine):
    """Definition 1, Figure 2a: completion orders are told apart; it has no labels, its states are numbered as they are found.

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


def mask_of(stepper: Stepper, order: tuple[int, ...]) -> int:
    """The mask of what remains after these completions."""
    # Subtasks that a closed choice has removed stand in no order.
    return stepper.order.settled(stepper.full & ~sum(1 << bit for bit in order))


def agenda_state(stepper: Stepper, position: Position) -> State:
    """The numeric state and the mask of remaining subtasks behind a state of any machine."""
    u, rest = position
    return (u, rest) if isinstance(rest, int) else (u, mask_of(stepper, rest))


def extend(stepper: Stepper, u: int, order: tuple[int, ...], completed: int) -> Ordered:
    """The state reached in numeric state u when the subtasks of a mask follow an order; failures keep none.

    Subtasks of different variables that one step completes follow each other in declared order.
    """
    return (u, ()) if stepper.status[u] == FAILURE else (u, order + stepper.order.bits_in(completed))


def landed(stepper: Stepper, position: Position, target: State, completed: int) -> Position:
    """Where a step that completes the subtasks of a mask leads in the machine that a position is of."""
    rest = position[1]
    return target if isinstance(rest, int) else extend(stepper, target[0], rest, completed)


def moves_from(stepper: Stepper, position: Position) -> Iterator[tuple[Move, Position]]:
    """Every symbolic way on from a state of any machine, with the state that it leads to."""
    for move in stepper.moves(agenda_state(stepper, position)):
        yield move, landed(stepper, position, move.target, move.completed)


def reached(stepper: Stepper, start: Position, kind: str = "", budget: int | None = None) -> dict[Position, int]:
    """Every state that a walk from `start` can come to, with its depth, breadth first; refused beyond the budget."""
    depth = {start: 0}
    layer = [start]
    while layer:
        following: list[Position] = []
        for position in layer:
            for target in _targets(stepper, position):
                if target not in depth:
                    depth[target] = depth[position] + 1
                    following.append(target)
        if budget is not None and len(depth) > budget:
            raise too_large(kind, len(depth), budget)
        layer = following
    return depth


def unfold_boolean(machine: NumericRM, budget: int = BUDGET) -> BooleanRM:
    """The Boolean machine; refused at once when its predicted size exceeds the budget.

    Parameters:
        machine: what is unfolded.
        budget: the most states that may be built; its size is known before, in closed form.

    >>> import errands
    >>> len(unfold_boolean(errands.load("delivery-2").machine))
    9
    """
    stepper = Stepper(machine)
    if (sizes := predicted(machine)) is not None and sizes.boolean > budget:
        raise too_large("Boolean", sizes.boolean, budget)
    states: Any = reached(stepper, (stepper.start[0], ()), "Boolean", budget)
    return BooleanRM(machine, tuple(states), stepper)


@dataclass(frozen=True, repr=False)
class AgendaRM(RewardMachine):
    """Definition 3: a Boolean machine of (numeric state, remaining subtasks), labelled by depth, agenda and objective.

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
            Label(depth, self.remaining(state), self.stepper.label_objectives(state))
            for state, depth in zip(self.states, self.depths, strict=True)
        )

    def remaining(self, state: State) -> tuple[str, ...]:
        """The names of the subtasks that remain in a state, and the values of the gauges."""
        return self.stepper.remaining(state)


def unfold_agenda(machine: NumericRM, budget: int = BUDGET) -> AgendaRM:
    """The agenda machine, built directly by breadth-first search; refused when it would exceed the budget.

    Parameters:
        machine: what is unfolded.
        budget: the most states that may be built; more are refused with a TaskError.

    >>> import errands
    >>> len(unfold_agenda(errands.load("delivery-2").machine))
    7
    """
    stepper = Stepper(machine)
    if (sizes := predicted(machine)) is not None and sizes.agenda > budget:
        raise too_large("agenda", sizes.agenda, budget)
    # Breadth first, so the depth is the d of Definition 3. States are pairs and not labels: Proposition 2, that labels
    # tell states apart, does not hold for every machine.
    depth: Any = reached(stepper, stepper.start, "agenda", budget)
    return AgendaRM(machine, tuple(depth), tuple(depth.values()), stepper)


def _targets(stepper: Stepper, position: Position) -> Iterable[Position]:
    """The states one move away; equal moves of interchangeable subtasks are looked up once."""
    u, mask = position
    if isinstance(mask, tuple) or not stepper.symmetric or stepper.plain:  # rules, too, tell subtasks apart
        return [there for _, there in moves_from(stepper, position)]
    groups = [left for bits in stepper.variable_bits if (left := mask & bits & stepper.active[u])]
    if len(groups) > 1:
        return [there for _, there in moves_from(stepper, position)]
    targets: list[Position] = []
    if stepper.status[u]:
        return targets
    # Every subtask of the variable gives the same values, so the transitions are looked up once, for the lowest bit.
    # Where none fires the machine stays in u, with one subtask less.
    for left in groups:
        low = left & -left
        options = stepper.options(u, stepper.values(u, mask & ~low, low))
        for target in {stepper.index[t.target] if t else u for t, _ in options}:
            failed = stepper.status[target] == FAILURE
            targets += [(target, 0)] if failed else [(target, mask & ~(1 << i)) for i in stepper.order.bits_in(left)]
    for chosen, _ in stepper.options(u, stepper.values(u, mask)):
        if chosen:
            target = stepper.index[chosen.target]
            targets.append((target, 0 if stepper.status[target] == FAILURE else mask))
    return targets


@dataclass(frozen=True, repr=False)
class CoupledRM(RewardMachine):
    """Definition 4: the agent occupies one state per open objective at once and may leave by any of them.

    >>> import errands
    >>> machine = errands.couple(errands.unfold_agenda(errands.any_order("a", "b")))
    >>> print(*machine.labels)
    0{a,b}a 0{a,b}b 1{b}b 1{a}a 2{}
    >>> machine.objectives
    ('a', 'b')
    """

    agenda: AgendaRM
    states: tuple[tuple[int, str | None], ...]
    """(index of the agenda state, its objective), coupled states side by side."""

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The label of each state."""
        split = []
        for i, objective in self.states:
            whole = self.agenda.labels[i]
            split.append(Label(whole.depth, whole.remaining, whole.objective if objective is None else (objective,)))
        return tuple(split)

    @property
    def numeric(self) -> NumericRM:
        """The machine that it was unfolded from."""
        return self.agenda.numeric

    @cached_property
    def objectives(self) -> tuple[str, ...]:
        """U': all subtasks, then all Boolean objectives; one low-level policy each."""
        return objectives(self.numeric)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The coupled states of each agenda state: those that the agent occupies at once."""
        groups: list[list[int]] = [[] for _ in self.agenda.states]
        for j, (i, _) in enumerate(self.states):
            groups[i].append(j)
        return tuple(map(tuple, groups))


def couple(agenda: AgendaRM) -> CoupledRM:
    """The coupled machine of an agenda machine: one state per open objective.

    Parameters:
        agenda: the machine whose states are split.

    >>> import errands
    >>> len(couple(errands.unfold_agenda(errands.load("delivery-2").machine)))
    8
    """
    if not isinstance(agenda, AgendaRM):
        raise SpecError(f"a {type(agenda).__name__} is no agenda machine; give couple(unfold_agenda(machine))")
    states: list[tuple[int, str | None]] = []
    for i, state in enumerate(agenda.states):
        # Definition 4. A state without an open objective (a terminal, say) is not split.
        states.extend((i, objective) for objective in agenda.stepper.alternatives(state) or (None,))
    return CoupledRM(agenda, tuple(states))
