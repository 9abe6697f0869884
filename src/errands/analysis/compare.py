"""Summaries of curves, and comparisons of run folders: what finished runs say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from errands.analysis.curve import NEAR, Curve, curve_of
from errands.analysis.statistics import Interval, Spread, improvement_interval, iqm_interval, spread
from errands.errors import SpecError, StoreError
from errands.learners import method_of
from errands.runs.documents import narrowest
from errands.runs.folder import SWEEP, TASK, RunFolder, find, open_sweep, stored
from errands.tables import Evaluation, Floats
from errands.tasks.spec import make_machine, read_spec
from errands.tasks.task import Task
from errands.worlds.base import Described
from errands.worlds.imports import NAMELESS

_UNEVALUATED = "these runs have no evaluations yet; wait for the first checkpoint, or 'errands resume' them"


@dataclass(frozen=True)
class Summary:
    """One method on one task."""

    task: str
    name: str
    seeds: int
    steps: int
    optimum: float | None
    bounds: dict[str, Any] | None
    reference: float | None
    """What lengths are measured by: the optimum, or the shortest length that any compared seed met; None if none."""
    final: Spread
    success: float
    """The chance that an episode of a final policy succeeds, averaged over seeds: their share where there is no chance."""
    optimal: float
    first_optimal: Spread
    first_near: Spread
    settled: float
    """The step from which the median curve stays within 10 %, in 95 % of the evaluations that follow."""
    score: Interval
    """Interquartile mean of reference / final length, 0 for a policy that may fail, with its bootstrap interval.

    Where no policy surely succeeds and no optimum is known there is no reference, and the chances of success are averaged."""
    note: str
    expected: Spread | None = None
    """Expected steps of the final policies until an episode ends, in success or failure; None in a world without chance."""

    @property
    def gap(self) -> float | None:
        """Steps of the median seed above the optimum; None where it fails or the optimum is not known."""
        median = self.final.values[1]
        return None if self.optimum is None or median is None else median - self.optimum

    def row(self) -> dict[str, Any]:
        """The summary as plain values; what never happened is null."""
        row: dict[str, Any] = {"gap": self.gap}
        for name, value in vars(self).items():
            if isinstance(value, Spread):
                row |= {f"{name}_{part}": x for part, x in zip(("q1", "median", "q3"), value.values, strict=True)}
            elif isinstance(value, Interval):
                row |= {"iqm": value.value, "iqm_low": value.low, "iqm_high": value.high}
            elif name != "expected":  # in a world without chance
                row[name] = None if value == np.inf else value
        return row


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
        bounds=curve.bounds,
        reference=reference,
        final=spread(curve.final),
        success=float(curve.success[:, -1].mean()),
        optimal=float(curve.within(0.0, reference)[:, -1].mean()) if reference is not None else 0.0,
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
    # There larger is better; of lengths the smaller one is.
    return improvement_interval([-a.final for a, _ in pairs], [-b.final for _, b in pairs])


def improvements(curves: Sequence[Curve]) -> tuple[str, dict[str, Interval]]:
    """The first method, and the chance that it ends shorter than each other that has a task in common with it."""
    methods: dict[str, list[Curve]] = {}
    for curve in curves:
        methods.setdefault(curve.name, []).append(curve)
    first, *others = methods
    chances = {name: improvement(methods[first], methods[name]) for name in others}
    return first, {name: chance for name, chance in chances.items() if chance is not None}


def differences(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The settings in which runs differ: setting -> {run: value}; a setting that a run does not have is left out."""
    names = dict.fromkeys(key for chosen in settings.values() for key in chosen)
    table = {key: {run: chosen[key] for run, chosen in settings.items() if key in chosen} for key in names}
    return {
        key: values
        for key, values in table.items()
        if len(values) < len(settings) or len({repr(v) for v in values.values()}) > 1
    }


@dataclass(frozen=True)
class Compared:
    """All seeds of one method on one task, from one run folder or several with the same settings."""

    curve: Curve
    settings: dict[str, Any]
    """Everything that was asked for: task, learner, machine, preset and the learner's settings."""
    seconds: tuple[float, ...]
    """Wall seconds per million steps, by seed that has ended."""
    subtasks: int
    claims: tuple[dict[str, Any], ...] = ()
    """What its seeds claim where there is chance."""


def compared(names: Iterable[str]) -> list[Compared]:
    """The runs and sweeps of these names or paths; seeds that have no evaluation yet are left out."""
    groups: dict[tuple[str, str], list[RunFolder]] = {}
    for folder in _folders(names):
        # By checksum: two tasks may have the same name and not be the same.
        groups.setdefault((folder.document.task_sha256, repr(_settings(folder))), []).append(folder)
    evaluated = [folders for folders in groups.values() if seeds_of(folders)]
    if not evaluated:
        raise StoreError(_UNEVALUATED)
    titles = _titles([folders[0] for folders in evaluated])
    return [_compared(title, folders) for title, folders in zip(titles, evaluated, strict=True)]


