"""Features and guards: Boolean features, the three values of a numeric one, and formulas over them (Section 3)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, reduce
from numbers import Real
from operator import and_, index, or_
from typing import Any

from errands.errors import SpecError, TaskError, shown_briefly

MAX_DEPTH = 64
MAX_FEATURES = 20
MAX_LENGTH = 10_000
MAX_WORK = 100_000_000
MAX_NUMBER = 10**18
"""Numbers that gauges read are smaller."""


# Proposition 1 of the paper: a count that only falls has no other cases. REACHED is the standing value at the bound
# as well as the step that gets there, so DECREASED always means that something still remains.
class Change(Enum):
    """The value of a numeric feature: what its count of uncompleted subtasks did in a step.

    >>> Change.DECREASED is Change["DECREASED"]
    True
    """

    UNCHANGED = "!"
    DECREASED = "↓"
    REACHED = "⤓"


@dataclass(frozen=True, slots=True)
class Boolean:
    """True when the feature of this name is true."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Numeric:
    """True when the numeric feature of this name has this value."""

    name: str
    change: Change

    def __str__(self) -> str:
        return self.name + self.change.value


@dataclass(frozen=True, slots=True)
class Not:
    """True when the inner guard is false."""

    inner: Guard

    def __str__(self) -> str:
        return f"~({self.inner})" if isinstance(self.inner, And | Or) and self.inner.parts else f"~{self.inner}"


@dataclass(frozen=True, slots=True)
class And:
    """True when all parts are; without parts it is always true."""

    parts: tuple[Guard, ...]

    def __str__(self) -> str:
        return " & ".join(f"({p})" if isinstance(p, Or) and p.parts else str(p) for p in self.parts) or "true"


@dataclass(frozen=True, slots=True)
class Or:
    """True when some part is; without parts it is never true."""

    parts: tuple[Guard, ...]

    def __str__(self) -> str:
        return " | ".join(str(p) for p in self.parts) or "false"


Guard = Boolean | Numeric | Not | And | Or
Atom = Boolean | Numeric
# The constants are empty joins: flattening drops TRUE from a conjunction and FALSE from a disjunction by itself.
TRUE, FALSE = And(()), Or(())


def conjunction(parts: Sequence[Guard]) -> Guard:
    """The conjunction in its plainest form: flat, without repetitions or constants."""
    return _joined(And, FALSE, parts)


def disjunction(parts: Sequence[Guard]) -> Guard:
    """The disjunction in its plainest form: flat, without repetitions or constants."""
    return _joined(Or, TRUE, parts)


def _joined(kind: type[And | Or], decided: Guard, parts: Sequence[Guard]) -> Guard:
    flat = dict.fromkeys(q for p in parts for q in (p.parts if isinstance(p, kind) else (p,)))
    if decided in flat:
        return decided
    return next(iter(flat)) if len(flat) == 1 else kind(tuple(flat))


def negation(guard: Guard) -> Guard:
    """The negation in its plainest form."""
    if guard in (TRUE, FALSE):
        return FALSE if guard == TRUE else TRUE
    return guard.inner if isinstance(guard, Not) else Not(guard)


def atoms(guard: Guard) -> Iterator[Atom]:
    """Every atom of the guard, from left to right."""
    if isinstance(guard, Boolean | Numeric):
        yield guard
    elif isinstance(guard, Not):
        yield from atoms(guard.inner)
    else:
        for part in guard.parts:
            yield from atoms(part)


def mapped(guard: Guard, leaf: Callable[[Atom], Guard]) -> Guard:
    """The guard with another one in the place of each atom, in its plainest form."""
    match guard:
        case Not(inner):
            return negation(mapped(inner, leaf))
        case And(parts):
            return conjunction([mapped(p, leaf) for p in parts])
        case Or(parts):
            return disjunction([mapped(p, leaf) for p in parts])
    return leaf(guard)


