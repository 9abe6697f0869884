"""Phrases: tasks said in words (sequence, any_order, either, repeat, avoid), each a numeric machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import NamedTuple

from errands.errors import SpecError, UnknownName
from errands.features import (
    MAX_DEPTH,
    Boolean,
    Guard,
    Numeric,
    atoms,
    conjunction,
    disjunction,
    is_name,
    mapped,
    negation,
    tokens_of,
)
from errands.machines.numeric import MAX_TRANSITIONS, NumericRM, Transition, parse_transition
from errands.machines.rewards import Reward
from errands.machines.rules import MAX_PAIRS, NO_RULES, Group, Rules

Phrase = NumericRM | str
LOST = "failed"
MAX_LENGTH = 50_000
MAX_TIMES = 500


def sequence(*phrases: Phrase) -> NumericRM:
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
    transitions: list[Transition] = []
    numeric: list[tuple[str, tuple[str, ...]]] = []
    rules = NO_RULES
    completing: dict[str, frozenset[str]] = {}
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        names = _apart(part, numeric)
        # Rules count positions in the list of all subtasks: shift them past the parts that stand before.
        rules = rules.joined(part.rules.shifted(sum(len(subtasks) for _, subtasks in numeric)))
        numeric += [(names[v], subtasks) for v, subtasks in part.numeric]
        completing |= {f"{i}_{s}": frozenset(names[v] for v in own) for s, own in part.completing.items()}
        for t in part.transitions:
            target = LOST if t.target in part.failure else "won" if t.target in part.success else f"{i}_{t.target}"
            if target == "won" and not last:
                target = f"{i + 1}_{parts[i + 1].initial}"
            transitions.append(
                Transition(f"{i}_{t.source}", target, renamed(t.guard, names), Reward(float(target == "won")))
            )
    return _numbered(f"0_{parts[0].initial}", transitions, numeric, rules, completing, _said("sequence", phrases))


def any_order(
    *items: Phrase,
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
    said = _said("any_order", items, before=before, after=after, choose=choose, capacity=capacity)
    if one_at_a_time:
        if capacity not in (None, 1):
            raise SpecError(f"one_at_a_time is a capacity of 1, and capacity={capacity} came as well; give one of them")
        said = _said("any_order", items, before=before, after=after, choose=choose, one_at_a_time=True)
        capacity = 1
    return _any_order(items, before, after, choose, capacity, said)


def _any_order(
    items: Sequence[Phrase],
    before: str | None,
    after: str | None,
    choose: int | None,
    capacity: int | None,
    said: Said | None,
) -> NumericRM:
    beside = tuple(_feature(n) for n in (before, after) if n is not None)
    if not items:
        raise SpecError("any_order() is empty; give it at least one feature")
    if beside and not all(isinstance(item, str) for item in items):
        raise SpecError(f"before= and after= stand beside single features; put them inside the parts of {said}")
    parts = [_part(item) for item in items]
    plain = [item for item in items if isinstance(item, str)]
    if len({*plain}) < len(plain) or {*beside} & {*plain}:
        raise SpecError(
            f"any_order({', '.join(map(str, items))}) names a feature twice; items differ, also from before and after"
        )
    part = _side_by_side(parts, choose, capacity)
    name = _variable(part.names, beside)
    lines, last = _rounds(name, before, after)
    counted = ((name, part.names),)
    transitions = tuple(map(parse_transition, lines))
    return NumericRM("u0", (last,), (), counted, transitions, part.rules, phrase=said)


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
    taken = {*subtasks, *beside}
    name = prefix if is_name(prefix) and prefix not in taken else "todo"
    while name in taken:
        name += "_"
    return name


def either(*phrases: Phrase) -> NumericRM:
    """One of several phrases, whichever is finished first.

    Parameters:
        phrases: features or phrases; one of them is enough.

    >>> either("door", "window").run([{"window"}]).success
    True
    """
    if len(phrases) < 2:
        raise SpecError("either() needs at least two phrases to choose from")
    return _any_order(phrases, None, None, 1, None, _said("either", phrases))


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
    return NumericRM("u0", (f"u{2 * times - 1}",), (), (), transitions, phrase=Said("repeat", (feature, str(times))))


def avoid(*forbidden_then_phrase: Phrase) -> NumericRM:
    """The last phrase, failing as soon as one of the features before it is true; failure wins over success.

    Parameters:
        forbidden_then_phrase: the forbidden features, and last what is to be done.

    >>> avoid("lava", sequence("goal")).run([{"lava", "goal"}])
    Outcome(rewards=(0.0,), terminal=True, success=False)
    """
    *forbidden, phrase = forbidden_then_phrase or (None,)
    if not forbidden or phrase is None:
        raise SpecError("avoid() needs the features to avoid and then a phrase, as in avoid(lava, sequence(a, b))")
    bad = disjunction([Boolean(_feature(f)) for f in forbidden])
    part = _machine(phrase)
    transitions: list[Transition] = []
    for state in part.states:
        if state in part.success or state in part.failure:
            continue
        for t in part.leaving[state]:
            target = LOST if t.target in part.failure else "won" if t.target in part.success else t.target
            transitions.append(
                Transition(state, target, conjunction([t.guard, negation(bad)]), Reward(float(target == "won")))
            )
        # Every other guard says that nothing bad is true, so the two kinds exclude each other and failure wins.
        transitions.append(Transition(state, LOST, bad))
    said = _said("avoid", (*forbidden, phrase))
    return _numbered(part.initial, transitions, part.numeric, part.rules, part.completing, said)


@dataclass(frozen=True)
class Said:
    """A phrase as it was said; a machine that has one can be a part of any_order, and is written down by its words."""

    kind: str
    items: tuple[Said | str, ...]
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}({', '.join([*map(str, self.items), *(f'{key}={value}' for key, value in self.options)])})"


def _said(kind: str, items: Sequence[Phrase], **options: object) -> Said | None:
    """The phrase of these words; None where one of its parts is a machine of transitions."""
    words = [item.phrase if isinstance(item, NumericRM) else item for item in items]
    if not all(isinstance(word, str | Said) for word in words):
        return None
    given = ((key, "true" if value is True else str(value)) for key, value in options.items() if value is not None)
    return Said(kind, tuple(words), tuple(given))  # type: ignore[arg-type]


class _Part(NamedTuple):
    """Subtasks with their rules, as one item of any_order; rules count positions in `names`."""

    names: tuple[str, ...]
    rules: Rules


def _part(item: Phrase | Said) -> _Part:
    """An item of any_order as subtasks with rules."""
    if isinstance(item, NumericRM):
        if not isinstance(item.phrase, Said):
            raise SpecError("a machine of transitions cannot be an item of any_order; items are features and phrases")
        item = item.phrase
    if isinstance(item, str):
        return _Part((_feature(item),), NO_RULES)
    options = dict(item.options)
    if item.kind == "sequence":
        return _one_by_one([_part(each) for each in item.items])
    if item.kind == "repeat":
        feature, times = item.items
        return _Part((str(feature),) * int(str(times)), Rules(apart=tuple(pairwise(range(int(str(times)))))))
    if item.kind == "either":
        return _side_by_side([_part(each) for each in item.items], 1, None)
    if item.kind == "any_order" and not {"before", "after"} & options.keys():
        choose = int(options["choose"]) if "choose" in options else None
        capacity = 1 if "one_at_a_time" in options else int(options["capacity"]) if "capacity" in options else None
        return _side_by_side([_part(each) for each in item.items], choose, capacity)
    raise SpecError(f"{str(item)[:60]} cannot be an item of any_order; put avoid, before and after around the whole")


def _one_by_one(parts: Sequence[_Part]) -> _Part:
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
        raise SpecError("a feature was wanted where a phrase stands; before, after, avoid and repeat take features")
    if not is_name(name):
        raise SpecError(f"'{name[:40]}' cannot be a feature; use letters, digits and underscores, and no reserved word")
    return name


def _machine(phrase: Phrase) -> NumericRM:
    if isinstance(phrase, NumericRM):
        return phrase
    _feature(phrase)
    return NumericRM.of("u0", ["u1"], [f"u0 -> u0 : ~{phrase} ; 0", f"u0 -> u1 : {phrase} ; 1"])


def _apart(part: NumericRM, taken: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, str]:
    """New names for a part's numeric features where another part has taken them."""
    used = {name for name, _ in taken}
    names = {}
    for name, _ in part.numeric:
        new = name
        while new in used or (new != name and new in part.features):
            new += "_"
        used.add(new)
        names[name] = new
    return names


