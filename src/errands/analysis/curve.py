"""A learning curve: the greedy episode lengths of several seeds of one method on one task, on common steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.analysis.statistics import quantile
from errands.errors import ConfigError
from errands.tables import Evaluation, Floats

Steps = NDArray[np.int64]
NEAR = 0.1
"""How far above the optimum a policy may be to count as near it."""
APART = ("dirl",)
"""Learners that are evaluated at their end only: each value is a run of its own, and a line between two tells of nothing."""
STAYS = 0.95
"""The share of later evaluations that must be near for a curve to have settled: one bad evaluation undoes nothing."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Episode lengths by seed and step; an episode that did not succeed is infinitely long."""

    name: str
    task: str
    steps: Steps
    """[T] every step at which some seed was evaluated."""
    lengths: Floats
    """[K, T] the last evaluation of each seed at or before each step; infinite before its first."""
    ends: tuple[int, ...]
    """The last evaluated step of each seed; a seed that ended early keeps its last value."""
    optimum: float | None = None
    apart: bool = False
    """Whether its values stand each for a run of its own, as DiRL's do, rather than for the course of one."""

    @property
    def seeds(self) -> int:
        """How many seeds there are."""
        return len(self.ends)

    @property
    def final(self) -> Floats:
        """[K] the length at the end of each seed."""
        return self.lengths[:, -1]

    @property
    def note(self) -> str:
        """What the reader must know about seeds of unequal length; empty when there is nothing to say."""
        last = self.ends_last
        early = sum(end < last for end in self.ends)
        said = f"{early} of {self.seeds} seeds ended before step {last:,}; their last value is carried forward"
        return said if early else ""

    @property
    def ends_last(self) -> int:
        """The last step of the longest seed."""
        return max(self.ends)

    def quantiles(self, *shares: float) -> Floats:
        """[len(shares), T] quantiles over the seeds at every step."""
        return np.stack([quantile(self.lengths, share) for share in shares])

    def within(self, tolerance: float, reference: float) -> NDArray[np.bool_]:
        """[K, T] whether the length is at most (1 + tolerance) times the reference."""
        return self.lengths <= reference * (1 + tolerance) + 1e-9

    def first(self, tolerance: float, reference: float) -> Floats:
        """[K] the first step at which each seed is within the tolerance; infinite where it never is."""
        inside = self.within(tolerance, reference)
        return np.where(inside.any(axis=1), self.steps[inside.argmax(axis=1)], np.inf)

    def settled(self, tolerance: float, reference: float) -> float:
        """The step from which the median over seeds stays within the tolerance, 95 % of the time; infinite if none."""
        inside = self.quantiles(0.5)[0] <= reference * (1 + tolerance) + 1e-9
        share = np.cumsum(inside[::-1])[::-1] / np.arange(len(inside), 0, -1)
        good = np.flatnonzero(inside & (share >= STAYS))
        return float(self.steps[good[0]]) if len(good) else float("inf")

    def scores(self, reference: float) -> Floats:
        """[K] how good the final policies are: reference / length, 1 at the reference and 0 for a failure."""
        return reference / self.final

    def thinned(self, points: int) -> Curve:
        """The same curve on at most `points` of its steps, evenly spread, the last included."""
        if len(self.steps) <= points:
            return self
        kept = np.unique(np.linspace(0, len(self.steps) - 1, points).round().astype(int))
        return replace(self, steps=self.steps[kept], lengths=self.lengths[:, kept])

    def as_json(self) -> dict[str, Any]:
        """The curve as plain values; a failure is null."""
        rows = [[None if np.isinf(x) else float(x) for x in row] for row in self.lengths]
        plain = {"name": self.name, "task": self.task, "optimum": self.optimum}
        return {**plain, "steps": self.steps.tolist(), "ends": list(self.ends), "lengths": rows}


def curve_of(
    name: str, task: str, seeds: Sequence[Sequence[Evaluation]], optimum: float | None = None, apart: bool = False
) -> Curve:
    """The curve of several seeds; their evaluations may lie on different steps and end at different times."""
    if not seeds or not all(seeds):
        raise ConfigError(f"'{name}' on {task} has a seed without evaluations; compare runs that were evaluated")
    steps = np.unique(np.concatenate([[e.step for e in rows] for rows in seeds])).astype(np.int64)
    lengths = np.stack([_carried(rows, steps) for rows in seeds])
    return Curve(name, task, steps, lengths, tuple(rows[-1].step for rows in seeds), optimum, apart)


def _carried(rows: Sequence[Evaluation], steps: Steps) -> Floats:
    """One seed's lengths on common steps: the last known value, infinite before the first."""
    known = np.array([np.inf, *(e.episode_length if e.sure else np.inf for e in rows)])
    at = np.searchsorted(np.array([e.step for e in rows]), steps, side="right")
    return known[at]
