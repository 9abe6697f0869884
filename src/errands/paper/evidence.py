"""Evidence: what runs have measured, looked up by task, method and preset, and the questions that claims ask of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from errands.analysis.compare import curve_of_runs, seeds_of
from errands.analysis.curve import NEAR, Curve
from errands.analysis.statistics import Growth, growth, spread
from errands.errors import StoreError
from errands.oracle.one_policy import OnePolicy, one_policy_per_subtask
from errands.paper.panels import STOPPING, Key, by_networks, is_pace, key_of, subtasks_of, task_and_map
from errands.runs.documents import Cell, ResultDocument
from errands.runs.folder import SweepFolder, open_run
from errands.runs.train import training_time
from errands.tasks.catalogue import load

NEVER = float("inf")
WINDOW = 3
"""Evaluations whose median stands for one: single greedy episodes of networks in training jump."""
OTHER_WINDOWS = (1, 5)
"""Verdicts that would be others with these are named in the report."""
EXACT = ("delivery-2", "office-3", "office-6", "office-3-one-coffee", "office-6-one-coffee", "corridor")
"""The tasks of the claim of global optimality."""


@dataclass(frozen=True)
class Evidence:
    """Everything that claims are judged by."""

    curves: Mapping[Key, Curve]
    seconds: Mapping[Key, tuple[float, ...]]
    """Seconds per million training steps, by seed or repeat."""
    exact: Mapping[str, OnePolicy] = field(default_factory=dict)

    def curve(self, task: str, method: str, preset: str) -> Curve | None:
        """The curve of a method; None where it was not run."""
        return self.curves.get((task, method, preset))

    def maps(self, task: str) -> list[str]:
        """The measured tasks that are this one on some map, by the numbers of the maps."""
        known = {name for name, _, _ in self.curves if task_and_map(name)[0] == task}
        return sorted(known, key=lambda name: (len(name), name))

    def shortest(self, task: str) -> float:
        """The shortest length of any method on a task; infinite where none succeeded."""
        return min((float(c.lengths.min()) for key, c in self.curves.items() if key[0] == task), default=NEVER)

    def settled(self, task: str, method: str, preset: str, tolerance: float = NEAR) -> float | None:
        """The step from which the median curve stays near the optimum; None where the method was not run."""
        curve = self.curve(task, method, preset)
        return None if curve is None or curve.optimum is None else curve.settled(tolerance, curve.optimum)

    def final(self, task: str, method: str, preset: str) -> float | None:
        """The median of the final lengths, infinite when half of the seeds fail; None where it was not run."""
        curve = self.curve(task, method, preset)
        return None if curve is None else float(spread(curve.final).median)

    def near(self, task: str, method: str, preset: str) -> float | None:
        """The median over seeds of the first step within 10 % of the optimum; None where it was not run."""
        curve = self.curve(task, method, preset)
        return None if curve is None or curve.optimum is None else spread(curve.first(NEAR, curve.optimum)).median

    def runtime(self, task: str, method: str, under: str) -> float | None:
        """Seconds per million steps: the least of seeds or repeats, since whatever else a machine does only slows down."""
        seconds = self.seconds.get((task, method, under))
        return None if seconds is None else min(seconds)

    def runtimes(self, family: str, method: str, under: str) -> tuple[list[int], list[float]]:
        """Numbers of subtasks and seconds per million steps of a method over a family of tasks."""
        tasks = [key[0] for key in self.seconds if key[1:] == (method, under)]
        # Tasks of another reading (office-3-one-coffee) are a family of their own.
        mine = [task for task in tasks if task.split("-")[0] == family and task.count("-") == 1]
        pairs = sorted((subtasks_of(task), self.runtime(task, method, under) or 0.0) for task in mine)
        return [n for n, _ in pairs], [seconds for _, seconds in pairs]

    def growth(self, family: str, method: str, under: str) -> tuple[Growth, list[int]] | None:
        """How the runtime of a method grows over a family of tasks; None with fewer than four sizes."""
        sizes, seconds = self.runtimes(family, method, under)
        return (growth(sizes, seconds), sizes) if len(sizes) >= 4 else None

    def steadied(self, window: int = WINDOW) -> Evidence:
        """The same with the curves of networks steadied over a few evaluations."""
        curves = {
            key: steadied(curve, window) if curve.optimum is None or by_networks(key[0]) else curve
            for key, curve in self.curves.items()
        }
        return replace(self, curves=curves)


def steadied(curve: Curve, window: int = WINDOW) -> Curve:
    """The curve with every value replaced by the median of a seed's last few, as many as there are."""
    if curve.evaluated_at_end:
        return curve
    ends = range(1, len(curve.steps) + 1)
    columns = [np.sort(curve.lengths[:, max(0, end - window) : end], axis=1) for end in ends]
    # The upper median of an even number: half of the evaluations failing is a failure.
    lengths = np.stack([column[:, column.shape[1] // 2] for column in columns], axis=1)
    return replace(curve, lengths=lengths)


@dataclass(frozen=True)
class Gathered:
    """What the run folders of a sweep have so far."""

    evidence: Evidence
    seconds: float
    """Training seconds of all seeds together, evaluations left out."""
    unfinished: tuple[str, ...]
    """Which cells are not at their end, and where they stand."""
    errors: tuple[str, ...]
    origins: tuple[tuple[Origin, int], ...] = ()
    """With which versions and on which machines runs were begun, and how many of them, most first."""


@dataclass(frozen=True)
class Origin:
    """What numbers of a run depend on beside its settings."""

    versions: Mapping[str, str]
    computer: Mapping[str, str | int]


def gather(sweep: SweepFolder) -> Gathered:
    """The evidence of the cells of a sweep; runs that were cut short count as far as they came."""
    groups: dict[Key, list[Cell]] = {}
    for cell in sweep.document.cells:
        groups.setdefault(key_of(cell), []).append(cell)
    curves, paces, errors, open_ends, total = dict[Key, Curve](), dict[Key, tuple[float, ...]](), [], [], 0.0
    origins = list[Origin]()
    for key, mine in groups.items():
        runs = [open_run(sweep.cell(cell)) for cell in mine if sweep.head(cell) is not None]
        origins += [Origin(run.document.versions, run.document.computer) for run in runs]
        results = [result for run in runs for result in run.results()]
        good = [result for result in results if result.error is None]
        errors += [f"{' '.join(key)}: {error}" for error in dict.fromkeys(r.error for r in results if r.error)]
        total += sum(map(training_time, runs))
        if len(good) < sum(cell.seeds for cell in mine) and not any(r.error for r in results):
            reached = max((rows[-1].step for rows in seeds_of(runs).values()), default=0)
            open_ends.append(f"{' '.join(key)} at {reached:,} of {max(cell.steps or 0 for cell in mine):,}")
        if mine[0].learner not in STOPPING and (times := per_million(good)):
            paces[key] = times
        if not is_pace(mine[0]):
            try:
                curves[key] = curve_of_runs(key[1], key[0], runs)
            except StoreError:  # nothing was evaluated yet
                continue
    counts = [(origin, origins.count(origin)) for k, origin in enumerate(origins) if origin not in origins[:k]]
    most_first = tuple(sorted(counts, key=lambda pair: -pair[1]))
    return Gathered(Evidence(curves, paces), total, tuple(open_ends), tuple(errors), most_first)


def per_million(results: Iterable[ResultDocument]) -> tuple[float, ...]:
    """Seconds of training per million steps, by seed that has ended."""
    return tuple(r.training_seconds / r.steps * 1e6 for r in results if r.training_seconds is not None and r.steps)


def exact(tasks: Sequence[str] = EXACT) -> dict[str, OnePolicy]:
    """What the oracle says about the tasks of the claim of global optimality."""
    known = {name: one_policy_per_subtask(load(name)) for name in tasks}
    return {name: single for name, single in known.items() if single.optimum is not None}


def in_steps(value: float | None) -> str:
    """A number of steps in words."""
    if value is None:
        return "not run"
    return "never" if value == NEVER else f"{value:,.0f}"
