"""A probability that changes while a learner trains: one text for every epsilon and every xi."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from errands.errors import ConfigError
from errands.tables import Slope

_NUMBER = r"[0-9]*\.?[0-9]+(?:e-?[0-9]+)?"
_TEXT = re.compile(rf"({_NUMBER})(?:\.\.({_NUMBER})@([0-9]+),([0-9]+)(?: ([a-z]+))?)?")


@dataclass(frozen=True)
class Schedule:
    """From `start` to `end` in a straight line between two counts, constant before and after.

    >>> Schedule.of("0.3..0.1@100,200").at(150)
    0.2
    """

    start: float
    end: float
    first: int = 0
    last: int = 0
    unit: str = ""
    """What is counted, as the text says it; empty where it leaves that to the setting."""

    @staticmethod
    @lru_cache(maxsize=256)
    def of(value: float | str, name: str = "schedule", units: tuple[str, ...] = ("steps",)) -> Schedule:
        """Read a number, or a text such as `0.3..0.05@0,100000` or `1..0.1@0,90 episodes`; the first unit is the default."""
        text = str(value).strip()
        parts = _TEXT.fullmatch(text)
        if parts is None:
            raise ConfigError(f"{name} is '{text[:60]}'; write a number, or a line such as 0.3..0.05@0,100000")
        start = float(parts[1])
        if parts[2] is None:
            read = Schedule(start, start, unit=units[0])
        else:
            read = Schedule(start, float(parts[2]), int(parts[3]), int(parts[4]), parts[5] or units[0])
        if not (0 <= read.start <= 1 and 0 <= read.end <= 1):
            raise ConfigError(f"{name} is {text[:60]}; it must lie between 0 and 1")
        if read.start != read.end and not read.first < read.last < 2**53:
            raise ConfigError(f"{name} is {text[:60]}; its second count must be larger than its first, and below 2 ** 53")
        if read.unit not in units:
            raise ConfigError(f"{name} counts {read.unit}; choose from {', '.join(units)}")
        return read

    @property
    def slope(self) -> float:
        """How much it changes with each count."""
        return 0.0 if self.start == self.end else (self.end - self.start) / (self.last - self.first)

    @property
    def line(self) -> Slope:
        """The same for kernels."""
        return Slope(self.start, self.slope, self.first, *sorted((self.start, self.end)))

    def at(self, count: Any, clip: Any = lambda value, low, high: min(max(value, low), high)) -> Any:
        """The value at a count, which may be a traced array where `clip` is that of its library."""
        if self.start == self.end:
            return self.start
        low, high = sorted((self.start, self.end))
        return clip(self.start + self.slope * (count - self.first), low, high)


def schedule_text(value: float | str, name: str, units: tuple[str, ...] = ("steps",)) -> float | str:
    """The same setting in the one form in which it is stored: a number where it is constant."""
    read = Schedule.of(value, name, units)
    if read.start == read.end:
        return read.start
    unit = "" if read.unit == units[0] else f" {read.unit}"
    return f"{read.start!r}..{read.end!r}@{read.first},{read.last}{unit}"
