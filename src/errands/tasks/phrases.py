"""Phrases: tasks said in words (sequence, any_order, avoid), each a numeric machine that can stand inside another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from errands.errors import SpecError, UnknownName
from errands.features import (
    MAX_DEPTH,
    And,
    Boolean,
    Guard,
    Not,
    Numeric,
    Or,
    atoms,
    conjunction,
    disjunction,
    is_name,
    negation,
)
from errands.machines.numeric import MAX_TRANSITIONS, NumericRM, Reward, Transition

Phrase = NumericRM | str
LOST = "failed"
MAX_LENGTH = 50_000


def sequence(*phrases: Phrase) -> NumericRM:
    """One phrase after the other."""
    if not phrases:
        raise SpecError("sequence() is empty; give it at least one feature or phrase")
    if len(phrases) > MAX_TRANSITIONS:
        raise SpecError(f"sequence() of {len(phrases):,} parts is too long; at most {MAX_TRANSITIONS:,} are read")
    parts = [_machine(p) for p in phrases]
    transitions: list[Transition] = []
    numeric: list[tuple[str, tuple[str, ...]]] = []
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        names = _apart(part, numeric)
        numeric += [(names[v], subtasks) for v, subtasks in part.numeric]
        for t in part.transitions:
            target = LOST if t.target in part.failure else "won" if t.target in part.success else f"{i}_{t.target}"
            if target == "won" and not last:
                target = f"{i + 1}_{parts[i + 1].initial}"
            transitions.append(
                Transition(f"{i}_{t.source}", target, renamed(t.guard, names), Reward(float(target == "won")))
            )
    return _numbered(f"0_{parts[0].initial}", transitions, numeric)


def any_order(*items: str, before: str | None = None, after: str | None = None) -> NumericRM:
    """All items in any order, `before` each of them and `after` each of them a feature that must become true."""
    for name in (*items, *(n for n in (before, after) if n is not None)):
        _feature(name)
    if not items:
        raise SpecError("any_order() is empty; give it at least one feature")
    if len({*items}) < len(items) or {before, after} & {*items}:
        raise SpecError(
            f"any_order({', '.join(items)}) names a feature twice; items differ, also from before and after"
        )
    prefix = "".join(c[0] for c in takewhile(lambda c: len(set(c)) == 1, zip(*items, strict=False)))
    name = prefix if is_name(prefix) and prefix not in {*items, before, after} else "todo"
    while name in {*items, before, after}:
        name += "_"
    same, down, done = (f"{name}{sign}" for sign in "!↓⤓")
    choose, second, third = ("u0", "u1", "u2") if before is None else ("u1", "u2", "u3")
    lines = [] if before is None else [f"u0 -> u0 : ~{before} ; 0", f"u0 -> u1 : {before} ; 0"]
    if after is None:
        lines += [f"{choose} -> {choose} : {same} ; 0"] * (before is not None)
        lines += [f"{choose} -> u0 : {down} ; 0", f"{choose} -> {second} : {done} ; 1"]
        return NumericRM.of("u0", [second], lines, numeric={name: items})
    lines += [f"{choose} -> {choose} : {same} ; 0", f"{choose} -> {second} : {down} | {done} ; 0"]
    lines += [f"{second} -> {second} : ~{after} ; 0", f"{second} -> {third} : {after} & {done} ; 1"]
    lines += [f"{second} -> u0 : {after} & {same} ; 0"]
    return NumericRM.of("u0", [third], lines, numeric={name: items})


def avoid(*forbidden_then_phrase: Phrase) -> NumericRM:
    """The last phrase, failing as soon as one of the features before it is true; failure wins over success."""
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
        transitions.append(Transition(state, LOST, bad))
    return _numbered(part.initial, transitions, part.numeric)


def _feature(name: object) -> str:
    if not isinstance(name, str):
        raise SpecError("a feature was wanted where a phrase stands; phrases nest inside sequence and avoid only")
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


def renamed(guard: Guard, names: dict[str, str]) -> Guard:
    """The guard with new names for its numeric features."""
    match guard:
        case Numeric(name, change):
            return Numeric(names[name], change)
        case Not(inner):
            return Not(renamed(inner, names))
        case And(parts):
            return And(tuple(renamed(p, names) for p in parts))
        case Or(parts):
            return Or(tuple(renamed(p, names) for p in parts))
    return guard


def _numbered(
    initial: str, transitions: Sequence[Transition], numeric: Sequence[tuple[str, tuple[str, ...]]]
) -> NumericRM:
    """The machine with its states called u0, u1, ... in the order in which they come up, the success last."""
    found = dict.fromkeys((initial, *(s for t in transitions for s in (t.source, t.target) if s not in ("won", LOST))))
    names = {state: f"u{i}" for i, state in enumerate(found)}
    names["won"] = f"u{len(found)}"
    names[LOST] = LOST
    failure = (LOST,) if any(t.target == LOST for t in transitions) else ()
    features = {a.name for t in transitions for a in atoms(t.guard) if isinstance(a, Boolean)}
    features |= {n for _, subtasks in numeric for n in subtasks}
    if clash := features & {name for name, _ in numeric}:
        apart = {name: name + "_" * (name in clash) for name, _ in numeric}
        transitions = [Transition(t.source, t.target, renamed(t.guard, apart), t.reward) for t in transitions]
        numeric = [(apart[name], subtasks) for name, subtasks in numeric]
    lines = tuple(Transition(names[t.source], names[t.target], t.guard, t.reward) for t in transitions)
    return NumericRM(names[initial], (names["won"],), failure, tuple(numeric), lines)


PHRASES: dict[str, Callable[..., NumericRM]] = {"sequence": sequence, "any_order": any_order, "avoid": avoid}
_TOKEN = re.compile(r"\s*([^\W\d]\w*|[(),=])")


def parse_phrase(text: str) -> NumericRM:
    """The machine that a phrase means; a fault is reported with its column."""
    if len(text) > MAX_LENGTH:
        raise SpecError(f"a phrase of {len(text)} characters is too long; at most {MAX_LENGTH} are read")
    phrase = _Reader(text).whole()
    return sequence(phrase) if isinstance(phrase, str) else phrase


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, int]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            found = _TOKEN.match(text, position)
            if not found:
                position += len(text[position:]) - len(text[position:].lstrip())
                raise SpecError(f"column {position + 1}: '{text[position]}' cannot stand in a phrase")
            self.tokens.append((found[1], found.start(1) + 1))
            position = found.end()
        self.tokens.append(("the end", end + 1))
        self.at = 0

    def _peek(self) -> str:
        return self.tokens[self.at][0]

    def _next(self, wanted: str = "") -> str:
        token, column = self.tokens[self.at]
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
        items: list[Phrase] = []
        named: dict[str, str] = {}
        while self._peek() != ")":
            self._argument(name, items, named, depth)
            if self._peek() != ")":
                self._next(",")
        self._next(")")
        try:
            return PHRASES[name](*items, **named)
        except SpecError as fault:
            raise SpecError(f"column {column}: {fault}") from None

    def _argument(self, name: str, items: list[Phrase], named: dict[str, str], depth: int) -> None:
        if self.tokens[self.at + 1 : self.at + 2] and self.tokens[self.at + 1][0] == "=":
            column = self.tokens[self.at][1]
            key = self._next()
            if name != "any_order" or key not in ("before", "after") or key in named:
                raise SpecError(
                    f"column {column}: '{key}=' cannot stand here; any_order takes before= and after=, once each"
                )
            self._next("=")
            named[key] = self._next()
        else:
            items.append(self._phrase(depth + 1))
