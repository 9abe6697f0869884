"""Numeric reward machines (Definition 2), valid from birth: their transitions, labels, and what a trace earns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from errands.errors import SpecError
from errands.features import (
    MAX_FEATURES,
    MAX_WORK,
    Boolean,
    Guard,
    Numeric,
    atoms,
    decreasing,
    is_name,
    parse_guard,
    said_plainly,
    table_words,
)
from errands.machines.gauges import Gauge, gauge_faults, read_gauge
from errands.machines.rewards import NOTHING, Reward, parse_reward
from errands.machines.rules import NO_RULES, Rules, read_rules, rule_faults

MAX_SUBTASKS = 16_384
MAX_TRANSITIONS = 2_000
Trace = Sequence[Set[str]]
Counted = tuple[tuple[str, tuple[str, ...]], ...]
Signals = Sequence[Mapping[str, float]]
"""The feature sets of the steps, and the numbers that the world reports in them."""


@dataclass(frozen=True, slots=True)
class Transition:
    """From a machine state to another when the guard holds, paying the reward."""

    source: str
    target: str
    guard: Guard
    reward: Reward = NOTHING

    def __str__(self) -> str:
        return f"{self.source} -> {self.target} : {self.guard} ; {self.reward}"


def parse_transition(text: str) -> Transition:
    """The transition that a line means."""
    # Cut at the first arrow, the first colon after it and the last semicolon: one pass each, whatever the text is.
    source, arrow, rest = text.partition("->")
    target, colon, rest = rest.partition(":")
    guard, semicolon, reward = rest.rpartition(";")
    source, target = source.strip(), target.strip()
    if not (arrow and colon and semicolon and source and target):
        raise SpecError(f"'{text[:80]}' is not a transition; write 'from -> to : guard ; reward'")
    for name in (source, target):
        if not is_name(name):
            raise SpecError(f"'{name[:40]}' cannot name a machine state; use letters, digits and underscores")
    try:
        return Transition(source, target, said_plainly(parse_guard(guard)), parse_reward(reward))
    except SpecError as fault:
        raise SpecError(f"{fault} (in '{text.strip()[:80]}')") from None


@dataclass(frozen=True)
class Outcome:
    """The rewards of the steps taken, until the trace or the task ended, and how it ended.

    >>> import errands
    >>> errands.any_order("a", "b").run([{"a"}, set(), {"b"}])
    Outcome(rewards=(0.0, 0.0, 1.0), terminal=True, success=True)
    """

    rewards: tuple[float, ...]
    terminal: bool
    success: bool


@dataclass(frozen=True, slots=True)
class Label:
    """How deep a state lies, which subtasks remain, and what must become true next; printed `0{b1,b2}b1`.

    >>> print(Label(0, ("b1", "b2"), ("b1",)), Label(4, (), ()))
    0{b1,b2}b1 4{}
    """

    depth: int
    remaining: tuple[str, ...]
    objective: tuple[str, ...]
    """One name, several that are open at once, or none where the task has ended."""

    def __str__(self) -> str:
        objective = ",".join(self.objective)
        return f"{self.depth}{{{','.join(self.remaining)}}}" + (
            f"{{{objective}}}" if len(self.objective) > 1 else objective
        )


class RewardMachine:
    """What the four machines share: what a trace earns, and a few words."""

    def run(self, trace: Trace, signals: Signals | None = None) -> Outcome:
        """What the machine pays for a trace."""
        from errands.machines.stepping import Stepper

        return Stepper(numeric_of(self)).run(trace, signals)

    def __len__(self) -> int:
        machine: Any = self
        return len(machine.states)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self):,} states, {len(numeric_of(self).subtasks):,} subtasks>"


def numeric_of(machine: RewardMachine) -> NumericRM:
    """The numeric machine that a machine is, or was unfolded from."""
    if not isinstance(machine, RewardMachine):
        raise SpecError(f"the machine is a {type(machine).__name__}; give a phrase, its text, or a machine")
    whole: Any = machine
    return machine if isinstance(machine, NumericRM) else whole.numeric


@dataclass(frozen=True, repr=False)
class NumericRM(RewardMachine):
    """A machine over Boolean features and numeric ones that count uncompleted subtasks.

    >>> import errands
    >>> machine = errands.load("figure-1").machine
    >>> len(machine), machine.initial, machine.success
    (3, 'u0', ('u2',))
    >>> machine.run([{"b2"}, {"s"}, {"b1"}, {"s"}]).success
    True
    """

    initial: str
    success: tuple[str, ...]
    failure: tuple[str, ...]
    numeric: Counted
    """Each numeric feature with the subtasks that it counts, in declared order."""
    transitions: tuple[Transition, ...]
    rules: Rules = NO_RULES
    """What restricts the order of the subtasks; nothing in the paper's machines."""
    completing: Mapping[str, Set[str]] = field(default_factory=dict, hash=False)
    """The numeric features whose subtasks are completed in each state. Of a state that is left out its guards decide: b is
    completed there where one of them holds with b↓ and not with b!, for some values of all else."""
    phrase: object = field(default=None, compare=False, repr=False)
    """The words that it was said in (tasks.phrases.Expression); None for a machine of transitions."""
    gauges: tuple[Gauge, ...] = ()
    """The other numeric features: values that the world reports, or steps that are counted."""

    def __post_init__(self) -> None:
        problems = list(_faults(self))
        # Conflicts are looked for in a machine that is well formed only: they step it.
        if not problems:
            from errands.machines.counting import conflicts

            given = {s: frozenset(names) for s, names in self.completing.items()}
            object.__setattr__(self, "completing", {s: given[s] if s in given else self._meant(s) for s in self.states})
            problems = list(conflicts(self))
        if problems:
            raise SpecError("; ".join(problems), problems)

    @staticmethod
    def of(
        initial: str,
        success: Iterable[str],
        transitions: Iterable[str],
        failure: Iterable[str] = (),
        numeric: Mapping[str, Iterable[str] | Mapping[str, object]] | None = None,
        before: Iterable[Sequence[str]] = (),
        apart: Iterable[Sequence[str]] = (),
        choose: Iterable[tuple[int, Sequence[Sequence[str]]]] = (),
        capacity: Iterable[tuple[int, Sequence[Sequence[str]]]] = (),
        completing: Mapping[str, Iterable[str]] | None = None,
    ) -> NumericRM:
        """A machine from transitions written as text, with rules between the subtasks by their names (machines.rules).

        A numeric feature is a list of subtasks, or a gauge: `{"from": 12, "to": 0}`, with `each` what it counts.

        >>> lines = ["u0 -> u0 : b↓ ; 0", "u0 -> u1 : b⤓ ; 1"]
        >>> machine = NumericRM.of("u0", ["u1"], lines, numeric={"b": ["p", "d"]}, before=[["p", "d"]])
        >>> machine.run([{"d"}, {"p"}, {"d"}]).rewards
        (0.0, 0.0, 1.0)
        """
        counted, gauges = _numeric_of(numeric or {})
        lines = tuple(parse_transition(line) for line in transitions)
        rules = read_rules([n for _, subtasks in counted for n in subtasks], before, apart, choose, capacity)
        said = {state: frozenset(names) for state, names in (completing or {}).items()}
        return NumericRM(initial, tuple(success), tuple(failure), counted, lines, rules, said, gauges=gauges)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """All machine states, the initial one first, then in the order of the transitions."""
        named = (s for t in self.transitions for s in (t.source, t.target))
        return tuple(dict.fromkeys((self.initial, *named)))

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The feature of every subtask that a numeric feature counts, variable by variable."""
        return tuple(name for _, names in self.numeric for name in names)

    @cached_property
    def subtasks(self) -> tuple[str, ...]:
        """What every bit of a mask stands for: the counted subtasks, then a `~a` for each visit that has to end.

        The latter are there where rules keep visits apart; nothing counts them, and they are open in every state.
        """
        return (*self.counted, *(f"~{self.counted[i]}" for i, _ in self.rules.apart))

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Every Boolean feature that the machine looks at: subtasks first, then those in guards."""
        guards = (*(t.guard for t in self.transitions), *(g.each for g in self.gauges if g.each is not None))
        mentioned = (a.name for guard in guards for a in atoms(guard) if isinstance(a, Boolean))
        return tuple(dict.fromkeys((*self.counted, *mentioned)))

    @property
    def declared(self) -> dict[str, object]:
        """The numeric features as a task file declares them."""
        return {name: list(names) for name, names in self.numeric} | {g.name: g.settings() for g in self.gauges}

    @cached_property
    def read(self) -> tuple[str, ...]:
        """The gauges whose values the world has to report."""
        return tuple(gauge.name for gauge in self.gauges if gauge.each is None)

    @cached_property
    def signals(self) -> tuple[str, ...]:
        """Every signal that a reward uses."""
        return tuple(dict.fromkeys(name for t in self.transitions for name in t.reward.signals))

    @cached_property
    def compounds(self) -> tuple[Reward, ...]:
        """The rewards that are more than a number or a signal times a number: in tables the last signals, in this order."""
        return tuple(dict.fromkeys(t.reward for t in self.transitions if t.reward.compound))

    @cached_property
    def functions(self) -> tuple[Reward, ...]:
        """The compound rewards that are functions: for networks columns behind the signals, in this order."""
        return tuple(reward for reward in self.compounds if reward.function is not None)

    @cached_property
    def leaving(self) -> dict[str, tuple[Transition, ...]]:
        """The transitions out of each state, in declared order."""
        by_state: dict[str, list[Transition]] = {s: [] for s in self.states}
        for t in self.transitions:
            by_state[t.source].append(t)
        return {s: tuple(ts) for s, ts in by_state.items()}

    def _meant(self, state: str) -> frozenset[str]:
        """The numeric features that the guards of a state complete, whatever words they use."""
        own = {name for name, _ in self.numeric}
        return frozenset(name for t in self.leaving[state] for name in decreasing(t.guard) if name in own)

    @cached_property
    def restated(self) -> dict[str, tuple[str, ...]]:
        """What states complete against the meaning of their guards: the part of `completing` that has to be written down."""
        return {s: tuple(sorted(names)) for s, names in self.completing.items() if names != self._meant(s)}


