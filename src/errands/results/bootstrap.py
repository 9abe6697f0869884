"""Stratified bootstrap: seeds are drawn again within each task, never across tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from errands.errors import ConfigError
from errands.results.statistics import interquartile_mean, probability_of_improvement
from errands.tables import Floats

REPETITIONS = 2_000
CONFIDENCE = 0.95


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