def said_plainly(guard: Guard) -> Guard:
    """The guard with `b↓ | b⤓`, the paper's words, for every `~b!`."""
    match guard:
        case Not(Numeric(name, Change.UNCHANGED)):
            return Or((Numeric(name, Change.DECREASED), Numeric(name, Change.REACHED)))
        case Not(inner):
            return Not(said_plainly(inner))
        case And(parts) | Or(parts):
            return (conjunction if isinstance(guard, And) else disjunction)(list(map(said_plainly, parts)))
    return guard


def literal(name: str) -> Guard:
    """The guard that `a` or `~a` means."""
    return Not(Boolean(name[1:])) if name.startswith("~") else Boolean(name)


def holds(guard: Guard, true: Set[str], changes: Mapping[str, Change]) -> bool:
    """Whether the guard is true when exactly these Boolean features are true and numeric ones have these values."""
    match guard:
        case Boolean(name):
            return name in true
        case Numeric(name, change):
            return changes[name] is change
        case Not(inner):
            return not holds(inner, true, changes)
        case And(parts):
            return all(holds(p, true, changes) for p in parts)
        case Or(parts):
            return any(holds(p, true, changes) for p in parts)


def substitute(guard: Guard, true: Mapping[str, bool], changes: Mapping[str, Change]) -> Guard:
    """The guard that is left when some features are known; an unknown atom stays as it is."""

    def known(atom: Atom) -> Guard:
        if isinstance(atom, Boolean):
            return atom if atom.name not in true else (TRUE if true[atom.name] else FALSE)
        return atom if atom.name not in changes else (TRUE if changes[atom.name] is atom.change else FALSE)

    return mapped(guard, known)


def positive(guard: Guard) -> Guard:
    """What must become true: the guard without its negative literals; the guard itself when nothing is left."""

    def strip(g: Guard, sign: bool) -> Guard:
        match g:
            case Not(inner):
                return strip(inner, not sign)
            case And(parts) | Or(parts):
                # De Morgan: under a negation the two joins change places. A negative literal counts as true: it drops
                # out of a conjunction and makes a disjunction true.
                stripped = [strip(p, sign) for p in parts]
                return conjunction(stripped) if isinstance(g, And) is sign else disjunction(stripped)
        return g if sign else TRUE

    left = strip(guard, True)
    return guard if left in (TRUE, FALSE) else left


@lru_cache(maxsize=4096)
def columns(count: int) -> tuple[int, ...]:
    """The truth-table column of each of `count` variables, as the bits of one integer per variable."""
    # Row r gives variable i the value of bit i of r: 2^i zeros, then 2^i ones, doubled until there are 2^count rows.
    made = []
    for i in range(count):
        column = (1 << (1 << i)) - 1 << (1 << i)
        for j in range(i + 1, count):
            column |= column << (1 << j)
        made.append(column)
    return tuple(made)


def truth_table(guard: Guard, names: Sequence[str]) -> int:
    """The guard's truth table over these Boolean features: bit r is its value in row r, bit i of r being names[i]."""
    column = dict(zip(names, columns(len(names)), strict=True))
    full = (1 << (1 << len(names))) - 1

    def value(g: Guard) -> int:
        match g:
            case Boolean(name):
                return column[name]
            case Not(inner):
                return full ^ value(inner)
            case And(parts):
                return reduce(and_, map(value, parts), full)
            case Or(parts):
                return reduce(or_, map(value, parts), 0)
            case Numeric():
                raise SpecError(f"'{g}' has no column in a table of Boolean features; give its value first")

    return value(guard)


def satisfying(guard: Guard) -> frozenset[str] | None:
    """A smallest-row set of Boolean features that makes a guard without numeric atoms true; None if there is none."""
    names = sorted({atom.name for atom in atoms(guard)})
    table = truth_table(guard, names)
    if not table:
        return None
    # The lowest set bit is the first row in which the guard is true.
    row = (table & -table).bit_length() - 1
    return frozenset(name for i, name in enumerate(names) if row >> i & 1)


