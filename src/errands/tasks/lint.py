"""Lint: a task file read aloud, how large its machines are, and what in it is allowed but hardly meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from errands.errors import TaskError
from errands.features import (
    TRUE,
    And,
    Boolean,
    Change,
    Guard,
    Not,
    Numeric,
    Or,
    atoms,
    conjunction,
    decreasing,
    disjunction,
    holds,
    negation,
)
from errands.machines import Sizes, size, unfold_agenda
from errands.machines.counting import Quotient, overlaps
from errands.machines.gauges import Gauge
from errands.machines.numeric import Label, NumericRM, Transition
from errands.machines.rewards import Reward
from errands.machines.rules import rule_sentences
from errands.machines.stepping import State, Stepper
from errands.tables import RUNNING
from errands.tasks.task import Task
from errands.worlds.grid import unreachable_features

MAX_LABELS = 20_000
MAX_WARNINGS = 5
MAX_NAMES = 6


@dataclass(frozen=True)
class LintReport:
    """A well-formed task, read aloud and measured, with a sentence for everything that looks unintended."""

    machine: NumericRM
    reading: tuple[str, ...]
    sizes: Sizes | None
    """None for a machine that can only be measured by building it and is too large for that."""
    warnings: tuple[str, ...]
    task: Task | None = None
    """None where only a machine was read."""


def lint(text: str) -> LintReport:
    """The report on a task file; a SpecError with all problems if it is not well formed."""
    task = Task.from_toml(text)
    report = lint_machine(task.machine)
    warnings = (*report.warnings, *_first_few(_crowded(task)), *_first_few(_unreachable(task)))
    return LintReport(task.machine, report.reading, report.sizes, warnings, task)


def lint_machine(machine: NumericRM) -> LintReport:
    """The report on a machine alone."""
    sizes: Sizes | None
    try:
        sizes = size(machine)
    except TaskError:
        sizes = None
    kinds = (_unused_states, _never_holding, _agreeing, _uncompleted, _failing_pays)
    warnings = [warning for kind in kinds for warning in _first_few(kind(machine))]
    if sizes is not None and sizes.agenda <= MAX_LABELS:
        warnings += _first_few(_coinciding(machine))
    return LintReport(machine, read_aloud(machine), sizes, tuple(warnings))


def _first_few(warnings: Iterable[str]) -> list[str]:
    sentences = list(warnings)
    more = len(sentences) - MAX_WARNINGS
    return sentences if more <= 1 else [*sentences[:MAX_WARNINGS], f"and {more} more warnings like the last one"]


def _unused_states(machine: NumericRM) -> Iterator[str]:
    reached = {machine.states[u] for u, _ in Quotient(machine).nodes}
    for name in machine.states:
        if name not in reached:
            kind = "terminal" if name in machine.success or name in machine.failure else "machine state"
            yield f"the {kind} '{name}' is never reached; correct the guards that lead to it, or remove it"
    if not any(name in reached for name in machine.success):
        yield "the task can never succeed; name a success state and a transition that leads to it"


def _never_holding(machine: NumericRM) -> Iterator[str]:
    """Transitions out of states that are reached whose guard holds in no step that can come up there.

    Phrases say the same for one item as for many, so that b↓ of a single subtask is not worth a word.
    """
    quotient = Quotient(machine)
    stepper = quotient.stepper
    able = {id(t) for reading in quotient.readings() for t, _ in stepper.options(*reading) if t}
    reached = {machine.states[u] for u, _ in quotient.nodes}
    # A count of one falls to its bound at once, so its ↓ never happens. No mistake: the same lines serve any number.
    single = {name for name, total in zip(stepper.variables, quotient.total, strict=True) if total == 1}
    single |= {gauge.name for gauge in machine.gauges if gauge.start - gauge.bound == 1}
    for t in machine.transitions:
        if t.source in reached and id(t) not in able and not single & set(decreasing(t.guard)):
            yield f"the guard of '{t}' can never hold in {t.source}; correct it, or remove the transition"


def _failing_pays(machine: NumericRM) -> Iterator[str]:
    """A failure that pays more than every success; rewards that depend on signals are not compared."""
    won = [t.reward for t in machine.transitions if t.target in machine.success]
    if not won or any(reward.signals for reward in won):
        return
    best = max(reward.value for reward in won)
    for t in machine.transitions:
        if t.target in machine.failure and not t.reward.signals and t.reward.value > best:
            yield f"failing by '{t}' pays {t.reward}, more than any success, which pays {best:g} at most; change one"


def _agreeing(machine: NumericRM) -> Iterator[str]:
    for pair in overlaps(machine):
        if pair.agree:
            shown = ", ".join(pair.features)
            yield f"'{pair.first}' and '{pair.second}' both fire on {{{shown}}} and do the same; narrow one guard"


def _uncompleted(machine: NumericRM) -> Iterator[str]:
    mentioned = {a.name for t in machine.transitions for a in atoms(t.guard) if isinstance(a, Numeric)}
    for name, _ in machine.numeric:
        if name not in mentioned:
            yield f"the numeric feature '{name}' stands in no guard; use it, or remove it with its subtasks"
        elif not any(name in names for names in machine.completing.values()):
            yield (
                f"no state completes subtasks of '{name}': no guard holds with {name}↓ and not with {name}!; let one ask for "
                f"{name}↓, or name the states under completing"
            )
    for gauge in machine.gauges:
        if gauge.name not in mentioned:
            yield f"the gauge '{gauge.name}' stands in no guard; use it, or remove it: the machine has a state for each value"


def _coinciding(machine: NumericRM) -> Iterator[str]:
    """Labels that two running states share (Proposition 2 of the paper does not hold in general)."""
    agenda = unfold_agenda(machine)
    holders: dict[Label, list[State]] = defaultdict(list)
    for state, label in zip(agenda.states, agenda.labels, strict=True):
        if agenda.stepper.status[state[0]] == RUNNING:
            holders[label].append(state)
    for label, states in holders.items():
        if len(states) > 1:
            first, second = (agenda.stepper.name(u) for u, _ in states[:2])
            yield (
                f"the label {label} stands for two states, {first} and {second} with the same subtasks left; "
                "errands tells them apart, readers of labels cannot"
            )


def _crowded(task: Task) -> Iterator[str]:
    """Subtasks that are true at once and open at once: the paper assumes that this does not happen."""
    if task.layout is not None:
        together = {task.layout.features_at(cell) for _, cell in task.layout.places}
    else:
        finite = task.world.finite()
        together = set(finite.labels) if finite is not None else set()
    stepper, rules = Stepper(task.machine), task.machine.rules
    for label in sorted(together, key=sorted):
        # Assumption 5: a step completes one subtask of a numeric feature.
        hits = stepper.bits(label)
        for u, variable in product(range(stepper.base), stepper.variable_bits):
            bits = stepper.order.bits_in(hits & stepper.active[u] & variable)
            both = list(dict.fromkeys(task.machine.subtasks[i] for i in bits))
            ordered = rules and all(rules.precedes(i, j) or rules.precedes(j, i) for i, j in combinations(bits, 2))
            if len(both) > 1 and not ordered:
                yield (
                    f"{' and '.join(both)} hold at once and are both open in {stepper.name(u)}; one step "
                    f"completes only {both[0]}, the first in declared order, so put them apart if that is not meant"
                )


def _unreachable(task: Task) -> Iterator[str]:
    if task.layout is not None:
        for name in unreachable_features(task.layout):
            if name in task.machine.features:
                yield f"guards mention '{name}', but none of its cells can be reached from the start; open a way to one"


def read_aloud(machine: NumericRM) -> tuple[str, ...]:
    """What the machine asks for, in words."""
    return tuple(_Reader(machine).sentences())


class _Reader:
    def __init__(self, machine: NumericRM) -> None:
        self.machine = machine
        self.subtasks = dict(machine.numeric)
        self.gauges = {gauge.name: gauge for gauge in machine.gauges}
        quotient = Quotient(machine)
        self.total = dict(zip(self.subtasks, quotient.total, strict=True))
        """How many subtasks of each numeric feature have to be done."""
        reached = {machine.states[u] for u, _ in quotient.nodes}
        self.running = [s for s in machine.states if s in reached and s not in (*machine.success, *machine.failure)]
        # Where a state can be entered with nothing left to do, "at its bound" announces nothing.
        self.bare = {
            (machine.states[u], name)
            for u, counts in quotient.nodes
            for (name, _), left in zip(machine.numeric, counts, strict=True)
            if not left
        }

    def sentences(self) -> Iterable[str]:
        """One for each state that is not an end; a failure that threatens in all of them is told once, at the end."""
        fatal = {s: self._failures(s) for s in self.running}
        shared = all(fatal[s] == fatal[self.running[0]] for s in self.running)
        for i, state in enumerate(self.running):
            ways = "; or ".join(self._ways(state)) or "nothing leads on from here"
            ends = ["", *(() if shared else (self._fails(state, *failure) for failure in fatal[state]))]
            yield f"{'In' if i else 'Start in'} {state}: {ways}{'; but '.join(ends)}."
            yield from self._paid_waiting(state)
        for failure in fatal[self.running[0]] if shared else ():
            yield f"Always: {self._fails(self.running[0], *failure)}."
        yield from rule_sentences(self.machine.counted, self.machine.rules)
        yield from map(_falls, self.machine.gauges)

    def _failures(self, state: str) -> list[tuple[Guard, Reward]]:
        return [(t.guard, t.reward) for t in self.machine.leaving[state] if t.target in self.machine.failure]

    def _fails(self, state: str, guard: Guard, reward: Reward) -> str:
        return f"{self._say(state, guard)} fails the task{_paid(reward)}"

    def _ways(self, state: str) -> list[str]:
        """The ways on from a state; transitions that ask for the same thing stand together."""
        allowed = [negation(guard) for guard, _ in self._failures(state)]
        groups: dict[str, list[tuple[str, str]]] = {}
        for t in self.machine.leaving[state]:
            if t.target not in self.machine.failure and not self._waits(t) and not self._idle(t):
                asked, condition = self._split(state, _without(t.guard, allowed))
                groups.setdefault(asked, []).append((condition, self._consequence(t)))
        return [_joined(asked, ends) for asked, ends in groups.items()]

    def _waits(self, t: Transition) -> bool:
        return t.source == t.target and not any(self._announces(t.source, part) for part in _conjuncts(t.guard))

    def _idle(self, t: Transition) -> bool:
        """Whether a transition can never fire: the only subtask of a numeric feature cannot leave others behind."""
        about = (_about(part) for part in _conjuncts(t.guard))
        return any(it is not None and it[1] == {Change.DECREASED} and self._height(it[0]) == 1 for it in about)

    def _height(self, name: str) -> int:
        gauge = self.gauges.get(name)
        return self.total[name] if gauge is None else gauge.start - gauge.bound

    def _announces(self, state: str, part: Guard) -> str | None:
        """The numeric feature of which a part of a guard says that a subtask was completed; None if it says no such."""
        name, values = _about(part) or ("", frozenset[Change]())
        says = values and Change.UNCHANGED not in values
        return name if says and name in self.machine.completing[state] and (state, name) not in self.bare else None

    def _split(self, state: str, guard: Guard) -> tuple[str, str]:
        """A guard in words: what is to be done or reached, and the standing condition on which the rest depends."""
        done, reached, conditions = [], [], []
        for part in _conjuncts(guard):
            name, about = self._announces(state, part), _about(part)
            if name is not None and about is not None:
                done.append(
                    f"do one of {self._names(name)}" if len(self.subtasks[name]) > 1 else f"do {self._names(name)}"
                )
                if len(about[1]) == 1 and self.total[name] > 1:
                    conditions.append("none remains" if Change.REACHED in about[1] else "others remain")
            elif about is not None:
                conditions.append(self._say(state, part, clause=True))
            else:
                reached.append(part)
        asked = [*done, *([f"reach {self._say(state, conjunction(reached))}"] if reached else [])]
        return " and ".join(asked), " and ".join(conditions)

    def _consequence(self, t: Transition) -> str:
        if t.target in self.machine.success:
            return f"the task is done{_paid(t.reward)}"
        if t.target == t.source:
            return f"stay in {t.target}{_paid(t.reward)}"
        back = self.machine.states.index(t.target) < self.machine.states.index(t.source)
        return f"go {'back ' if back else ''}to {t.target}{_paid(t.reward)}"

    def _paid_waiting(self, state: str) -> Iterable[str]:
        for t in self.machine.leaving[state]:
            if self._waits(t) and t.reward != Reward():
                yield f"In {state}, each step pays {t.reward} while {self._say(state, t.guard, clause=True)}."

    def _names(self, variable: str) -> str:
        names = self.subtasks[variable]
        if len(names) <= MAX_NAMES:
            return ", ".join(names)
        return f"{names[0]}, {names[1]}, ..., {names[-1]} ({len(names)} subtasks)"

    def _say(self, state: str, guard: Guard, clause: bool = False) -> str:
        """The guard in words; as a clause ('x holds') or as something to reach ('x')."""
        if (about := _about(guard)) is not None:
            return self._count(state, *about)
        match guard:
            case Boolean(name):
                return f"{name} holds" if clause else name
            case Not(Boolean(name)):
                return f"{name} does not hold" if clause else f"no {name}"
            case Not(And(inner) | Or(inner)):
                # De Morgan: "no x and no y" is easier to read than "not (x or y)".
                join = disjunction if isinstance(guard.inner, And) else conjunction
                return self._say(state, join([negation(part) for part in inner]), clause)
        parts = [(self._say(state, part, clause), _about(part)) for part in _parts(guard)]
        if isinstance(guard, Or):
            return " or ".join(words for words, _ in parts) or "nothing"
        marked = (f"({words})" if " or " in words and about is None else words for words, about in parts)
        return " and ".join(marked) or "anything holds"

    def _count(self, state: str, name: str, values: frozenset[Change]) -> str:
        if name in self.gauges:
            return _GAUGED["".join(c.value for c in Change if c in values)].format(name, self.gauges[name].bound)
        completing = name in self.machine.completing[state]
        # Where nothing is completed the value says what remains, and is never ↓.
        signs = "".join(c.value for c in Change if c in values and (completing or c is not Change.DECREASED))
        if signs in ("", "!↓⤓" if completing else "!⤓"):
            return "anything holds" if signs else "nothing"
        words = {
            "!": "none of {} is completed" if completing else "some of {} remain",
            "↓": "one of {} is completed and others remain",
            "⤓": "none of {} remains",
            "!↓": "some of {} remain",
            "↓⤓": "one of {} is completed" + (" or none remains" if (state, name) in self.bare else ""),
            "!⤓": "none of {} is completed or none remains",
        }
        return words[signs].format(self._names(name))


_GAUGED = {
    "": "nothing", "!": "{0} stays above {1}", "↓": "{0} falls and is above {1}", "⤓": "{0} is at {1}",
    "!↓": "{0} is above {1}", "!⤓": "{0} stays or is at {1}", "↓⤓": "{0} falls or is at {1}", "!↓⤓": "anything holds",
}  # fmt: skip
"""What it takes that a gauge has one of these values."""


def _falls(gauge: Gauge) -> str:
    how = "as the world reports it" if gauge.each is None else "by one in each step"
    held = "" if gauge.each in (None, TRUE) else f" that has {gauge.each}"
    return f"{gauge.name} falls from {gauge.start} to {gauge.bound}, {how}{held}."


def _about(guard: Guard) -> tuple[str, frozenset[Change]] | None:
    """The one numeric feature that a guard is about, and the values for which it holds; None where it is about more."""
    mentioned = list(atoms(guard))
    names = {atom.name for atom in mentioned}
    if len(names) != 1 or not all(isinstance(atom, Numeric) for atom in mentioned):
        return None
    (name,) = names
    return name, frozenset(change for change in Change if holds(guard, set(), {name: change}))


def _parts(guard: Guard) -> list[Guard]:
    """The parts of a join, those about one numeric feature and nothing else put together; any other guard alone."""
    grouped: dict[object, list[Guard]] = {}
    for part in guard.parts if isinstance(guard, And | Or) else (guard,):
        about = _about(part)
        grouped.setdefault(about[0] if about else part, []).append(part)
    join = disjunction if isinstance(guard, Or) else conjunction
    return [join(parts) for parts in grouped.values()]


def _conjuncts(guard: Guard) -> list[Guard]:
    if isinstance(guard, Not) and isinstance(guard.inner, Or):
        guard = conjunction([negation(part) for part in guard.inner.parts])
    return _parts(guard) if isinstance(guard, And) and guard.parts else [guard]


def _without(guard: Guard, conjuncts: Sequence[Guard]) -> Guard:
    left = [part for part in (guard.parts if isinstance(guard, And) else (guard,)) if part not in conjuncts]
    return conjunction(left) if left else TRUE


def _paid(reward: Reward) -> str:
    return "" if reward == Reward() else f" with reward {reward}"


def _joined(asked: str, ends: Sequence[tuple[str, str]]) -> str:
    """What is asked for and what follows; two opposite conditions read as if and else."""
    conditions = [condition for condition, _ in ends]
    if conditions == [""]:
        return f"{asked}, then {ends[0][1]}"
    first = asked + ", then " if asked else ""
    if len(ends) == 2:
        (one, end), (other, otherwise) = sorted(ends, key=lambda e: e[0].startswith("none"))
        if other == ("none remains" if one == "others remain" else one.replace("some", "none", 1) + "s"):
            return f"{first}if {one} {end}, else {otherwise}"
    return first + ", ".join(f"if {condition} {end}" if condition else end for condition, end in ends)
