"""Import of machines from the text format of the 2022 reward-machine code: initial state, terminals, then edges."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from errands.errors import SpecError
from errands.features import TRUE, Boolean, Guard, conjunction, disjunction, is_name, negation
from errands.machines.numeric import NumericRM, Transition
from errands.machines.rewards import Reward

MAX_LENGTH = 1_000_000
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


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
    initial = _initial(lines[0])
    terminals = _terminals(lines[1])
    edges = [_edge(line) for line in lines[2:]]
    paid = {edge.target for edge in edges if edge.reward.value > 0}
    # The format has terminals but does not say which of them are failures; the reward is the only hint.
    success = [t for t in terminals if t in paid] or terminals
    failure = [t for t in terminals if t not in success]
    return NumericRM(initial, tuple(success), tuple(failure), (), tuple(edges))


@dataclass
class _Line:
    """One line that is read from left to right; a fault is told with line and column."""

    number: int
    text: str
    at: int = 0

    def take(self, pattern: str, wanted: str) -> str:
        """The next word, which must have this form."""
        match = re.compile(rf"\s*({pattern})").match(self.text, self.at)
        if not match:
            raise self.fault(wanted)
        self.at = match.end()
        return match[1]

    def sees(self, pattern: str) -> bool:
        """Whether the next word has this form; it is not taken."""
        return re.compile(rf"\s*(?:{pattern})").match(self.text, self.at) is not None

    def end(self) -> None:
        """Refuse what stands after the last word."""
        if self.text[self.at :].strip():
            raise self.fault("the end of the line")

    def fault(self, wanted: str) -> SpecError:
        """The error that says what stands here instead of what was wanted."""
        rest = self.text[self.at :]
        column = self.at + len(rest) - len(rest.lstrip()) + 1
        came = f"'{rest.strip()[:20]}'" if rest.strip() else "the end of the line"
        return SpecError(f"line {self.number}, column {column}: found {came} where {wanted} was wanted")


def _state(line: _Line) -> str:
    number = int(line.take(r"-?\d{1,9}\b", "a state number"))
    return f"u{number}" if number >= 0 else f"t{-number}"


def _initial(line: _Line) -> str:
    name = _state(line)
    line.end()
    return name


def _terminals(line: _Line) -> list[str]:
    line.take(r"\[", "a list of terminals such as [2, 3]")
    numbers: list[str] = []
    while not line.sees(r"\]"):
        if numbers:
            line.take(",", "',' or ']'")
        numbers.append(_state(line))
    line.take(r"\]", "']'")
    line.end()
    return list(dict.fromkeys(numbers))


def _edge(line: _Line) -> Transition:
    line.take(r"\(", "an edge (from, to, 'guard', ConstantRewardFunction(reward))")
    source = _state(line)
    line.take(",", "','")
    target = _state(line)
    line.take(",", "','")
    quote = line.take("['\"]", "a guard in quotes")
    guard = _guard(line, quote)
    line.take(",", "','")
    line.take(r"ConstantRewardFunction\b", "ConstantRewardFunction(a number), the only reward that is read,")
    line.take(r"\(", "'('")
    value = float(line.take(_NUMBER, "a number"))
    if not math.isfinite(value):
        raise SpecError(f"line {line.number}: the reward is not a finite number")
    line.take(r"\)", "')'")
    line.take(r"\)", "')'")
    line.end()
    return Transition(source, target, guard, Reward(value))


def _guard(line: _Line, quote: str) -> Guard:
    """A guard in disjunctive normal form; nothing and the word True always hold."""
    if line.sees(quote) or line.sees(rf"True\s*{quote}"):
        line.take(rf"(?:True\s*)?{quote}", "the closing quote")
        return TRUE
    # No brackets in this format: & binds tighter than |, and ! stands before a feature only.
    clauses: list[list[Guard]] = [[_literal(line)]]
    while not line.sees(quote):
        if line.take("[&|]", "'&', '|' or the closing quote") == "|":
            clauses.append([])
        clauses[-1].append(_literal(line))
    line.take(quote, "the closing quote")
    return disjunction([conjunction(clause) for clause in clauses])


def _literal(line: _Line) -> Guard:
    signs = line.take(r"(?:!\s*)*", "a feature").count("!")
    if not line.sees(r"[^\W\d]\w*"):
        raise line.fault("a feature")
    name = line.take(r"[^\W\d]\w*", "a feature")
    if not is_name(name):
        raise SpecError(f"line {line.number}: '{name}' is a reserved word and cannot be a feature; rename it")
    literal: Guard = Boolean(name)
    return negation(literal) if signs % 2 else literal