def table_words(guard: Guard) -> int:
    """The 64-bit words of the truth tables that deciding about a guard takes, one table for each atom."""
    mentioned = list(atoms(guard))
    # A Boolean feature is one column; the three values of a numeric one are two, or one where one value is mentioned.
    columns = sum(min(2, count) for count in Counter(atom.name for atom in set(mentioned)).values())
    return (len(mentioned) << columns) >> 6


def satisfiable(guard: Guard) -> bool:
    """Whether a guard holds for some values of all its features, numeric ones too."""
    values: dict[str, list[Change]] = {}
    for atom in dict.fromkeys(atoms(guard)):
        if isinstance(atom, Numeric):
            values.setdefault(atom.name, []).append(atom.change)

    def boolean(atom: Atom) -> Guard:
        if isinstance(atom, Boolean):
            return atom
        # One column for each value that is mentioned: a value excludes those before it, and needs none of its own as
        # the last of all three.
        before = values[atom.name][: values[atom.name].index(atom.change)]
        others: list[Guard] = [Not(Boolean(f"{atom.name}{change.value}")) for change in before]
        return conjunction(others if len(before) == 2 else [*others, Boolean(str(atom))])

    return satisfying(mapped(guard, boolean)) is not None


def decreasing(guard: Guard) -> Iterator[str]:
    """The numeric features b for which a guard holds with b↓ and not with b!, for some values of all others."""
    for name in dict.fromkeys(atom.name for atom in atoms(guard) if isinstance(atom, Numeric)):
        decreased, unchanged = (
            substitute(guard, {}, {name: change}) for change in (Change.DECREASED, Change.UNCHANGED)
        )
        if decreased != unchanged and satisfiable(conjunction([decreased, negation(unchanged)])):
            yield name


_TOKEN = re.compile(r"\s*(?:(?P<atom>[^\W\d]\w*(?:\.(?:down|done|same)\b|[↓⤓!])?)|(?P<sign>[~¬&∧|∨()]))")
_SIGNS = {"not": "~", "and": "&", "or": "|", "¬": "~", "∧": "&", "∨": "|"}
_CHANGES = {".down": Change.DECREASED, ".done": Change.REACHED, ".same": Change.UNCHANGED} | {
    c.value: c for c in Change
}
RESERVED = frozenset({"not", "and", "or", "true", "false"})


def is_name(text: str) -> bool:
    """Whether a text can be the name of a feature: letters, digits and underscores, and no reserved word."""
    return re.fullmatch(r"[^\W\d]\w*", text) is not None and text not in RESERVED


_READING = re.compile(r"(\w+)(=|-)(-?\d{1,18})")


@lru_cache(maxsize=65_536)
def reading(word: str) -> tuple[str, str, int] | None:
    """What a step says of a number beside its features: `fuel=4` that it is 4 now, `fuel-1` that it fell by 1; else None."""
    told = _READING.fullmatch(word)
    return None if told is None else (told[1], told[2], int(told[3]))


def readings(numbers: Mapping[str, Any]) -> frozenset[str]:
    """What a step with these numbers says beside its features."""
    return frozenset(f"{name}={_whole(name, value)}" for name, value in numbers.items())


def _whole(name: str, value: Any) -> int:
    try:
        whole = index(value)
    except TypeError:
        whole = int(float(value)) if isinstance(value, Real) and math.isfinite(value) else MAX_NUMBER
        whole = whole if whole == value else MAX_NUMBER
    if abs(whole) < MAX_NUMBER:
        return whole
    shown = shown_briefly(repr, value, 40)
    raise TaskError(f"the number '{name}' is {shown}; gauges read whole numbers below 10^18: round it where it is told")


