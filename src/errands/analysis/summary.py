"""Summaries: what the seeds of a method reached on a task, and what differs between the methods compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from errands.analysis.curve import NEAR, Curve
from errands.analysis.statistics import Interval, Spread, improvement_interval, iqm_interval, spread
from errands.tables import Floats

_EXPECTED = ("expected_q1", "expected_median", "expected_q3")


@dataclass(frozen=True)
class Summary:
    """One method on one task."""

    task: str
    name: str
    seeds: int
    steps: int
    optimum: float | None
    reference: float | None
    """What lengths are measured by: the optimum, or the shortest length that any compared seed met; None if none."""
    final: Spread
    """Length of the final greedy episode."""
    success: float
    """The chance that an episode of a final policy succeeds, averaged over seeds: their share where there is no chance."""
    optimal: float
    """Share of seeds whose final policy has the reference length."""
    ever_optimal: float
    """Share of seeds that met the reference length at some evaluation."""
    first_optimal: Spread
    """Steps to the first evaluation with the reference length."""
    first_near: Spread
    """Steps to the first evaluation within 10 % of it."""
    settled: float
    """The step from which the median curve stays within 10 %, in 95 % of the evaluations that follow."""
    score: Interval
    """Interquartile mean of reference / final length, 0 for a policy that may fail, with its bootstrap interval.

    Where no policy surely succeeds and no optimum is known there is no reference, and the chances of success are averaged."""
    note: str
    expected: Spread | None = None
    """Expected steps of the final policies until an episode ends, in success or failure; None in a world without chance."""

    def row(self) -> dict[str, Any]:
        """The summary as plain values; what never happened is null."""
        never = {"first_optimal": self.first_optimal, "first_near": self.first_near, "final": self.final}
        expected = {} if self.expected is None else dict(zip(_EXPECTED, self.expected.values, strict=True))
        return {
            "task": self.task, "name": self.name, "seeds": self.seeds, "steps": self.steps,
            "optimum": self.optimum, "reference": self.reference,
            **{f"{key}_{part}": value for key, s in never.items()
               for part, value in zip(("q1", "median", "q3"), s.values, strict=True)},
            "success": self.success, "optimal": self.optimal, "ever_optimal": self.ever_optimal,
            "settled": None if np.isinf(self.settled) else self.settled,
            "iqm": self.score.value, "iqm_low": self.score.low, "iqm_high": self.score.high, "note": self.note,
            **expected,
        }  # fmt: skip


def reference_of(curves: Sequence[Curve]) -> float | None:
    """The optimum of the curves' task where it is known, else the shortest length that any seed met."""
    known = [c.optimum for c in curves if c.optimum is not None]
    if known:
        return min(known)
    shortest = min(float(c.lengths.min()) for c in curves)
    return shortest if np.isfinite(shortest) else None


def summarise(curve: Curve, reference: float | None = None) -> Summary:
    """The summary of one curve; lengths are measured by `reference`, or by the curve's own."""
    reference = reference_of([curve]) if reference is None else reference
    never = np.full(curve.seeds, np.inf)
    first = curve.first(0.0, reference) if reference is not None else never
    return Summary(
        task=curve.task,
        name=curve.name,
        seeds=curve.seeds,
        steps=curve.ends_last,
        optimum=curve.optimum,
        reference=reference,
        final=spread(curve.final),
        success=float(curve.success[:, -1].mean()),
        optimal=float(curve.within(0.0, reference)[:, -1].mean()) if reference is not None else 0.0,
        ever_optimal=float(np.isfinite(first).mean()),
        first_optimal=spread(first),
        first_near=spread(curve.first(NEAR, reference) if reference is not None else never),
        settled=curve.settled(NEAR, reference) if reference is not None else float("inf"),
        score=iqm_interval([_scores(curve, reference)]),
        note=curve.note,
        expected=None if curve.spans is None else spread(curve.spans[:, -1]),
    )


def _scores(curve: Curve, reference: float | None) -> Floats:
    return curve.success[:, -1] if reference is None else curve.scores(reference)


def summarise_all(curves: Sequence[Curve]) -> tuple[Summary, ...]:
    """The summaries of several methods; those on one task are measured by the same reference."""
    tasks = dict.fromkeys(c.task for c in curves)
    references = {task: reference_of([c for c in curves if c.task == task]) for task in tasks}
    return tuple(summarise(c, references[c.task]) for c in curves)


def overall(curves: Sequence[Curve]) -> dict[str, Interval]:
    """For each method: the interquartile mean of the final scores over all its tasks, seeds drawn within tasks."""
    references = {s.task: s.reference for s in summarise_all(curves)}
    strata: dict[str, list[Any]] = {}
    for curve in curves:
        strata.setdefault(curve.name, []).append(_scores(curve, references[curve.task]))
    return {name: iqm_interval(scores) for name, scores in strata.items()}


def improvement(first: Sequence[Curve], second: Sequence[Curve]) -> Interval | None:
    """The chance that a seed of one method ends shorter than one of the other, averaged over their common tasks."""
    other = {c.task: c for c in second}
    pairs = [(c, other[c.task]) for c in first if c.task in other]
    if not pairs:
        return None
    return improvement_interval([-a.final for a, _ in pairs], [-b.final for _, b in pairs])


def differences(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The settings in which runs differ: setting -> {run: value}; a setting that a run does not have is left out."""
    names = dict.fromkeys(key for chosen in settings.values() for key in chosen)
    table = {key: {run: chosen[key] for run, chosen in settings.items() if key in chosen} for key in names}
    return {
        key: values
        for key, values in table.items()
        if len(values) < len(settings) or len({repr(v) for v in values.values()}) > 1
    }
