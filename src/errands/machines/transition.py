"""One transition of a numeric machine, in the paper's notation: from -> to : guard ; reward."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from errands.errors import SpecError, TaskError
from errands.features import Guard, is_name, parse_guard


@dataclass(frozen=True, slots=True)
class Reward:
    """A number, or a signal of the world times a number."""

    value: float = 0.0
    signal: str | None = None

    def __str__(self) -> str:
        if self.signal is None:
            return f"{self.value:g}"
        factor = {1.0: "", -1.0: "-"}.get(self.value, f"{self.value:g} ")
        return factor + self.signal

    def paid(self, signals: Mapping[str, float] | None) -> float:
        """The number that is paid in a step with these signals."""
        if self.signal is None:
            return self.value
        if signals is None or self.signal not in signals:
            raise TaskError(f"the reward is the signal '{self.signal}', which this step does not report; pass signals=")
        return self.value * signals[self.signal]


@dataclass(frozen=True, slots=True)
class Transition:
    """From a machine state to another when the guard holds, paying the reward."""

    source: str
    target: str
    guard: Guard
    reward: Reward = Reward()

    def __str__(self) -> str:
        return f"{self.source} -> {self.target} : {self.guard} ; {self.reward}"


_SHAPE = re.compile(r"\s*(\S+)\s*->\s*(\S+)\s*:(.*);([^;]*)", re.DOTALL)


def parse_transition(text: str) -> Transition:
    """The transition that a line means."""
    found = _SHAPE.fullmatch(text)
    if not found:
        raise SpecError(f"'{text[:80]}' is not a transition; write 'from -> to : guard ; reward'")
    source, target, guard, reward = found.groups()
    for name in (source, target):
        if not is_name(name):
            raise SpecError(f"'{name[:40]}' cannot name a machine state; use letters, digits and underscores")
    try:
        return Transition(source, target, parse_guard(guard), parse_reward(reward))
    except SpecError as fault:
        raise SpecError(f"{fault} (in '{text.strip()[:80]}')") from None


def parse_reward(text: str) -> Reward:
    """The reward that a text means: a finite number, a signal, or a signal with a minus sign."""
    word = text.strip()
    try:
        value = float(word)
    except ValueError:
        minus, name = word.startswith("-"), word.removeprefix("-").strip()
        if not is_name(name):
            raise SpecError(f"the reward '{word[:40]}' is neither a number nor the name of a signal") from None
        if name.lower() in ("nan", "inf", "infinity"):
            raise SpecError(f"the reward '{word}' is not a finite number") from None
        return Reward(-1.0 if minus else 1.0, name)
    if not math.isfinite(value):
        raise SpecError(f"the reward '{word}' is not a finite number")
    return Reward(value)
