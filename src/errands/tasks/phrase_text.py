"""The text of a phrase, read by recursive descent: `sequence(a, any_order(b, c, before=f), avoid(d, e))`."""

from __future__ import annotations

import re
from collections.abc import Callable

from errands.errors import SpecError, UnknownName
from errands.features import MAX_DEPTH
from errands.machines.numeric import NumericRM
from errands.tasks.phrases import Phrase, any_order, avoid, sequence

MAX_LENGTH = 50_000
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
