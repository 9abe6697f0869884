"""Import of machines from the text format of the 2022 reward-machine code: initial state, terminals, then edges."""

from __future__ import annotations

import re
from dataclasses import dataclass

from errands.errors import SpecError
from errands.features import RESERVED, TRUE, Guard, parse_guard
from errands.machines.numeric import NumericRM, Transition
from errands.machines.rewards import parse_reward

MAX_LENGTH = 1_000_000
_STATE = (r"-?\d{1,9}\b", "a state number")
_COMMA, _CLOSED = (",", "','"), (r"\)", "')'")
_EDGE = [
    (r"\(", "an edge (from, to, 'guard', ConstantRewardFunction(reward))"), _STATE, _COMMA, _STATE, _COMMA,
    (r"'[^']*'|\"[^\"]*\"", "a guard in quotes"), _COMMA,
    (r"ConstantRewardFunction\b", "ConstantRewardFunction(a number), the only reward that is read,"), (r"\(", "'('"),
    (r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", "a number"), _CLOSED, _CLOSED,
]  # fmt: skip


def parse_text2022(text: str) -> NumericRM:
    """The machine of such a text; terminals stay apart, those entered with a positive reward somewhere are successes.

    If no terminal is ever entered with a positive reward, all of them are successes. Where no edge matches the machine
    stays, with reward 0, and all edges between two states count.
    """
    if len(text) > MAX_LENGTH:
        raise SpecError(f"a machine of {len(text):,} characters is too long; at most {MAX_LENGTH:,} are read")
    lines = [_Line(number, line.split("#")[0]) for number, line in enumerate(text.splitlines(), 1)]
    lines = [line for line in lines if line.text.strip()]
    if len(lines) < 3:
        raise SpecError(
            f"the text has {len(lines)} lines with content; it needs the initial state, the list of terminals and edges"
        )
    (initial,) = lines[0].read([_STATE])
    terminals = _terminals(lines[1])
    edges = [_edge(line) for line in lines[2:]]
    paid = {edge.target for edge in edges if edge.reward.value > 0}
    # The format has terminals but does not say which of them are failures; the reward is the only hint.
    success = [t for t in terminals if t in paid] or terminals
    failure = [t for t in terminals if t not in success]
    return NumericRM(_named(initial), tuple(success), tuple(failure), (), tuple(edges))


@dataclass
class _Line:
    """One line that is read from left to right; a fault is sentence with line and column."""

    number: int
    text: str
    at: int = 0

    def take(self, pattern: str, wanted: str) -> str:
        """The next word, which must have this form."""
        match = re.compile(rf"\s*({pattern})").match(self.text, self.at)
        if not match:
            rest = self.text[self.at :].strip()
            column = len(self.text) - len(self.text[self.at :].lstrip()) + 1
            came = f"'{rest[:20]}'" if rest else "the end of the line"
            raise SpecError(f"line {self.number}, column {column}: found {came} where {wanted} was wanted")
        self.at = match.end()
        return match[1]

    def read(self, words: list[tuple[str, str]]) -> list[str]:
        """The words of the whole line, which must have these forms."""
        read = [self.take(*word) for word in words]
        self.take("$", "the end of the line")
        return read


def _named(number: str) -> str:
    return f"u{int(number)}" if int(number) >= 0 else f"t{-int(number)}"


def _terminals(line: _Line) -> list[str]:
    line.take(r"\[", "a list of terminals such as [2, 3]")
    count = len(re.findall(r"-?\d+", line.text))
    words = [word for _ in range(count) for word in (_STATE, _COMMA)][:-1]
    states = line.read([*words, (r"\]", "',' or ']'")])[:-1:2]
    return list(dict.fromkeys(map(_named, states)))


def _edge(line: _Line) -> Transition:
    _, source, _, target, _, guard, _, _, _, reward, _, _ = line.read(_EDGE)
    try:
        return Transition(_named(source), _named(target), _guard(guard[1:-1]), parse_reward(reward))
    except SpecError as fault:
        # Columns of the guard, counted from its quote.
        first = line.text.index(guard) + 1
        sentence = re.sub(r"^column (\d+)", lambda column: f"column {first + int(column[1])}", str(fault))
        raise SpecError(f"line {line.number}, {sentence}") from None


def _guard(text: str) -> Guard:
    """A guard in disjunctive normal form, `!a&b|c`; nothing and the word True always hold."""
    if text.strip() in ("", "True"):
        return TRUE
    for name in re.findall(r"\w+", text):
        if name in RESERVED:
            raise SpecError(f"'{name}' is a reserved word and cannot be a feature; rename it")
    return parse_guard(text.replace("!", "~"))