def renamed(guard: Guard, names: Mapping[str, str]) -> Guard:
    """The guard with new names for its numeric features."""
    return mapped(guard, lambda atom: Numeric(names[atom.name], atom.change) if isinstance(atom, Numeric) else atom)


def _numbered(
    initial: str,
    transitions: Sequence[Transition],
    numeric: Sequence[tuple[str, tuple[str, ...]]],
    rules: Rules,
    completing: Mapping[str, Set[str]],
    said: Said | None,
) -> NumericRM:
    """The machine with its states called u0, u1, ... in the order in which they come up, the success last."""
    states = dict.fromkeys((initial, *(s for t in transitions for s in (t.source, t.target) if s not in ("won", LOST))))
    names = {state: f"u{i}" for i, state in enumerate(states)}
    names["won"] = f"u{len(states)}"
    names[LOST] = LOST
    failure = (LOST,) if any(t.target == LOST for t in transitions) else ()
    features = {a.name for t in transitions for a in atoms(t.guard) if isinstance(a, Boolean)}
    features |= {n for _, subtasks in numeric for n in subtasks}
    if features & {name for name, _ in numeric}:
        apart: dict[str, str] = {}
        for name, _ in numeric:
            new = name
            while new in features or (new != name and new in {*apart.values(), *dict(numeric)}):
                new += "_"
            apart[name] = new
        transitions = [Transition(t.source, t.target, renamed(t.guard, apart), t.reward) for t in transitions]
        numeric = [(apart[name], subtasks) for name, subtasks in numeric]
        completing = {state: frozenset(apart[name] for name in own) for state, own in completing.items()}
    lines = tuple(Transition(names[t.source], names[t.target], t.guard, t.reward) for t in transitions)
    kept = {names[state]: own for state, own in completing.items() if state in states}
    return NumericRM(names[initial], (names["won"],), failure, tuple(numeric), lines, rules, kept, said)


