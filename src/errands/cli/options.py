"""What several verbs share: counts as people write them, times that are numbers, the name of a task, long numbers."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from errands.errors import ConfigError
from errands.machines.multiagent_rm import from_multiagent_rm, parse_multiagent_rm
from errands.machines.numeric import NumericRM
from errands.machines.text2022 import parse_text2022
from errands.tasks.catalogue import load, read_text

MAX_COUNT = 2**53
"""Counts stay below this: run.json is JSON, whose numbers are exact up to here."""
MAX_DIGITS = 100_000
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}


def count(text: str) -> int:
    """A whole number as people write it: 100000, 100_000, 100,000, 1e5, 1.5e6, 100k or 2M.

    >>> count("100k"), count("1e5")
    (100000, 100000)
    """
    plain = text.strip().replace("_", "").replace(",", "")
    # As fractions, so that 1e23 and 0.1 are not what floating point makes of them.
    parts = re.fullmatch(r"(-?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:e\+?[0-9]{1,3})?)([kKmM]?)", plain)
    value = Fraction(parts[1]) * _UNITS[parts[2].lower()] if parts else Fraction(1, 2)
    if abs(value) >= MAX_COUNT:
        raise ConfigError(f"'{text[:60]}' is too large; counts stay below 2^53, about 9e15")
    if value.denominator != 1:
        raise ConfigError(f"'{text[:60]}' is no whole number; write it as 100000, 1e5 or 100k")
    return int(value)


def seconds(text: str) -> float:
    """A time in seconds that is a number: neither infinite nor NaN."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"'{text[:60]}' is no number of seconds; write it as 10 or 0.5, or leave the option out")
    return value


Count = Annotated[int, count]
Seconds = Annotated[float, seconds]


@dataclass(frozen=True, kw_only=True)
class OnMap:
    """What verbs take that make a task by its name."""

    map_seed: int = 0
    """The seed of random maps."""


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """What verbs take that tell how far they are."""

    quiet: bool = False
    """No progress on standard error."""


@dataclass(frozen=True, kw_only=True)
class InParallel(Quiet):
    """What verbs take that train the seeds of many runs."""

    jobs: int | None = None
    """How many seeds are trained at the same time; default: all cores."""
    engine: Literal["local", "ray"] = "local"
    """Where a sweep is trained: in processes of this machine, or on a Ray cluster."""
    address: str | None = None
    """Where the Ray cluster is: host:port or auto."""
    seconds: Seconds | None = None
    """Stop a sweep after so many seconds, cheapest cells first, so that as many end as can; it can be resumed."""


FOREIGN = (".txt", ".json", ".yaml", ".yml")
"""How files end that hold machines of others: of the 2022 code, and of multiagent-rl-rm."""


def machine_named(name: str, map_seed: int = 0) -> NumericRM:
    """The numeric machine of a task, or of a file that somebody else's code reads."""
    return foreign_machine(name, read_text(Path(name))) if name.endswith(FOREIGN) else load(name, map_seed).machine


def foreign_machine(name: str, text: str) -> NumericRM:
    """The machine of a text whose file has one of the endings of FOREIGN."""
    if name.endswith(".txt"):
        return parse_text2022(text)

    return from_multiagent_rm(parse_multiagent_rm(text))


def allow_digits() -> None:
    """Let exact sizes be printed: many subtasks have more orders than Python prints digits of by default."""
    sys.set_int_max_str_digits(MAX_DIGITS)


def count_text(count: int) -> str:
    """A number as it is read: all digits of 30 at most, else its size."""
    digits = len(str(count))
    return f"{count:,}" if digits <= 30 else f"about 10^{digits - 1}"
