"""The agenda machine that is stepped, never enumerated: a numeric state and the bit mask of remaining subtasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from itertools import product
from typing import NamedTuple

from errands.errors import SpecError, TaskError
from errands.features import (
    MAX_FEATURES,
    TRUE,
    Boolean,
    Change,
    Guard,
    Numeric,
    atoms,
    conjunction,
    disjunction,
    holds,
    negation,
    positive,
    satisfying,
    substitute,
)
from errands.machines.gauges import Forced, Levels, bits_of
from errands.machines.numeric import NumericRM, Outcome, Signals, Trace, Transition
from errands.tables import FAILURE, RUNNING, SUCCESS

State = tuple[int, int]
Values = tuple[Change, ...]
BUDGET = 5_000_000


class Step(NamedTuple):
    """What one step did: the new state, the transition taken if any, the mask of the subtasks completed."""

    state: State
    transition: Transition | None
    completed: int
    """At most one bit of each numeric variable (Assumption 5)."""


class Move(NamedTuple):
    """One symbolic way on from a state: the mask of subtasks completed, the transition or None, its Boolean guard."""

    completed: int
    transition: Transition | None
    guard: Guard
    target: State


class OrderMasks:
    """The rules of a machine as masks: what holds a subtask back, and what no longer remains once enough is done."""

    def __init__(self, machine: NumericRM) -> None:
        rules, counted = machine.rules, len(machine.counted)
        self.ruled = bool(rules)
        self.before = [0] * len(machine.subtasks)
        """For each bit the mask of what must not remain."""
        for i, j in rules.before:
            self.before[j] |= 1 << i
        self.visits: list[tuple[str, int]] = []
        """The visits that have to end: the feature that must have been false, and the bit that says it still has to."""
        for k, (i, j) in enumerate(rules.apart):
            # The end of a visit is a bit of its own between i and j: it waits for i, and j waits for it.
            self.before[counted + k] |= 1 << i
            self.before[j] |= 1 << counted + k
            self.visits.append((machine.counted[i], 1 << counted + k))
        self.ends = sum(bit for _, bit in self.visits)
        # A closed choice takes along the visits that would have to end before one of its subtasks; whether a part is
        # begun is for its own subtasks to say.
        until: dict[int, int] = {}
        for k, (_, j) in enumerate(rules.apart):
            until[j] = until.get(j, 0) | 1 << counted + k
        self.choices = [
            (g.number, [sum(1 << i | until.get(i, 0) for i in part) for part in g.parts]) for g in rules.choices
        ]
        self.capacities = [(g.number, [sum(1 << i for i in part) for part in g.parts]) for g in rules.capacities]

    def open(self, mask: int, wanted: int) -> int:
        """Those of the wanted subtasks that nothing holds back while `mask` remains."""
        if not self.ruled:
            return wanted
        for i in range(wanted.bit_length()):
            if wanted >> i & 1 and self.before[i] & mask:
                wanted &= ~(1 << i)
        for number, parts in self.capacities:
            # A part is begun when something of it is done and something remains; only untouched parts are held back.
            if sum(0 != mask & part != part for part in parts) >= number:
                for part in parts:
                    if mask & part == part:
                        wanted &= ~part
        return wanted

    @staticmethod
    def bits_in(mask: int) -> tuple[int, ...]:
        """The positions of the bits of a mask, in declared order."""
        found = []
        while mask:
            found.append((mask & -mask).bit_length() - 1)
            mask &= mask - 1
        return tuple(found)

    def settled(self, mask: int) -> int:
        """What remains of a mask once every choice of which enough is done has been closed."""
        # In the declared order: an inner choice comes first, and closing it can finish a part of an outer one.
        for number, parts in self.choices:
            if sum(not mask & part for part in parts) >= number:
                mask &= ~sum(parts)
        return mask


class Stepper:
    """Steps a numeric machine with one small integer and one mask; work per step does not grow with the subtasks.

    Bit i of a mask is set while subtasks[i] remains: the subtasks of the first numeric feature lowest, in declared order
    (so that the lowest bit of a variable is the one that a step completes first), the ends of visits above all others.
    A failure has the mask 0, so that it is one state whatever remained. Where a machine has gauges, its numeric states
    come once for each level of theirs, level by level: numeric state u is `machine.states[u % base]` at level `u // base`.
    """

    def __init__(self, machine: NumericRM) -> None:
        if not isinstance(machine, NumericRM):
            raise SpecError(f"a {type(machine).__name__} is no numeric machine; give a NumericRM, which a task has as task.machine")
        self.machine = machine
        index = {name: i for i, name in enumerate(machine.states)}
        self.index, self.base, self.levels = index, len(index), Levels(machine.gauges)
        self.plain = {t: self.levels.plain(t.guard) for t in machine.transitions} if machine.gauges else {}
        self.status = self.levels.count * tuple(
            SUCCESS if s in machine.success else FAILURE if s in machine.failure else RUNNING for s in machine.states
        )
        self.variable_bits: list[int] = []
        low = 0
        for _, subtasks in machine.numeric:
            self.variable_bits.append(((1 << len(subtasks)) - 1) << low)
            low += len(subtasks)
        self.full = (1 << len(machine.subtasks)) - 1
        self.start: State = (index[machine.initial], self.full)
        # A name has several bits where several subtasks share one feature.
        self.bits_of: dict[str, int] = {}
        for i, name in enumerate(machine.subtasks):
            self.bits_of[name] = self.bits_of.get(name, 0) | 1 << i
        self.order = OrderMasks(machine)
        variables = [name for name, _ in machine.numeric]
        # A visit can end in any running state; a subtask only where the machine completes its feature.
        self.leaving = self.levels.count * tuple(machine.leaving[s] for s in machine.states)
        self.active = self.levels.count * tuple(
            sum(self.variable_bits[v] for v, name in enumerate(variables) if name in machine.completing[s])
            | (self.order.ends if self.status[u] == RUNNING else 0)
            for u, s in enumerate(machine.states)
        )
        # Also those that are completed where no guard asks: what is completed can then be told from the values.
        counted = [_names(machine.leaving[s], Numeric) | machine.completing[s] for s in machine.states]
        self.mentioned = self.levels.count * tuple(
            tuple(v for v, name in enumerate(variables) if name in names) for names in counted
        )
        self.variables = variables
        counts = {a.name for g in machine.gauges if g.each is not None for a in atoms(g.each)}
        self.looked_at = self.levels.count * tuple(
            self.about(_names(ts, Boolean) | counts) for ts in self.leaving[: self.base]
        )
        self._shared = any(bits & (bits - 1) for bits in self.bits_of.values()) or bool(self.order.ends)
        self._options: dict[tuple[int, Values, Forced, Guard], tuple[tuple[Transition | None, Guard], ...]] = {}

    @cached_property
    def symmetric(self) -> bool:
        """Whether subtasks of one variable are interchangeable: none is looked at, no two open ones share a feature.

        Rules tell subtasks apart.
        """
        if self.machine.rules:
            return False
        open_ = [self.named(bits) for bits in set(self.active)]
        return not any(self.looked_at[: self.base]) and all(len(set(group)) == len(group) for group in open_)

    def bits(self, features: Set[str]) -> int:
        """The mask of the subtasks that hold when exactly these features are true."""
        mask = self.about(features) & ~self.order.ends
        for feature, bit in self.order.visits:
            if feature not in features:
                mask |= bit
        return mask

    def about(self, features: Set[str]) -> int:
        """The mask of the subtasks that are about these features."""
        mask = 0
        for name in features:
            mask |= self.bits_of.get(name, 0) | self.bits_of.get(f"~{name}", 0)
        return mask

    def named(self, mask: int) -> tuple[str, ...]:
        """The subtasks whose bits are in a mask, in declared order."""
        return tuple(self.machine.subtasks[i] for i in OrderMasks.bits_in(mask))

    def values(self, u: int, mask: int, completed: int = 0) -> Values:
        """The values of the numeric features that u's guards mention, `mask` being what remains after the step."""
        return tuple(
            # First, as in Proposition 1: both the last completion and standing at the bound are REACHED.
            Change.REACHED
            if not mask & self.variable_bits[v]
            else Change.DECREASED
            if completed & self.variable_bits[v]
            else Change.UNCHANGED
            for v in self.mentioned[u]
        )

    def changes(self, u: int, values: Values) -> dict[str, Change]:
        """The same values by the names of the numeric features."""
        return dict(zip((self.variables[v] for v in self.mentioned[u]), values, strict=True))

    def step(self, state: State, true: Set[str]) -> Step:
        """One step with the features that are true."""
        u, mask = state
        # What is open is read from the mask before the step, so a step cannot complete a subtask and what waits for it.
        # Choices are closed before the values are read: a closed choice can bring a variable to its bound.
        completed = self._first(self.bits(true) & self.open(state))
        mask = self.order.settled(mask & ~completed)
        target, chosen = self.follow(u, true, self.values(u, mask, completed))
        return Step((target, 0 if self.status[target] == FAILURE else mask), chosen, completed)

    def follow(self, u: int, true: Set[str], values: Values) -> tuple[int, Transition | None]:
        """The numeric state after a step under these values, and the transition taken, if any."""
        level, told = self.levels.read(u // self.base, true) if self.plain else (0, true)
        changes = self.changes(u, values)
        chosen = next((t for t in self.leaving[u] if holds(self.guard(t), told, changes)), None)
        return self.lands(u, chosen, level), chosen

    def guard(self, transition: Transition) -> Guard:
        """The guard of a transition, what it says of gauges as features of the step."""
        return self.plain[transition] if self.plain else transition.guard

    def lands(self, u: int, chosen: Transition | None, level: int) -> int:
        """The numeric state that a transition leads to at a level; None is staying in u. A failure has one for all levels."""
        target = self.index[chosen.target] if chosen else u % self.base
        return target if self.status[target] == FAILURE else level * self.base + target

    def _first(self, hit: int) -> int:
        """Of the subtasks that are true, the first in declared order of each variable."""
        first = hit & -hit
        if hit == first:  # the usual case, and the only one where there is one variable and one feature true
            return first
        # One subtask of each variable (Assumption 5), but every visit that ends: no variable counts those.
        return sum((hit & bits) & -(hit & bits) for bits in self.variable_bits) | hit & self.order.ends

    def open(self, state: State) -> int:
        """The mask of the subtasks that a step could complete: those that remain here and that no rule holds back."""
        u, mask = state
        return self.order.open(mask, self.active[u] & mask)

    def completed(self, state: State, step: Step) -> tuple[str, ...]:
        """The objectives that a step completed: subtasks in declared order, then the Boolean one that led on.

        The one owner of this question: every name is one of the state's `alternatives`. `s` of `s & b⤓` is none of
        them while something of b remains, so a step that completes the last of b and meets s completes b alone.
        """
        (u, mask), names = state, dict.fromkeys(self.named(step.completed))
        if step.transition is not None:
            fired = self.fired(u, step.transition, self.values(u, step.state[1], step.completed))
            if fired is not None and fired in self.boolean_objectives(u, self.values(u, mask)):
                names[fired] = None
        return tuple(names)

    def fired(self, u: int, transition: Transition, values: Values) -> str | None:
        """What a transition that leads on stands for under the values of a step; None where it does not lead on."""
        if not self.leads_on(u, transition):
            return None
        return objective_of(substitute(self.guard(transition), dict(self._standing(u)), self.changes(u, values)))

    def _standing(self, u: int) -> Forced:
        """What is known of the gauges in u, whatever the step."""
        return next(self.levels.standing(1 << u // self.base))[1]

    def name(self, u: int) -> str:
        """The machine's state behind a numeric one."""
        return self.machine.states[u % self.base]

    def remaining(self, state: State) -> tuple[str, ...]:
        """The names of the subtasks that remain, then the values of the gauges, as labels show them."""
        u, mask = state
        return self.named(mask) + (() if self.status[u] == FAILURE else self.levels.words(u // self.base))

    def run(self, trace: Trace, signals: Signals | None = None) -> Outcome:
        """What the machine pays for a trace."""
        state, rewards = self.start, []
        for i, true in enumerate(trace):
            state, chosen, _ = self.step(state, true)
            rewards.append(chosen.reward.paid(signals[i] if signals is not None else None) if chosen else 0.0)
            if self.status[state[0]] != RUNNING:
                return Outcome(tuple(rewards), True, self.status[state[0]] == SUCCESS)
        return Outcome(tuple(rewards), False, False)

    def options(
        self, u: int, values: Values, forced: Forced = (), when: Guard = TRUE
    ) -> tuple[tuple[Transition | None, Guard], ...]:
        """The transitions of u that can fire under these values, with what is left of their guards; None is staying."""
        key = (u % self.base, values, forced, when)
        if key not in self._options:
            changes, known = self.changes(u, values), dict(forced)
            only = substitute(when, known, {})
            left = [(t, conjunction([only, substitute(self.guard(t), known, changes)])) for t in self.leaving[u]]
            able: list[tuple[Transition | None, Guard]] = [(t, g) for t, g in left if satisfying(g) is not None]
            stay = conjunction([only, negation(disjunction([g for _, g in able]))])
            names = {a.name for a in atoms(stay)}
            # Too many features for a truth table: staying is then taken to be possible.
            if len(names) > MAX_FEATURES or satisfying(stay) is not None:
                able.append((None, stay))
            self._options[key] = tuple(able)
        return self._options[key]

    def ways(self, u: int, values: Values, forced: Forced = ()) -> Iterator[tuple[Transition | None, Guard, int]]:
        """The same with the numeric states that they lead to: one for each level that the gauges can be at then."""
        for levels, told, when in self.levels.ways(1 << u // self.base):
            for chosen, guard in self.options(u, values, forced + told, when):
                yield from ((chosen, guard, v) for v in dict.fromkeys(self.lands(u, chosen, k) for k in bits_of(levels)))

    def _forced(self, u: int, mask: int, completed: int) -> Forced | None:
        """What a completion says about the features looked at; None where it contradicts itself.

        A completed subtask is true; every open one declared before it in its variable is false, and all of them in a
        variable without a completion. Two subtasks that share a feature can thus exclude each other.
        """
        looked = self.looked_at[u]
        if not looked and not self._shared:
            return ()
        waiting = self.open((u, mask)) & ~completed
        for bits in self.variable_bits:
            if own := completed & bits:
                # Bits below the completed one would have been completed instead; those above it may be true or not.
                waiting &= ~bits | (own - 1)
        forced: dict[str, bool] = {}
        for bits, holds_ in ((completed, True), (waiting, False)):
            for name in self.named(bits):
                feature, value = (name[1:], not holds_) if name.startswith("~") else (name, holds_)
                if forced.setdefault(feature, value) is not value:
                    return None
        seen = {name.removeprefix("~") for name in self.named(looked)}
        return tuple(sorted((name, value) for name, value in forced.items() if name in seen))

    def situations(self, state: State) -> Iterator[int]:
        """The masks of subtasks that one step can complete, at most one of each variable; nothing (0) comes last."""
        open_ = self.open(state)
        groups = [
            [1 << i for i in range(own.bit_length()) if own >> i & 1] for b in self.variable_bits if (own := open_ & b)
        ]
        groups += [[bit] for _, bit in self.order.visits if open_ & bit]
        for parts in product(*([*bits, 0] for bits in groups)):
            yield sum(parts)

    def moves(self, state: State) -> Iterator[Move]:
        """Every symbolic way on: for each set of subtasks that one step can complete, then for no completion."""
        u, mask = state
        if self.status[u] != RUNNING:
            return
        for completed in self.situations(state):
            if (forced := self._forced(u, mask, completed)) is None:
                continue
            left = self.order.settled(mask & ~completed)
            for chosen, guard, target in self.ways(u, self.values(u, left, completed), forced):
                # Without any of these the state stays as it is, which is no move.
                if chosen or completed or target != u:
                    yield Move(completed, chosen, guard, (target, 0 if self.status[target] == FAILURE else left))

    def alternatives(self, state: State) -> tuple[str, ...]:
        """The objectives open at once in a state: its remaining subtasks, then the Boolean ones that lead on."""
        u, mask = state
        if self.status[u] != RUNNING:
            return ()
        return tuple(dict.fromkeys((*self.named(self.open(state)), *self.boolean_objectives(u, self.values(u, mask)))))

    def label_objectives(self, state: State) -> tuple[str, ...]:
        """The objectives that a label names: the open ones, or in a doomed state what leads to its failure."""
        u, mask = state
        if (open_ := self.alternatives(state)) or self.status[u] != RUNNING:
            return open_
        options = self.options(u, self.values(u, mask), self._standing(u))
        doom = (objective_of(g) for t, g in options if t and self.index[t.target] != u % self.base)
        return tuple(dict.fromkeys(doom))

    def boolean_objectives(self, u: int, values: Values) -> tuple[str, ...]:
        """The Boolean objectives that lead on from u under these values: what must become true, each once."""
        options = self.options(u, values, self._standing(u))
        return tuple(dict.fromkeys(objective_of(g) for t, g in options if t and self.leads_on(u, t)))

    def leads_on(self, u: int, transition: Transition) -> bool:
        """Whether a transition leaves u for something other than a failure."""
        target = self.index[transition.target]
        return target != u % self.base and self.status[target] != FAILURE


def _names(transitions: Iterable[Transition], kind: type[Boolean | Numeric]) -> set[str]:
    return {atom.name for t in transitions for atom in atoms(t.guard) if isinstance(atom, kind)}


def objective_of(guard: Guard) -> str:
    """The name of the objective that a Boolean guard stands for: what must become true."""
    return str(positive(guard)).replace(" ", "")


def too_large(kind: str, predicted: int, budget: int) -> TaskError:
    """The error for a machine that is too large to be built."""
    return TaskError(
        f"the {kind} machine would have {predicted:,} states, more than the budget of {budget:,}; "
        "use the stepping form (machines.Stepper, learner 'qcorm' or 'scout') or raise budget="
    )
