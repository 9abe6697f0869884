"""Statistics of a few seeds: quantiles, interquartile means, bootstrap intervals within tasks; how a runtime grows with n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from errands.errors import ConfigError
from errands.tables import Floats

REPETITIONS = 2_000
CONFIDENCE = 0.95


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
        # Equal neighbours are taken as they are: two infinite ones would give NaN in the formula.
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
    # The Mann-Whitney statistic over all pairs: a win is counted by both searches, a tie by the second alone.
    smaller = np.searchsorted(y, x, side="left")
    not_larger = np.searchsorted(y, x, side="right")
    return float((smaller + not_larger).sum() / (2 * len(x) * len(y)))


@dataclass(frozen=True)
class Interval:
    """A number and the interval in which resampled seeds put it."""

    value: float
    low: float
    high: float


def iqm_interval(strata: Sequence[ArrayLike], repetitions: int = REPETITIONS, seed: int = 0) -> Interval:
    """The interquartile mean over all tasks and seeds, with its interval; one array of scores for each task."""
    if not strata:
        raise ConfigError("no scores were given; an interval needs at least one task with one seed")
    # A stratified bootstrap: seeds are drawn again within each task, so every draw has the same tasks.
    drawn = np.concatenate(list(resampled(strata, repetitions, np.random.Generator(np.random.PCG64(seed)))), axis=1)
    given = interquartile_mean(np.concatenate([np.asarray(x) for x in strata]))
    return interval(float(given), interquartile_mean(drawn))


def improvement_interval(
    first: Sequence[ArrayLike], second: Sequence[ArrayLike], repetitions: int = REPETITIONS, seed: int = 0
) -> Interval:
    """The probability of improvement averaged over tasks, with its interval; both methods' seeds are drawn again."""
    rng = np.random.Generator(np.random.PCG64(seed))
    values, draws = [], []
    for x, y in zip(first, second, strict=True):
        (xs,), (ys,) = resampled([x], repetitions, rng), resampled([y], repetitions, rng)
        values.append(probability_of_improvement(x, y))
        draws.append([probability_of_improvement(a, b) for a, b in zip(xs, ys, strict=True)])
    return interval(float(np.mean(values)), np.mean(np.array(draws), axis=0))


def resampled(strata: Sequence[ArrayLike], repetitions: int, rng: np.random.Generator) -> Sequence[Floats]:
    """[repetitions, n] scores of each task, drawn with replacement from that task's own."""
    arrays = [np.asarray(x, np.float64) for x in strata]
    return [x[rng.integers(len(x), size=(repetitions, len(x)))] for x in arrays]


def interval(value: float, draws: Floats) -> Interval:
    """The percentile interval of bootstrap draws."""
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(draws, [tail, 100 - tail])
    return Interval(value, float(low), float(high))


@dataclass(frozen=True)
class Growth:
    """The better of two laws for seconds t(n): a + b n, and a + b g^n with g > 1."""

    kind: str
    """linear or exponential."""
    factor: float
    """g of the exponential law that fits best: how much the growing part is multiplied by with each subtask."""
    ratio: float
    """t at the largest n over t at the smallest."""

    @property
    def words(self) -> str:
        """The growth in words."""
        law = "linear" if self.kind == "linear" else f"exponential, factor {self.factor:.2f} per subtask"
        return f"{law}; {self.ratio:.1f} times as long from the smallest to the largest task"


BASES = np.exp(np.linspace(np.log(1.2), np.log(20.0), 200))
"""Bases below 1.2 cannot be told from a line over so few sizes."""


def growth(sizes: Sequence[int], seconds: Sequence[float]) -> Growth:
    """The law that fits measured times; the exponential one, which has a parameter more, must halve the error.

    Times that grow no more than in proportion to n are never called exponential: a line can always do that.
    """
    n, t = np.asarray(sizes, np.float64), np.asarray(seconds, np.float64)
    line = _error(n, t)
    errors = [_error(base**n, t) for base in BASES]
    best = int(np.argmin(errors))
    steep = t[-1] / t[0] > n[-1] / n[0]
    kind = "exponential" if steep and errors[best] < 0.5 * line else "linear"
    return Growth(kind, float(BASES[best]), float(t[-1] / t[0]))


def _error(basis: Floats, t: Floats) -> float:
    """The relative error of t = a + b * basis with a and b at least 0, by least squares."""
    candidates = []
    # With a and b at least 0 the best fit lies inside, or on an edge where one of them is 0: the three cases.
    for columns in ([np.ones_like(t), basis], [basis], [np.ones_like(t)]):
        # Every row divided by its t: residuals are then relative errors, and large times do not outweigh small ones.
        design = np.stack(columns, axis=1) / t[:, None]
        solution, *_ = np.linalg.lstsq(design, np.ones_like(t), rcond=None)
        if (solution >= 0).all():
            candidates.append(float(np.sqrt(np.mean((design @ solution - 1.0) ** 2))))
    return min(candidates, default=float("inf"))
