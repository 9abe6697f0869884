"""Statistics of a few seeds: quantiles that endure infinities, interquartile mean, probability of improvement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from errands.tables import Floats


@dataclass(frozen=True)
class Spread:
    """Median and quartiles, as the paper reports them."""

    low: float
    median: float
    high: float

    @property
    def values(self) -> tuple[float | None, float | None, float | None]:
        """The three numbers for JSON: null where infinite."""
        low, median, high = (None if np.isinf(x) else float(x) for x in (self.low, self.median, self.high))
        return low, median, high


def quantile(values: ArrayLike, share: float) -> Floats:
    """The quantile along the first axis, linear between neighbours; infinite where a neighbour that counts is."""
    ordered: Floats = np.sort(np.asarray(values, np.float64), axis=0)
    place = share * (len(ordered) - 1)
    below, rest = int(place), place - int(place)
    lower: Floats = ordered[below]
    if rest == 0.0:
        return lower
    upper = ordered[below + 1]
    with np.errstate(invalid="ignore"):
        between: Floats = np.where(lower == upper, lower, lower + rest * (upper - lower))
    return between


def spread(values: ArrayLike) -> Spread:
    """Median and quartiles of some numbers."""
    return Spread(*(float(quantile(values, share)) for share in (0.25, 0.5, 0.75)))


def interquartile_mean(values: ArrayLike) -> Floats:
    """The mean along the last axis of what is left without the lowest and the highest quarter."""
    ordered = np.sort(np.asarray(values, np.float64), axis=-1)
    cut = ordered.shape[-1] // 4
    means: Floats = ordered[..., cut : ordered.shape[-1] - cut].mean(axis=-1)
    return means


def probability_of_improvement(first: ArrayLike, second: ArrayLike) -> float:
    """The chance that a random run of `first` has a larger value than one of `second`; a tie counts half."""
    x, y = np.asarray(first, np.float64), np.sort(np.asarray(second, np.float64))
    smaller = np.searchsorted(y, x, side="left")
    not_larger = np.searchsorted(y, x, side="right")
    return float((smaller + not_larger).sum() / (2 * len(x) * len(y)))


def mean_improvement(first: Sequence[ArrayLike], second: Sequence[ArrayLike]) -> float:
    """The probability of improvement averaged over tasks."""
    pairs = zip(first, second, strict=True)
    return float(np.mean([probability_of_improvement(x, y) for x, y in pairs]))
