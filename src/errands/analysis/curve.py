"""A learning curve: the greedy episode lengths of several seeds of one method on one task, on common steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.analysis.statistics import quantile
from errands.errors import ConfigError
from errands.tables import ENDS, ROUNDING, Evaluation, Floats

Steps = NDArray[np.int64]
NEAR = 0.1
"""How far above the optimum a policy may be to count as near it."""
STAYS = 0.95
"""The share of later evaluations that must be near for a curve to have settled: one bad evaluation undoes nothing."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Episode lengths by seed and step; a policy that does not surely succeed is infinitely long.

    Where chance plays a part lengths are expectations, exact ones or means of several episodes: `episodes` says which.
    """

    name: str
    task: str
    steps: Steps
    """[T] every step at which some seed was evaluated."""
    lengths: Floats
    """[K, T] the last evaluation of each seed at or before each step; infinite before its first."""
    ends: tuple[int, ...]
    """The last evaluated step of each seed; a seed that ended early keeps its last value."""
    optimum: float | None = None
    bounds: dict[str, Any] | None = None
    """What is known of the optimum: `lower` and `upper`, whether they are `proved` to be it, and `delta`."""
    evaluated_at_end: bool = False
    """Whether its values stand each for a run of its own, as DiRL's do, rather than for the course of one."""
    chances: Floats | None = None
    """[K, T] the probability that an episode succeeds; None in a world without chance, where the lengths tell."""
    spans: Floats | None = None
    """[K, T] the expected steps until an episode ends in success or failure; None in a world without chance."""
    episodes: int = 1
    """1: each value is the one episode of a world without chance; 0: exact expectations; more: means over so many."""
    intervals: Mapping[str, Floats] = field(default_factory=dict)
    """[K, T] the ends of the 95 % intervals of such means: length_low, length_high, success_low, success_high; else nothing."""

    @property
    def seeds(self) -> int:
        """How many seeds there are."""
        return len(self.ends)

    @property
    def final(self) -> Floats:
        """[K] the length at the end of each seed."""
        return self.lengths[:, -1]

    @property
    def success(self) -> Floats:
        """[K, T] the probability that an episode succeeds."""
        return np.isfinite(self.lengths).astype(np.float64) if self.chances is None else self.chances

    @property
    def sampled(self) -> bool:
        """Whether its values are means of several episodes, and so near the truth but not equal to it."""
        return self.episodes > 1

    @property
    def note(self) -> str:
        """What the reader must know about seeds of unequal length and about chance; empty when there is nothing to say."""
        early = sum(end < self.ends_last for end in self.ends)
        ended = f"{early} of {self.seeds} seeds ended before step {self.ends_last:,}; their last value is carried forward"
        exact = "lengths and success are exact expectations; ~ steps until the end of a policy that may fail"
        means = f"lengths and success are means of {self.episodes} episodes: too few to show that a policy is optimal"
        return "; ".join([ended] * (early > 0) + [exact] * (self.episodes == 0) + [means] * self.sampled)

    @property
    def ends_last(self) -> int:
        """The last step of the longest seed."""
        return max(self.ends)

    def quantiles(self, *shares: float) -> Floats:
        """[len(shares), T] quantiles over the seeds at every step."""
        return np.stack([quantile(self.lengths, share) for share in shares])

    def within(self, tolerance: float, reference: float) -> NDArray[np.bool_]:
        """[K, T] whether the length is at most (1 + tolerance) times the reference.

        A mean of episodes may lie below an expected optimum by chance, so it is never called optimal itself.
        """
        if self.sampled and tolerance == 0 and self.optimum is not None:
            return np.zeros(self.lengths.shape, np.bool_)
        return self.lengths <= reference * (1 + tolerance) + ROUNDING * max(1.0, reference)

    def first(self, tolerance: float, reference: float) -> Floats:
        """[K] the first step at which each seed is within the tolerance; infinite where it never is."""
        inside = self.within(tolerance, reference)
        return np.where(inside.any(axis=1), self.steps[inside.argmax(axis=1)], np.inf)

    def settled(self, tolerance: float, reference: float) -> float:
        """The step from which the median over seeds stays within the tolerance, 95 % of the time; infinite if none."""
        inside = self.quantiles(0.5)[0] <= reference * (1 + tolerance) + 1e-9
        # At each evaluation: the share of it and all later ones that are inside.
        share = np.cumsum(inside[::-1])[::-1] / np.arange(len(inside), 0, -1)
        good = np.flatnonzero(inside & (share >= STAYS))
        return float(self.steps[good[0]]) if len(good) else float("inf")

    def scores(self, reference: float) -> Floats:
        """[K] how good the final policies are: reference / length, 1 at the reference and 0 for one that may fail."""
        # An infinite length gives 0. A mean of episodes may lie below the reference by chance; it counts as 1.
        return np.minimum(1.0, reference / self.final)

    def thinned(self, points: int) -> Curve:
        """The same curve on at most `points` of its steps, evenly spread, the last included."""
        if len(self.steps) <= points:
            return self
        chosen = np.unique(np.linspace(0, len(self.steps) - 1, points).round().astype(int))
        chances, spans = (None if x is None else x[:, chosen] for x in (self.chances, self.spans))
        return replace(
            self, steps=self.steps[chosen], lengths=self.lengths[:, chosen], chances=chances, spans=spans,
            intervals={name: ends[:, chosen] for name, ends in self.intervals.items()},
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """The curve as plain values; a failure is null."""
        rows = [[None if np.isinf(x) else float(x) for x in row] for row in self.lengths]
        plain = {"name": self.name, "task": self.task, "optimum": self.optimum, "bounds": self.bounds}
        chances = {} if self.chances is None else {"success": self.chances.tolist(), "episodes": self.episodes}
        ends = {name: [[None if np.isinf(x) else float(x) for x in row] for row in part] for name, part in self.intervals.items()}
        return {**plain, "steps": self.steps.tolist(), "ends": list(self.ends), "lengths": rows, **chances, **ends}


def curve_of(
    name: str,
    task: str,
    seeds: Sequence[Sequence[Evaluation]],
    optimum: float | None = None,
    evaluated_at_end: bool = False,
    bounds: dict[str, Any] | None = None,
) -> Curve:
    """The curve of several seeds; their evaluations may lie on different steps and end at different times."""
    if not seeds or not all(seeds):
        raise ConfigError(f"'{name}' on {task} has a seed without evaluations; compare runs that were evaluated")
    steps = np.unique(np.concatenate([[e.step for e in rows] for rows in seeds])).astype(np.int64)

    def carried(value: Callable[[Evaluation], float], before: float) -> Floats:
        """[K, T] each seed's last known value on the common steps, `before` where there is none yet."""
        return np.stack([_carried(rows, [value(e) for e in rows], before, steps) for rows in seeds])

    kinds = {e.episodes for rows in seeds for e in rows}
    random = kinds != {1}
    return Curve(
        name=name,
        task=task,
        steps=steps,
        lengths=carried(lambda e: e.episode_length if e.sure else np.inf, np.inf),
        ends=tuple(rows[-1].step for rows in seeds),
        optimum=optimum,
        bounds=bounds,
        evaluated_at_end=evaluated_at_end,
        chances=carried(lambda e: e.success, 0.0) if random else None,
        spans=carried(lambda e: e.episode_length, np.inf) if random else None,
        episodes=max(kinds),
        intervals={name: carried(partial(_end, name), 0.0 if "success" in name else np.inf) for name in ENDS if max(kinds) > 1},
    )


def _end(name: str, evaluation: Evaluation) -> float:
    """An end of an evaluation's interval; what is exact is its own."""
    end = getattr(evaluation, name)
    return float((evaluation.success if "success" in name else evaluation.episode_length) if end is None else end)


def _carried(rows: Sequence[Evaluation], values: Sequence[float], before: float, steps: Steps) -> Floats:
    """One seed's values on common steps: the last known one, `before` where there is none yet."""
    at = np.searchsorted(np.array([e.step for e in rows]), steps, side="right")
    # searchsorted counts the evaluations up to a step, so 0 means none yet and finds `before`.
    carried: Floats = np.array([before, *values], np.float64)[at]
    return carried