PHRASES: dict[str, Callable[..., NumericRM]] = {
    "sequence": sequence,
    "any_order": any_order,
    "either": either,
    "repeat": repeat,
    "avoid": avoid,
}
OPTIONS = {"before": str, "after": str, "choose": int, "capacity": int, "one_at_a_time": bool}
_TOKEN = re.compile(r"\s*([^\W\d]\w*|\d{1,9}(?!\w)|[(),=])")


def parse_phrase(text: str) -> NumericRM:
    """The machine that a phrase means; a fault is reported with its column."""
    if len(text) > MAX_LENGTH:
        raise SpecError(f"a phrase of {len(text)} characters is too long; at most {MAX_LENGTH} are read")
    phrase = _Reader(text).whole()
    return sequence(phrase) if isinstance(phrase, str) else phrase


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = [(token[1], token.start(1) + 1) for token in tokens_of(text, _TOKEN, "a phrase")]
        self.tokens.append(("the end", len(text.rstrip()) + 1))
        self.at = 0

    def _peek(self) -> str:
        return self.tokens[self.at][0]

    def _next(self, wanted: str = "") -> str:
        token, column = self.tokens[self.at]
        if not wanted and token.isdigit():
            raise SpecError(f"column {column}: '{token}' cannot stand in a phrase here; a name was wanted")
        if (wanted and token != wanted) or (not wanted and not re.fullmatch(r"[^\W\d]\w*", token)):
            raise SpecError(f"column {column}: found '{token}' where {wanted or 'a name'} was wanted in the phrase")
        self.at += 1
        return token

    def whole(self) -> Phrase:
        phrase = self._phrase(0)
        self._next("the end")
        return phrase

    def _phrase(self, depth: int) -> Phrase:
        if depth > MAX_DEPTH:
            raise SpecError(f"the phrase is nested more than {MAX_DEPTH} deep; split it up")
        column = self.tokens[self.at][1]
        name = self._next()
        if self._peek() != "(":
            return name
        if name not in PHRASES:
            raise SpecError(f"column {column}: {UnknownName('phrase', name, PHRASES)}")
        self._next("(")
        items: list[Phrase | int] = []
        named: dict[str, str | int | bool] = {}
        while self._peek() != ")":
            self._argument(name, items, named, depth)
            if self._peek() != ")":
                self._next(",")
        self._next(")")
        try:
            return PHRASES[name](*items, **named)
        except SpecError as fault:
            raise SpecError(f"column {column}: {fault}") from None
        except TypeError:
            raise SpecError(f"column {column}: repeat() takes a feature and a number, as in repeat(a, 3)") from None

    def _argument(self, name: str, items: list[Phrase | int], named: dict[str, str | int | bool], depth: int) -> None:
        if self.tokens[self.at + 1 : self.at + 2] and self.tokens[self.at + 1][0] == "=":
            column = self.tokens[self.at][1]
            key = self._next()
            if name != "any_order" or key not in OPTIONS or key in named:
                raise SpecError(
                    f"column {column}: '{key}=' cannot stand here; any_order takes {'=, '.join(OPTIONS)}=, once each"
                )
            self._next("=")
            named[key] = self._value(OPTIONS[key])
        elif name == "repeat" and items and self._peek().isdigit():
            items.append(self._value(int))
        else:
            items.append(self._phrase(depth + 1))

    def _value(self, kind: type) -> str | int | bool:
        """The value of an option: a feature, a number, or true or false."""
        word, column = self.tokens[self.at]
        if kind is str:
            return self._next()
        self.at += 1
        if kind is int and word.isdigit():
            return int(word)
        if kind is bool and word in ("true", "false"):
            return word == "true"
        wanted = "a whole number" if kind is int else "true or false"
        raise SpecError(f"column {column}: found '{word}' where {wanted} was wanted in the phrase")
