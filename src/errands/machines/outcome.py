"""What a machine makes of a trace of feature sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

Trace = Sequence[Set[str]]
Signals = Sequence[Mapping[str, float]]


@dataclass(frozen=True)
class Outcome:
    """The rewards of the steps taken, until the trace or the task ended, and how it ended."""

    rewards: tuple[float, ...]
    terminal: bool
    success: bool
