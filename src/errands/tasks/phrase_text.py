"""Phrases as text: `any_order(a, sequence(b, c), after=s)`, read by walking the entries of `PHRASES`."""

from __future__ import annotations

import re
from functools import cache
from inspect import Parameter, signature
from typing import Any, get_args, get_type_hints

from errands.errors import SpecError, UnknownName
from errands.features import Tokens
from errands.machines.numeric import NumericRM
from errands.tasks.phrases import PHRASES, PhraseLike, sequence

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