def _numeric_of(given: Mapping[str, Iterable[str] | Mapping[str, object]]) -> tuple[Counted, tuple[Gauge, ...]]:
    gauges = {name: spec for name, spec in given.items() if isinstance(spec, Mapping)}
    counted = tuple((name, tuple(spec)) for name, spec in given.items() if name not in gauges)
    return counted, tuple(read_gauge(name, spec) for name, spec in gauges.items())


def _faults(machine: NumericRM) -> Iterable[str]:
    if len(machine.subtasks) > MAX_SUBTASKS or len(machine.transitions) > MAX_TRANSITIONS:
        yield f"a machine has at most {MAX_SUBTASKS:,} subtasks and {MAX_TRANSITIONS:,} transitions; split the task"
        return
    counted = dict(machine.numeric)
    names = [
        *machine.states,
        *counted,
        *machine.success,
        *machine.failure,
        *(n for _, ns in machine.numeric for n in ns),
    ]
    for name in dict.fromkeys(names):
        if not is_name(name):
            yield f"'{name[:40]}' cannot be a name; use letters, digits and underscores, and no reserved word"
    yield from _numeric_faults(machine)
    yield from gauge_faults(machine.gauges, {*machine.features, *counted}, (t.guard for t in machine.transitions))
    yield from _transition_faults(machine)
    yield from _terminal_faults(machine)
    for atom in dict.fromkeys(a for t in machine.transitions for a in atoms(t.guard)):
        if isinstance(atom, Numeric) and atom.name not in {*counted, *(gauge.name for gauge in machine.gauges)}:
            yield f"'{atom}' stands in a guard, but numeric has no '{atom.name}'; list its subtasks under numeric"


