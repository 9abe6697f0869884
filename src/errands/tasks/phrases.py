"""Phrases: tasks said in words, each a function that makes a numeric machine and an entry of `PHRASES`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from inspect import Parameter, signature
from itertools import pairwise, takewhile
from typing import Any, NamedTuple, get_args, get_type_hints

from errands.errors import SpecError, UnknownName
from errands.features import (
    TRUE,
    Boolean,
    Change,
    Guard,
    Numeric,
    Tokens,
    atoms,
    conjunction,
    disjunction,
    fresh_names,
    is_name,
    mapped,
    negation,
)
from errands.machines.gauges import MAX_LEVELS, Gauge
from errands.machines.numeric import MAX_TRANSITIONS, NumericRM, Transition, parse_transition
from errands.machines.rewards import Reward
from errands.machines.rules import MAX_PAIRS, NO_RULES, Group, Rules

PhraseLike = NumericRM | str
"""A phrase that was made, or a feature, which is a phrase by itself."""
WON, LOST = "won", "failed"
MAX_TIMES = 500


def sequence(*phrases: PhraseLike) -> NumericRM:
    """One phrase after the other.

    Parameters:
        phrases: features or phrases, in their order.

    >>> sequence("coffee", "office").run([{"office"}, {"coffee"}, {"office"}]).rewards
    (0.0, 0.0, 1.0)
    """
    if not phrases:
        raise SpecError("sequence() is empty; give it at least one feature or phrase")
    if len(phrases) > MAX_TRANSITIONS:
        raise SpecError(f"sequence() of {len(phrases):,} parts is too long; at most {MAX_TRANSITIONS:,} are read")
    parts = [_machine(p) for p in phrases]
    if any(part.gauges for part in parts[1:]):
        raise SpecError("in a sequence within, budget and at_most count from its first step, so only its first part can have them")
    transitions: list[Transition] = []
    numeric: list[tuple[str, tuple[str, ...]]] = []
    rules = NO_RULES
    completing: dict[str, frozenset[str]] = {}
    features = {name for part in parts for name in part.features}
    for i, part in enumerate(parts):
        names = fresh_names([name for name, _ in part.numeric], features | {name for name, _ in numeric})
        # Rules count positions in the list of all subtasks: shift them past the parts that stand before.
        rules = rules.joined(part.rules.shifted(sum(len(subtasks) for _, subtasks in numeric)))
        numeric += [(names[v], subtasks) for v, subtasks in part.numeric]
        completing |= {f"{i}_{s}": frozenset(names[v] for v in own) for s, own in part.completing.items()}
        for t in part.transitions:
            target = _target(part, t, i)
            if target == WON and i < len(parts) - 1:
                target = f"{i + 1}_{parts[i + 1].initial}"
            transitions.append(
                Transition(f"{i}_{t.source}", target, _renamed(t.guard, names), _paid(part, t, target))
            )
    expression = _expression("sequence", phrases)
    return _numbered(f"0_{parts[0].initial}", transitions, numeric, rules, completing, expression, parts[0].gauges)


def any_order(
    *items: PhraseLike,
    before: str | None = None,
    after: str | None = None,
    choose: int | None = None,
    capacity: int | None = None,
    one_at_a_time: bool = False,
) -> NumericRM:
    """All items in any order; an item is a feature or a phrase whose own order is kept.

    Parameters:
        items: features or phrases.
        before: a feature that must become true before each item.
        after: a feature that must become true after each item.
        choose: so many of the items are enough.
        capacity: at most so many items that are phrases are begun and not finished at any time.
        one_at_a_time: a capacity of 1.

    >>> any_order("a", "b", "c", choose=2).run([{"c"}, {"a"}]).success
    True
    >>> machine = any_order(sequence("p1", "d1"), sequence("p2", "d2"), capacity=1)
    >>> machine.run([{"p1"}, {"p2"}, {"d1"}, {"d2"}, {"p2"}, {"d2"}]).rewards
    (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    """
    if len(items) == 1 and isinstance(items[0], list | tuple | set | frozenset):
        raise SpecError(f"any_order() takes its items one by one: any_order(*{items[0]!r:.60}), with a star")
    if one_at_a_time and capacity not in (None, 1):
        raise SpecError(f"one_at_a_time is a capacity of 1, and capacity={capacity} came as well; give one of them")
    expression = _expression("any_order", items, before=before, after=after, choose=choose,
                 capacity=None if one_at_a_time else capacity, one_at_a_time=one_at_a_time or None)  # fmt: skip
    beside = tuple(_feature(n) for n in (before, after) if n is not None)
    if not items:
        raise SpecError("any_order() is empty; give it at least one feature")
    if beside and not all(isinstance(item, str) for item in items):
        raise SpecError(f"before= and after= stand beside single features; put them inside the parts of {expression}")
    parts = [_part(item) for item in items]
    plain = [item for item in items if isinstance(item, str)]
    if len({*plain}) < len(plain) or {*beside} & {*plain}:
        raise SpecError(
            f"any_order({', '.join(map(str, items))}) names a feature twice; items differ, also from before and after"
        )
    part = _side_by_side(parts, choose, 1 if one_at_a_time else capacity)
    name = _variable(part.names, beside)
    lines, last = _rounds(name, before, after)
    counted = ((name, part.names),)
    transitions = tuple(map(parse_transition, lines))
    return NumericRM("u0", (last,), (), counted, transitions, part.rules, phrase=expression)


def _rounds(name: str, before: str | None, after: str | None) -> tuple[list[str], str]:
    """The transitions that complete the subtasks of a numeric feature one by one, and the success state."""
    same, down, done = (f"{name}{sign}" for sign in "!↓⤓")
    choose, second, third = ("u0", "u1", "u2") if before is None else ("u1", "u2", "u3")
    lines = [] if before is None else [f"u0 -> u0 : ~{before} ; 0", f"u0 -> u1 : {before} ; 0"]
    if after is None:
        lines += [f"{choose} -> {choose} : {same} ; 0"] * (before is not None)
        return [*lines, f"{choose} -> u0 : {down} ; 0", f"{choose} -> {second} : {done} ; 1"], second
    lines += [f"{choose} -> {choose} : {same} ; 0", f"{choose} -> {second} : {down} | {done} ; 0"]
    # These guards only look at what remains: none holds with ↓ and not with !, so nothing is completed in this state.
    lines += [f"{second} -> {second} : ~{after} ; 0", f"{second} -> {third} : {after} & {done} ; 1"]
    return [*lines, f"{second} -> u0 : {after} & {same} ; 0"], third


def _variable(subtasks: tuple[str, ...], beside: tuple[str, ...]) -> str:
    """A name for a numeric feature: what its subtasks begin with, or `todo`; never the name of a feature."""
    prefix = "".join(c[0] for c in takewhile(lambda c: len(set(c)) == 1, zip(*subtasks, strict=False)))
    name = prefix if is_name(prefix) and prefix not in {*subtasks, *beside} else "todo"
    return fresh_names([name], {*subtasks, *beside})[name]


def either(*phrases: PhraseLike) -> NumericRM:
    """One of several phrases, whichever is finished first.

    Parameters:
        phrases: features or phrases; one of them is enough.

    >>> either("door", "window").run([{"window"}]).success
    True
    """
    if len(phrases) < 2:
        raise SpecError("either() needs at least two phrases to choose from")
    return replace(any_order(*phrases, choose=1), phrase=_expression("either", phrases))


def repeat(feature: str, times: int) -> NumericRM:
    """A feature several times: a visit ends when the feature has been false, and the next one begins after that.

    Parameters:
        feature: what is visited.
        times: how often.

    >>> repeat("bell", 2).run([{"bell"}, {"bell"}, set(), {"bell"}]).rewards
    (0.0, 0.0, 0.0, 1.0)
    """
    _feature(feature)
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MAX_TIMES:
        raise SpecError(f"repeat({feature}, {times}) is out of range; a feature is repeated 1 to {MAX_TIMES} times")
    lines = []
    for i in range(times):
        here, there, gone = f"u{2 * i}", f"u{2 * i + 1}", f"u{2 * i + 2}"
        lines += [f"{here} -> {here} : ~{feature} ; 0", f"{here} -> {there} : {feature} ; {int(i == times - 1)}"]
        if i < times - 1:
            lines += [f"{there} -> {there} : {feature} ; 0", f"{there} -> {gone} : ~{feature} ; 0"]
    transitions = tuple(map(parse_transition, lines))
    return NumericRM("u0", (f"u{2 * times - 1}",), (), (), transitions, phrase=_expression("repeat", (feature, times)))


def avoid(*forbidden_then_phrase: PhraseLike, cost: int = 0) -> NumericRM:
    """The last phrase, failing as soon as one of the features before it is true; failure wins over success.

    Parameters:
        forbidden_then_phrase: the forbidden features, and last what is to be done.
        cost: what failing costs, as a negative reward.

    >>> avoid("lava", sequence("goal")).run([{"lava", "goal"}])
    Outcome(rewards=(0.0,), terminal=True, success=False)
    """
    *forbidden, phrase = forbidden_then_phrase or (None,)
    if not forbidden or phrase is None:
        raise SpecError("avoid() needs the features to avoid and then a phrase, as in avoid(lava, sequence(a, b))")
    features = [_feature(f) for f in forbidden]
    bad = disjunction([Boolean(name) for name in features])
    cost = _amount("the cost of avoid", cost) if cost else 0
    return _failing(bad, _machine(phrase), _expression("avoid", (*forbidden, phrase), cost=cost or None), cost=cost)


def toll(cost: int, feature: str, phrase: PhraseLike) -> NumericRM:
    """A phrase in which every step that has a feature costs something, and nothing ends by it.

    Parameters:
        cost: what such a step costs, as a negative reward.
        feature: what is dear.
        phrase: what is to be done.

    >>> toll(5, "mud", "goal").run([{"mud"}, {"mud", "goal"}]).rewards
    (-5.0, -4.0)
    """
    part, dear, price = _machine(phrase), Boolean(_feature(feature)), _amount("toll", cost)
    transitions: list[Transition] = []
    for t in part.transitions:
        target = _target(part, t, 0)
        for guard, cost in ((negation(dear), 0), (dear, price)):
            paid = _paid(part, t, target, cost)
            transitions.append(Transition(f"0_{t.source}", target, conjunction([t.guard, guard]), paid))
    completing = {f"0_{s}": own for s, own in part.completing.items()}
    expression = _expression("toll", (cost, feature, phrase))
    return _numbered(f"0_{part.initial}", transitions, part.numeric, part.rules, completing, expression, part.gauges)


def within(steps: int, phrase: PhraseLike) -> NumericRM:
    """A phrase in so many steps: the task fails in the last of them unless that is the one that completes it.

    Parameters:
        steps: the most steps that it may take.
        phrase: what is to be done.

    >>> within(2, sequence("a", "b")).run([{"a"}, {"b"}]).success, within(2, sequence("a", "b")).run([set(), {"a"}])
    (True, Outcome(rewards=(0.0, 0.0), terminal=True, success=False))
    """
    gauge = Gauge("steps_left", _amount("within", steps), 0, TRUE)
    return _failing(None, _machine(phrase), _expression("within", (steps, phrase)), gauge)


def budget(gauge: str, phrase: PhraseLike, *, start: int, bound: int = 0) -> NumericRM:
    """A phrase that fails as soon as a number that the world reports is at its bound; failure wins over success.

    Parameters:
        gauge: the name of the number, such as `fuel`.
        phrase: what is to be done.
        start: the number at first.
        bound: the number at which the task fails.

    >>> budget("fuel", "goal", start=3).run([{"fuel=1"}, {"goal"}]).success
    True
    """
    used = Gauge(_feature(gauge), _amount("budget", start), _amount("budget", bound, 1 - MAX_LEVELS))
    # Text has no numbers below 0: such a machine is written down by its transitions.
    said = _expression("budget", (gauge, phrase), start=start, bound=bound or None) if bound >= 0 else None
    return _failing(None, _machine(phrase), said, used)


def at_most(times: int, feature: str, phrase: PhraseLike) -> NumericRM:
    """A phrase that fails when a feature is true in more than so many steps; failure wins over success.

    Parameters:
        times: how many steps may have the feature.
        feature: what is counted.
        phrase: what is to be done.

    >>> at_most(1, "toll", "goal").run([{"toll"}, set(), {"toll"}])
    Outcome(rewards=(0.0, 0.0, 0.0), terminal=True, success=False)
    """
    gauge = Gauge(f"{_feature(feature)}_left", _amount("at_most", times) + 1, 0, Boolean(feature))
    return _failing(None, _machine(phrase), _expression("at_most", (times, feature, phrase)), gauge)


def _amount(phrase: str, number: object, least: int = 1) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number < MAX_LEVELS:
        raise SpecError(f"{phrase}() counts {number!r:.20}; it is a whole number from {least:,} to {MAX_LEVELS - 1:,}")
    return number


def _failing(
    bad: Guard | None, part: NumericRM, expression: Expression | None, gauge: Gauge | None = None, cost: int = 0
) -> NumericRM:
    """A machine that fails where something bad is true, or where a gauge of its own reaches its bound.

    Failure wins over success, but not over a success in the very step in which time (a gauge of all steps) is up.
    """
    gauges = part.gauges
    if gauge is not None:
        if gauge.each is None and gauge.name in part.read:
            raise SpecError(f"'{gauge.name}' is limited twice; say it once")
        if gauge.each is not None:
            taken = {*part.features, *dict(part.numeric), *(g.name for g in gauges), *_names_of(gauge.each)}
            gauge = replace(gauge, name=fresh_names([gauge.name], taken)[gauge.name])
        gauges, bad = (*gauges, gauge), Numeric(gauge.name, Change.REACHED)
    names = fresh_names([n for n, _ in part.numeric], {*part.features, *_names_of(bad), *(g.name for g in gauges)})
    in_time = gauge is not None and gauge.each == TRUE
    transitions: list[Transition] = []
    for state in part.states:
        if state in part.success or state in part.failure:
            continue
        lost, won = bad or TRUE, list[Guard]()
        for t in part.leaving[state]:
            guard, target = _renamed(t.guard, names), _target(part, t, 0)
            if in_time and target == WON:
                won.append(guard)
            else:
                guard = conjunction([guard, negation(lost)])
            transitions.append(Transition(f"0_{state}", target, guard, _paid(part, t, target)))
        # Every other guard says that nothing bad is true, or excludes this one, so that one of the two wins.
        transitions.append(Transition(f"0_{state}", LOST, conjunction([lost, *map(negation, won)]), Reward(0.0 - cost)))
    numeric = [(names[name], subtasks) for name, subtasks in part.numeric]
    completing = {f"0_{s}": frozenset(names[name] for name in own) for s, own in part.completing.items()}
    return _numbered(f"0_{part.initial}", transitions, numeric, part.rules, completing, expression, gauges)


def _names_of(guard: Guard | None) -> set[str]:
    return set() if guard is None else {atom.name for atom in atoms(guard)}


@dataclass(frozen=True)
class Expression:
    """A phrase as it was said; a machine that has one can be a part of any_order, and is written down by its words."""

    kind: str
    items: tuple[Expression | str | int, ...]
    options: tuple[tuple[str, str | int], ...] = ()

    def __str__(self) -> str:
        options = (f"{key}={'true' if value is True else value}" for key, value in self.options)
        return f"{self.kind}({', '.join([*map(str, self.items), *options])})"


def _expression(kind: str, items: Sequence[PhraseLike | int], **options: str | int | None) -> Expression | None:
    """The phrase of these words; None where one of its parts is a machine of transitions."""
    words = tuple(item.phrase if isinstance(item, NumericRM) else item for item in items)
    if not all(isinstance(word, str | int | Expression) for word in words):
        return None
    return Expression(kind, words, tuple((key, value) for key, value in options.items() if value is not None))  # type: ignore[arg-type]


class _Part(NamedTuple):
    """Subtasks with their rules, as one item of any_order; rules count positions in `names`."""

    names: tuple[str, ...]
    rules: Rules


def _part(item: PhraseLike | Expression) -> _Part:
    if isinstance(item, NumericRM):
        if not isinstance(item.phrase, Expression):
            raise SpecError("a machine of transitions cannot be an item of any_order; items are features and phrases")
        item = item.phrase
    if isinstance(item, str):
        return _Part((_feature(item),), NO_RULES)
    made = PHRASES[item.kind].part
    inner = (each if isinstance(each, int) else _part(each) for each in item.items)
    if made is None or (part := made(*inner, **dict(item.options))) is None:
        whole = ", ".join(name for name, phrase in PHRASES.items() if phrase.part is None)
        raise SpecError(f"{str(item)[:60]} cannot be an item of any_order; put {whole}, before and after around the whole")
    return part


def _one_by_one(*parts: _Part) -> _Part:
    """Parts in order: what ends one comes before what begins the next."""
    whole = _Part((), NO_RULES)
    ends: list[int] = []
    for part in parts:
        by = len(whole.names)
        rules = part.rules.shifted(by)
        here = range(by, by + len(part.names))
        # Only what nothing inside the part holds back can begin it, and only what holds nothing back can end it.
        held = {j for _, j in (*rules.before, *rules.apart)}
        holding = {i for i, _ in (*rules.before, *rules.apart)}
        begins = [j for j in here if j not in held]
        if len(ends) * len(begins) > MAX_PAIRS:
            raise SpecError(f"{len(ends):,} subtasks before each of {len(begins):,} are too many inside any_order; split them")
        between = tuple((i, j) for i in ends for j in begins)
        whole = _Part(whole.names + part.names, whole.rules.joined(rules).joined(Rules(before=between)))
        ends = [i for i in here if i not in holding]
    return whole


def _repeated(feature: _Part, times: int) -> _Part:
    """Visits that have to end before the next one begins."""
    return _Part(feature.names * times, Rules(apart=tuple(pairwise(range(times)))))


def _beside(
    *parts: _Part, before: str | None = None, after: str | None = None, choose: int | None = None,
    capacity: int | None = None, one_at_a_time: bool = False,
) -> _Part | None:  # fmt: skip
    """The items of an inner any_order; None where other features stand beside them."""
    return None if before or after else _side_by_side(parts, choose, 1 if one_at_a_time else capacity)


def _side_by_side(parts: Sequence[_Part], choose: int | None, capacity: int | None) -> _Part:
    """Parts in any order, inner rules first."""
    names: tuple[str, ...] = ()
    rules = NO_RULES
    places: list[tuple[int, ...]] = []
    for part in parts:
        # Inner rules first, then this level's own: choices are closed in this order.
        rules = rules.joined(part.rules.shifted(len(names)))
        places.append(tuple(range(len(names), len(names) + len(part.names))))
        names += part.names
    for key, number in (("choose", choose), ("capacity", capacity)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise SpecError(f"{key}={number} is out of range; it is a whole number, at least 1")
    if choose is not None and choose > len(parts):
        raise SpecError(f"choose={choose} is more than the {len(parts)} items there are")
    if choose is not None and choose < len(parts):
        rules = rules.joined(Rules(choices=(Group(choose, tuple(places)),)))
    if capacity is not None and capacity < len(parts):
        rules = rules.joined(Rules(capacities=(Group(capacity, tuple(places)),)))
    return _Part(names, rules)


def _feature(name: object) -> str:
    if not isinstance(name, str):
        raise SpecError("a feature was wanted where a phrase stands")
    if not is_name(name):
        raise SpecError(f"'{name[:40]}' cannot be a feature; use letters, digits and underscores, and no reserved word")
    return name


def _machine(phrase: PhraseLike) -> NumericRM:
    if isinstance(phrase, NumericRM):
        return phrase
    _feature(phrase)
    return NumericRM.of("u0", ["u1"], [f"u0 -> u0 : ~{phrase} ; 0", f"u0 -> u1 : {phrase} ; 1"])


def _target(part: NumericRM, transition: Transition, number: int) -> str:
    """Where a transition of a part leads: to success, to failure, or to a state that has the number of its part."""
    there = transition.target
    return LOST if there in part.failure else WON if there in part.success else f"{number}_{there}"


def _paid(part: NumericRM, transition: Transition, target: str, cost: int = 0) -> Reward:
    """1 where the whole succeeds, less what the transition costs: of a part only its costs are kept."""
    own = transition.reward
    before = 0.0 if own.compound or own.signal else own.value - (transition.target in part.success)
    return Reward((target == WON) + min(before, 0.0) - cost)


def _renamed(guard: Guard, names: Mapping[str, str]) -> Guard:
    return mapped(guard, lambda atom: replace(atom, name=names.get(atom.name, atom.name)) if isinstance(atom, Numeric) else atom)


def _numbered(
    initial: str,
    transitions: Sequence[Transition],
    numeric: Sequence[tuple[str, tuple[str, ...]]],
    rules: Rules,
    completing: Mapping[str, Set[str]],
    expression: Expression | None,
    gauges: tuple[Gauge, ...] = (),
) -> NumericRM:
    """The machine with its states called u0, u1, ... in the order in which they come up, the success last."""
    states = dict.fromkeys((initial, *(s for t in transitions for s in (t.source, t.target) if s not in (WON, LOST))))
    names = {state: f"u{i}" for i, state in enumerate(states)} | {WON: f"u{len(states)}", LOST: LOST}
    failure = (LOST,) if any(t.target == LOST for t in transitions) else ()
    lines = tuple(Transition(names[t.source], names[t.target], t.guard, t.reward) for t in transitions)
    kept = {names[state]: own for state, own in completing.items() if state in states}
    return NumericRM(names[initial], (names[WON],), failure, tuple(numeric), lines, rules, kept, expression, gauges)


@dataclass(frozen=True)
class Phrase:
    """One way to say a task: the function that makes its machine, which a text calls, and an example for faults."""

    function: Callable[..., NumericRM]
    example: str
    part: Callable[..., _Part | None] | None = None
    """Its subtasks as an item of any_order, from those of its own items; None where it cannot be one."""


PHRASES: Mapping[str, Phrase] = {
    phrase.function.__name__: phrase
    for phrase in (
        Phrase(sequence, "sequence(a, b)", _one_by_one),
        Phrase(any_order, "any_order(a, b, after=s)", _beside),
        Phrase(either, "either(a, b)", lambda *parts: _side_by_side(parts, 1, None)),
        Phrase(repeat, "repeat(a, 3)", _repeated),
        Phrase(avoid, "avoid(lava, sequence(a, b))"),
        Phrase(toll, "toll(5, mud, any_order(a, b))"),
        Phrase(within, "within(60, any_order(a, b))"),
        Phrase(budget, "budget(fuel, any_order(a, b), start=12)"),
        Phrase(at_most, "at_most(2, toll, any_order(a, b))"),
    )
}


# Phrases as text: `any_order(a, sequence(b, c), after=s)`

MAX_LENGTH = 200_000
_TOKEN = re.compile(r"\s*([^\W\d]\w*|\d{1,9}(?!\w)|[(),=])")
_WORDS = {str: "a feature", int: "a number", bool: "true or false"}


def parse_phrase(text: str) -> NumericRM:
    """The machine that a phrase means; a fault is reported with its column."""
    if len(text) > MAX_LENGTH:
        raise SpecError(f"a phrase of {len(text)} characters is too long; at most {MAX_LENGTH} are read")
    reader = _Reader(text)
    phrase = reader.phrase(0)
    reader.take("the end")
    return sequence(phrase) if isinstance(phrase, str) else phrase


@cache
def _arguments(name: str) -> tuple[list[Any], Any, dict[str, type]]:
    """What a phrase takes, as its function's annotations say: arguments one by one, all further ones, options."""
    function = PHRASES[name].function
    hints, parameters = get_type_hints(function), signature(function).parameters.values()
    listed = [hints[p.name] for p in parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
    further = next((hints[p.name] for p in parameters if p.kind is Parameter.VAR_POSITIONAL), None)
    # `int | None` is an option that takes a whole number.
    options = {p.name: (get_args(hints[p.name]) or (hints[p.name],))[0] for p in parameters if p.kind is Parameter.KEYWORD_ONLY}
    return listed, further, options


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = Tokens(text, _TOKEN, "a phrase", end="the end")

    def take(self, word: str) -> None:
        """Go past a token that must stand here."""
        if not self.tokens.take(word):
            raise self.tokens.fault(word)

    def _name(self) -> str:
        word, column = self.tokens.word, self.tokens.column
        if word.isdigit():
            raise SpecError(f"column {column}: '{word}' cannot stand in a phrase here; a name was wanted")
        if not re.fullmatch(r"[^\W\d]\w*", word):
            raise self.tokens.fault("a name")
        self.tokens.at += 1
        return word

    def phrase(self, depth: int) -> PhraseLike:
        """A feature, or a phrase with what stands in its brackets."""
        column, name = self.tokens.column, self._name()
        if not self.tokens.take("("):
            return name
        if name not in PHRASES:
            raise SpecError(f"column {column}: {UnknownName('phrase', name, PHRASES)}")
        items: list[Any] = []
        options: dict[str, Any] = {}
        while not self.tokens.take(")"):
            self._argument(name, items, options, depth)
            if self.tokens.word != ")":
                self.take(",")
        try:
            signature(PHRASES[name].function).bind(*items, **options)
        except TypeError:
            kinds = " and ".join(_WORDS.get(kind, "a phrase") for kind in _arguments(name)[0])
            raise SpecError(f"column {column}: {name}() takes {kinds}, as in {PHRASES[name].example}") from None
        try:
            return PHRASES[name].function(*items, **options)
        except SpecError as fault:
            raise SpecError(f"column {column}: {fault}") from None

    def _argument(self, name: str, items: list[Any], options: dict[str, Any], depth: int) -> None:
        listed, further, known = _arguments(name)
        following = self.tokens.words[self.tokens.at + 1 :][:1]
        if following and following[0][0] == "=":
            column, key = self.tokens.column, self._name()
            if key not in known or key in options:
                takes = f"{'=, '.join(known)}=, once each" if known else f"no options, as in {PHRASES[name].example}"
                raise SpecError(f"column {column}: '{key}=' cannot stand here; {name} takes {takes}")
            self.take("=")
            options[key] = self._value(known[key])
        elif (listed[len(items)] if len(items) < len(listed) else further) is int and self.tokens.word.isdigit():
            items.append(self._value(int))
        else:
            items.append(self.phrase(self.tokens.deeper(depth)))

    def _value(self, kind: type) -> str | int | bool:
        """The value of an option: a feature, a number, or true or false."""
        word = self.tokens.word
        if kind is str:
            return self._name()
        if (kind is int and word.isdigit()) or (kind is bool and word in ("true", "false")):
            self.tokens.at += 1
            return int(word) if kind is int else word == "true"
        raise self.tokens.fault("a whole number" if kind is int else "true or false")
