"""The agenda machine that is stepped, never enumerated: a numeric state and the bit mask of remaining subtasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from typing import NamedTuple

from errands.errors import TaskError
from errands.features import (
    FALSE,
    MAX_FEATURES,
    Boolean,
    Change,
    Guard,
    Numeric,
    atoms,
    disjunction,
    holds,
    negation,
    positive,
    satisfying,
    substitute,
)
from errands.machines.numeric import NumericRM
from errands.machines.outcome import Outcome, Signals, Trace
from errands.machines.transition import Transition
from errands.tables import FAILURE, RUNNING, SUCCESS

State = tuple[int, int]
Forced = tuple[tuple[str, bool], ...]
Values = tuple[Change, ...]
BUDGET = 5_000_000


class Step(NamedTuple):
    """What one step did: the new state, the transition taken if any, the bit of the subtask completed or -1."""

    state: State
    transition: Transition | None
    completed: int


class Move(NamedTuple):
    """One symbolic way on from a state: the subtask completed or -1, the transition or None, its Boolean guard."""

    completed: int
    transition: Transition | None
    guard: Guard
    target: State


class Stepper:
    """Steps a numeric machine with one small integer and one mask; work per step does not grow with the subtasks."""

    def __init__(self, machine: NumericRM) -> None:
        self.machine = machine
        index = {name: i for i, name in enumerate(machine.states)}
        self.index = index
        self.status = tuple(
            SUCCESS if s in machine.success else FAILURE if s in machine.failure else RUNNING for s in machine.states
        )
        self.variable_bits: list[int] = []
        low = 0
        for _, subtasks in machine.numeric:
            self.variable_bits.append(((1 << len(subtasks)) - 1) << low)
            low += len(subtasks)
        self.full = (1 << low) - 1
        self.start: State = (index[machine.initial], self.full)
        self.bits_of: dict[str, int] = {}
        for i, name in enumerate(machine.subtasks):
            self.bits_of[name] = self.bits_of.get(name, 0) | 1 << i
        variables = [name for name, _ in machine.numeric]
        self.leaving = tuple(machine.leaving[s] for s in machine.states)
        self.active = tuple(
            sum(self.variable_bits[v] for v, name in enumerate(variables) if name in machine.completing[s])
            for s in machine.states
        )
        counted = [_names(ts, Numeric) for ts in self.leaving]
        self.mentioned = tuple(tuple(v for v, name in enumerate(variables) if name in names) for names in counted)
        self.variables = variables
        self.looked_at = tuple(self.bits(_names(ts, Boolean)) for ts in self.leaving)
        self._options: dict[tuple[int, Values, Forced], tuple[tuple[Transition | None, Guard], ...]] = {}

    @cached_property
    def symmetric(self) -> bool:
        """Whether subtasks of one variable are interchangeable: none is looked at, no two open ones share a feature."""
        open_ = [self.named(bits) for bits in set(self.active)]
        return not any(self.looked_at) and all(len(set(group)) == len(group) for group in open_)

    def bits(self, features: Set[str]) -> int:
        """The mask of the subtasks whose features are among these."""
        found = 0
        for name in features:
            found |= self.bits_of.get(name, 0)
        return found

    def named(self, mask: int) -> tuple[str, ...]:
        """The subtasks whose bits are in a mask, in declared order."""
        return tuple(name for i, name in enumerate(self.machine.subtasks) if mask >> i & 1)

    def values(self, u: int, mask: int, completed: int = -1) -> Values:
        """The values of the numeric features that u's guards mention, `mask` being what remains after the step."""
        return tuple(
            Change.REACHED
            if not mask & self.variable_bits[v]
            else Change.DECREASED
            if completed >= 0 and self.variable_bits[v] >> completed & 1
            else Change.UNCHANGED
            for v in self.mentioned[u]
        )

    def changes(self, u: int, values: Values) -> dict[str, Change]:
        """The same values by the names of the numeric features."""
        return dict(zip((self.variables[v] for v in self.mentioned[u]), values, strict=True))

    def step(self, state: State, true: Set[str]) -> Step:
        """One step with the features that are true."""
        u, mask = state
        hit = self.bits(true) & self.active[u] & mask
        completed = (hit & -hit).bit_length() - 1
        if hit:
            mask &= ~(hit & -hit)
        changes = self.changes(u, self.values(u, mask, completed))
        chosen = next((t for t in self.leaving[u] if holds(t.guard, true, changes)), None)
        return Step(self._land(u, chosen, mask), chosen, completed)

    def _land(self, u: int, chosen: Transition | None, mask: int) -> State:
        target = self.index[chosen.target] if chosen else u
        return (target, 0 if self.status[target] == FAILURE else mask)

    def run(self, trace: Trace, signals: Signals | None = None) -> Outcome:
        """What the machine pays for a trace."""
        state, rewards = self.start, []
        for i, true in enumerate(trace):
            state, chosen, _ = self.step(state, true)
            rewards.append(chosen.reward.paid(signals[i] if signals is not None else None) if chosen else 0.0)
            if self.status[state[0]] != RUNNING:
                return Outcome(tuple(rewards), True, self.status[state[0]] == SUCCESS)
        return Outcome(tuple(rewards), False, False)

    def options(self, u: int, values: Values, forced: Forced = ()) -> tuple[tuple[Transition | None, Guard], ...]:
        """The transitions of u that can fire under these values, with what is left of their guards; None is staying."""
        key = (u, values, forced)
        if key not in self._options:
            changes = self.changes(u, values)
            left = [(t, substitute(t.guard, dict(forced), changes)) for t in self.leaving[u]]
            able: list[tuple[Transition | None, Guard]] = [(t, g) for t, g in left if satisfying(g) is not None]
            stay = negation(disjunction([g for _, g in able])) if able else negation(FALSE)
            names = {a.name for a in atoms(stay)}
            if len(names) > MAX_FEATURES or satisfying(stay) is not None:
                able.append((None, stay))
            self._options[key] = tuple(able)
        return self._options[key]

    def _forced(self, u: int, mask: int, completed: int) -> Forced:
        looked = self.looked_at[u]
        if not looked:
            return ()
        waiting = self.active[u] & mask & looked
        if completed >= 0:
            waiting &= (1 << completed) - 1
        false = dict.fromkeys(self.named(waiting), False)
        true = {self.machine.subtasks[completed]: True} if completed >= 0 else {}
        return tuple(sorted((false | true).items()))

    def moves(self, state: State) -> Iterator[Move]:
        """Every symbolic way on: for each subtask that can be completed, and for no completion."""
        u, mask = state
        if self.status[u] != RUNNING:
            return
        open_ = self.active[u] & mask
        for i in range(open_.bit_length()):
            if open_ >> i & 1 and not self.bits_of[self.machine.subtasks[i]] & open_ & ((1 << i) - 1):
                left = mask & ~(1 << i)
                for chosen, guard in self.options(u, self.values(u, left, i), self._forced(u, mask, i)):
                    yield Move(i, chosen, guard, self._land(u, chosen, left))
        for chosen, guard in self.options(u, self.values(u, mask), self._forced(u, mask, -1)):
            if chosen:
                yield Move(-1, chosen, guard, self._land(u, chosen, mask))

    def alternatives(self, state: State) -> tuple[str, ...]:
        """The objectives open at once in a state: its remaining subtasks, then the Boolean ones that lead on."""
        u, mask = state
        if self.status[u] != RUNNING:
            return ()
        open_ = self.active[u] & mask
        return tuple(dict.fromkeys((*self.named(open_), *self.boolean_objectives(u, self.values(u, mask)))))

    def shown(self, state: State) -> tuple[str, ...]:
        """The objectives that a label names: the open ones, or in a doomed state what leads to its failure."""
        u, mask = state
        if (found := self.alternatives(state)) or self.status[u] != RUNNING:
            return found
        doom = (objective_of(g) for t, g in self.options(u, self.values(u, mask)) if t and self.index[t.target] != u)
        return tuple(dict.fromkeys(doom))

    def boolean_objectives(self, u: int, values: Values) -> tuple[str, ...]:
        """The Boolean objectives that lead on from u under these values: what must become true, each once."""
        options = self.options(u, values)
        return tuple(dict.fromkeys(objective_of(g) for t, g in options if t and self.leads_on(u, t)))

    def leads_on(self, u: int, transition: Transition) -> bool:
        """Whether a transition leaves u for something other than a failure."""
        target = self.index[transition.target]
        return target != u and self.status[target] != FAILURE


def _names(transitions: Iterable[Transition], kind: type[Boolean | Numeric]) -> set[str]:
    """The features of one kind that guards mention."""
    return {atom.name for t in transitions for atom in atoms(t.guard) if isinstance(atom, kind)}


def objective_of(guard: Guard) -> str:
    """The name of the objective that a Boolean guard stands for: what must become true."""
    return str(positive(guard)).replace(" ", "")


def refuse(kind: str, predicted: int, budget: int) -> TaskError:
    """The error for a machine that is too large to be built."""
    return TaskError(
        f"the {kind} machine would have {predicted:,} states, more than the budget of {budget:,}; "
        "use the stepping form (machines.Stepper, learner 'qcorm' or 'scout') or raise budget="
    )