def _transition_faults(machine: NumericRM) -> Iterable[str]:
    for t in machine.transitions:
        if (count := len({a.name for a in atoms(t.guard)})) > MAX_FEATURES:
            yield f"a guard out of '{t.source}' mentions {count} features; it can have at most {MAX_FEATURES}"
        if not t.reward.finite:
            yield f"the reward of '{t}' is not finite; give a number"
    # What a guard means is read from its truth table, with a column for each value of a numeric feature.
    words = [table_words(t.guard) for t in machine.transitions if any(isinstance(a, Numeric) for a in atoms(t.guard))]
    if sum(words) > MAX_WORK or max(words, default=0) > MAX_WORK // 10:
        yield "the guards are too many and too long to be understood; split the task, or its guards"
    for state, completed in machine.completing.items():
        if state not in machine.states:
            yield f"completing speaks of the state '{state[:40]}', which no transition names"
        for name in sorted(set(completed) - dict(machine.numeric).keys()):
            yield f"completing says that '{state[:40]}' completes '{name[:40]}', but numeric has no '{name[:40]}'"


def _numeric_faults(machine: NumericRM) -> Iterable[str]:
    for variable, subtasks in machine.numeric:
        if not subtasks:
            yield f"the numeric feature '{variable}' counts no subtasks; name at least one"
        if variable in machine.features:
            signs = f"{variable}↓, {variable}⤓ or {variable}!"
            yield f"'{variable}' is a numeric feature and a Boolean one; write {signs} in guards"
    if len(dict(machine.numeric)) < len(machine.numeric):
        yield "a numeric feature is declared twice"
    yield from rule_faults(machine.counted, machine.numeric, machine.rules)


def _terminal_faults(machine: NumericRM) -> Iterable[str]:
    sources = {t.source for t in machine.transitions}
    named = sources | {t.target for t in machine.transitions}
    if machine.initial not in sources:
        yield f"no transition leaves the initial state '{machine.initial}'"
    for name in dict.fromkeys((*machine.success, *machine.failure)):
        if name not in named:
            yield f"no transition names the terminal state '{name}'; remove it or add a transition to it"
        if name in sources:
            yield f"a transition leaves the terminal state '{name}'; a terminal ends the task"
        if name in machine.success and name in machine.failure:
            yield f"'{name}' is a success and a failure; choose one"