def _folders(names: Iterable[str]) -> Iterator[RunFolder]:
    for path in dict.fromkeys(find(name) for name in names):
        if not (path / SWEEP).is_file():
            yield _looked_into(path)
            continue
        sweep = open_sweep(path)
        cells: list[Path] = [sweep.cell(cell) for cell in sweep.document.cells if sweep.head(cell) is not None]
        yield from map(_looked_into, cells)


@dataclass(frozen=True)
class UnmadeWorld(Described):
    """The world of a run that is only looked into: it reports what the machine asks for and cannot be stepped."""

    kind: str
    features: tuple[str, ...]
    signals: tuple[str, ...]
    limit: int = 1

    def env(self, render_mode: str | None = None) -> Any:
        """Refused: nothing is made of the world of a run that is compared."""
        raise StoreError("a run that is compared has no environment; open it to step one")

    def finite(self) -> None:
        """None: there are no tables."""
        return


def _looked_into(path: Path) -> RunFolder:
    """The run of a folder without its world, which is not made: curves need none of its code, so it need not be let in."""
    document, text = stored(path)
    try:
        # What stands for a Python object is no name that a task file may hold; here any will do.
        spec = read_spec(re.sub(f'"{NAMELESS}:[^"]*"', '"python:object"', text.decode()))
        machine = make_machine(spec.machine)
    except (SpecError, UnicodeDecodeError) as fault:
        raise StoreError(f"{path / TASK} holds no task that this version of errands knows: {fault}") from None
    return RunFolder(path, document, Task(spec.name, UnmadeWorld(spec.world.kind, machine.features, machine.signals), machine))


def _settings(folder: RunFolder) -> dict[str, Any]:
    """Everything that was asked for; budgets of a learner that is evaluated at its end only are points of one curve."""
    known = folder.document
    steps = {} if method_of(known.learner).evaluated_at_end else {"steps": known.steps}
    return {
        "task": known.task, "learner": known.learner, "machine": known.machine, "preset": known.preset,
        **steps, **known.config,
    }  # fmt: skip


def _compared(title: str, folders: Sequence[RunFolder]) -> Compared:
    """Run folders that differ in their seeds only, or in the budget of a learner that is evaluated at its end only."""
    curve = curve_of_runs(title, folders[0].document.task, folders)
    results = {(r.seed, folder.document.steps): r for folder in folders for r in folder.results()}
    seconds = tuple(r.wall_seconds / r.steps * 1e6 for r in results.values() if r.steps)
    claims = tuple({"seed": seed, **r.claim.model_dump()} for (seed, _), r in results.items() if r.claim)
    return Compared(curve, _settings(folders[0]), seconds, len(folders[0].task.machine.subtasks), claims)


def curve_of_runs(title: str, task: str, folders: Sequence[RunFolder]) -> Curve:
    """The curve of one method's run folders; a StoreError where none of their seeds has an evaluation yet."""
    seeds = seeds_of(folders)
    if not seeds:
        raise StoreError(_UNEVALUATED)
    best = next((r.optimum for folder in folders for r in folder.results() if r.optimum is not None), None)
    at_end = method_of(folders[0].document.learner).evaluated_at_end
    bounds = narrowest(r.known_bounds for folder in folders for r in folder.results())
    return curve_of(title, task, [seeds[seed] for seed in sorted(seeds)], best, at_end, bounds)


def seeds_of(folders: Sequence[RunFolder]) -> dict[int, list[Evaluation]]:
    """The evaluations of each seed; the same seed with the same settings and steps is the same run and counts once.

    A learner that is evaluated at its end only gives one evaluation for each budget, at the step of the whole budget:
    what it left unspent was its to spend.
    """
    seeds: dict[int, dict[int, Evaluation]] = {}
    for folder in folders:
        at_end, budget = method_of(folder.document.learner).evaluated_at_end, folder.document.steps
        for place in folder.seeds():
            rows = place.evaluations() if place.begun and (at_end or place.seed not in seeds) else []
            if at_end:
                result = place.result()
                rows = [replace(rows[-1], step=budget)] if rows and result is not None and result.error is None else []
            if rows:
                seeds.setdefault(place.seed, {}).update((row.step, row) for row in rows)
    return {seed: [rows[step] for step in sorted(rows)] for seed, rows in seeds.items()}


def _titles(runs: Sequence[RunFolder]) -> list[str]:
    """A name for each method by one of its runs, with the settings that tell it from others of that name on the task."""
    methods = [" ".join(filter(None, (run.document.learner, run.document.machine))) for run in runs]
    every = [_settings(run) for run in runs]
    titles = []
    for method, mine, run in zip(methods, every, runs, strict=True):
        rivals = [other for name, other in zip(methods, every, strict=True) if (name, other["task"]) == (method, mine["task"])]
        keys = [key for key in mine if len({repr(rival.get(key)) for rival in rivals}) > 1]
        differing = ", ".join(f"{key}={mine[key]}" for key in keys[:3])
        # The same settings on another task of the same name.
        differing = run.name if len(rivals) > 1 and not keys else differing
        titles.append(f"{method} ({differing})" if differing else method)
    return titles