def fresh_names(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """New names, with underscores behind them, for those that are taken; all others keep theirs."""
    used, fresh = set(taken), dict[str, str]()
    for name in names:
        fresh[name] = name
        while fresh[name] in used:
            fresh[name] += "_"
        used.add(fresh[name])
    return fresh


def parse_guard(text: str) -> Guard:
    """The guard that a text means; a fault is reported with its column."""
    if len(text) > MAX_LENGTH:
        raise SpecError(f"a guard of {len(text)} characters is too long; at most {MAX_LENGTH} are read")
    guard = _Parser(text).guard()
    names = {atom.name for atom in atoms(guard)}
    if len(names) > MAX_FEATURES:
        raise SpecError(f"a guard mentions {len(names)} features; at most {MAX_FEATURES} can stand in one guard")
    return guard


class Tokens:
    """The tokens of a text that a user wrote, taken one by one; a fault says at which column what was wanted instead."""

    def __init__(
        self, text: str, pattern: re.Pattern[str], where: str, signs: Mapping[str, str] | None = None, end: str = ""
    ) -> None:
        self.where, self.at = where, 0
        self.words: list[tuple[str, int]] = []
        """Each token, or the sign that it stands for, with its column; `end` comes last."""
        position, last = 0, len(text.rstrip())
        while position < last:
            token = pattern.match(text, position)
            if not token:
                position += len(text[position:]) - len(text[position:].lstrip())
                raise SpecError(f"column {position + 1}: '{text[position]}' cannot stand in {where}")
            word, position = token[token.lastindex or 0], token.end()
            self.words.append(((signs or {}).get(word, word), position - len(word) + 1))
        self.words.append((end, last + 1))

    @property
    def word(self) -> str:
        """The next token."""
        return self.words[self.at][0]

    @property
    def column(self) -> int:
        """Where it stands."""
        return self.words[self.at][1]

    def take(self, word: str) -> bool:
        """Whether the next token is this one, which is then taken."""
        same = self.word == word
        self.at += same
        return same

    def fault(self, wanted: str) -> SpecError:
        """What to raise where something else was wanted."""
        if self.word:
            return SpecError(f"column {self.column}: found '{self.word}' where {wanted} was wanted in {self.where}")
        return SpecError(f"column {self.column}: {self.where} ends where {wanted} was wanted")

    def end(self, wanted: str) -> None:
        """Refuse what stands after the last token."""
        if self.at < len(self.words) - 1:
            raise self.fault(wanted)

    def deeper(self, depth: int) -> int:
        """The next depth, if it is allowed."""
        if depth >= MAX_DEPTH:
            raise SpecError(f"{self.where} is nested more than {MAX_DEPTH} deep; split it up")
        return depth + 1


class _Parser:
    """Recursive descent over one guard; `~` binds tighter than `&`, and `&` tighter than `|`."""

    def __init__(self, text: str) -> None:
        self.tokens = Tokens(text, _TOKEN, f"the guard '{shortened(text)}'", _SIGNS)

    def guard(self) -> Guard:
        """The guard that the whole text means."""
        guard = self._or(0)
        self.tokens.end("the end of the guard or an operator")
        return guard

    def _or(self, depth: int) -> Guard:
        parts = [self._and(depth)]
        while self.tokens.take("|"):
            parts.append(self._and(depth))
        return disjunction(parts)

    def _and(self, depth: int) -> Guard:
        parts = [self._not(depth)]
        while self.tokens.take("&"):
            parts.append(self._not(depth))
        return conjunction(parts)

    def _not(self, depth: int) -> Guard:
        if self.tokens.take("~"):
            return negation(self._not(self.tokens.deeper(depth)))
        if self.tokens.take("("):
            inner = self._or(self.tokens.deeper(depth))
            if not self.tokens.take(")"):
                raise self.tokens.fault("')'")
            return inner
        word = self.tokens.word
        if word in ("", *_SIGNS.values(), ")"):
            raise self.tokens.fault("a feature, '~' or '('")
        name, change = next(((word.removesuffix(s), c) for s, c in _CHANGES.items() if word.endswith(s)), (word, None))
        if change and name in RESERVED:
            column = self.tokens.column + len(name)
            raise SpecError(f"column {column}: '{name}' is a reserved word, not a numeric feature")
        self.tokens.at += 1
        if name in RESERVED:
            return TRUE if name == "true" else FALSE
        return Numeric(name, change) if change else Boolean(name)


def shortened(text: str) -> str:
    """A text as a fault quotes it."""
    return text if len(text) <= 60 else text[:57] + "..."
