"""Runs side by side: stored runs and sweeps gathered into one curve for each task and method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from errands.analysis.curve import Curve, curve_of
from errands.errors import StoreError
from errands.learners import entry_of
from errands.runs.folder import SWEEP, RunFolder, find, open_run, open_sweep
from errands.tables import Evaluation


@dataclass(frozen=True)
class Compared:
    """All seeds of one method on one task, from one run folder or several with the same settings."""

    curve: Curve
    settings: dict[str, Any]
    """Everything that was asked for: task, learner, machine, preset and the learner's settings."""
    seconds: tuple[float, ...]
    """Wall seconds per million steps, by seed that has ended."""
    subtasks: int


def compared(names: Iterable[str]) -> list[Compared]:
    """The runs and sweeps of these names or paths; seeds that have no evaluation yet are left out."""
    groups: dict[tuple[str, str], _Group] = {}
    for folder in _folders(names):
        settings = _settings(folder)
        key = (folder.document.task_sha256, repr(settings))
        if key in groups:
            groups[key].folders.append(folder)
        else:
            groups[key] = _Group(folder, settings)
    evaluated = [group for group in groups.values() if seeds_of(group.folders)]
    if not evaluated:
        raise StoreError("these runs have no evaluations yet; wait for the first checkpoint, or 'errands resume' them")
    titles = _titles(evaluated)
    return [group.compared(title) for group, title in zip(evaluated, titles, strict=True)]


def _folders(names: Iterable[str]) -> Iterator[RunFolder]:
    for path in dict.fromkeys(find(name) for name in names):
        if not (path / SWEEP).is_file():
            yield open_run(path)
            continue
        sweep = open_sweep(path)
        cells: list[Path] = [sweep.cell(cell) for cell in sweep.document.cells if sweep.head(cell) is not None]
        yield from map(open_run, cells)


def _settings(folder: RunFolder) -> dict[str, Any]:
    """Everything that was asked for; budgets of a learner that is evaluated at its end only are points of one curve."""
    known = folder.document
    steps = {} if entry_of(known.learner).apart else {"steps": known.steps}
    return {
        "task": known.task, "learner": known.learner, "machine": known.machine, "preset": known.preset,
        **steps, **known.config,
    }  # fmt: skip


class _Group:
    """Run folders that differ in their seeds only, or in the budget of a learner that is evaluated at its end only."""

    def __init__(self, folder: RunFolder, settings: dict[str, Any]) -> None:
        self.folders, self.settings = [folder], settings

    @property
    def method(self) -> str:
        """Learner and machine."""
        known = self.folders[0].document
        return f"{known.learner} {known.machine}" if known.machine else known.learner

    def compared(self, title: str) -> Compared:
        """The runs side by side under a title."""
        document = self.folders[0].document
        curve = curve_of_runs(title, document.task, self.folders)
        results = {(r.seed, folder.document.steps): r for folder in self.folders for r in folder.results()}
        seconds = tuple(r.wall_seconds / r.steps * 1e6 for r in results.values() if r.steps)
        return Compared(curve, self.settings, seconds, len(self.folders[0].task.machine.subtasks))


def curve_of_runs(title: str, task: str, folders: Sequence[RunFolder]) -> Curve:
    """The curve of one method's run folders; a StoreError where none of their seeds has an evaluation yet."""
    seeds = seeds_of(folders)
    if not seeds:
        raise StoreError("these runs have no evaluations yet; wait for the first checkpoint, or 'errands resume' them")
    best = next((r.optimum for folder in folders for r in folder.results() if r.optimum is not None), None)
    apart = entry_of(folders[0].document.learner).apart
    return curve_of(title, task, [seeds[seed] for seed in sorted(seeds)], best, apart)


def seeds_of(folders: Sequence[RunFolder]) -> dict[int, list[Evaluation]]:
    """The evaluations of each seed; the same seed with the same settings and steps is the same run and counts once.

    A learner that is evaluated at its end only gives one evaluation for each budget, at the step of the whole budget:
    what it left unspent was its to spend.
    """
    seeds: dict[int, dict[int, Evaluation]] = {}
    for folder in folders:
        apart, budget = entry_of(folder.document.learner).apart, folder.document.steps
        for place in folder.seeds():
            rows = place.evaluations() if place.begun and (apart or place.seed not in seeds) else []
            if apart:
                result = place.result()
                rows = [replace(rows[-1], step=budget)] if rows and result is not None and result.error is None else []
            if rows:
                seeds.setdefault(place.seed, {}).update((row.step, row) for row in rows)
    return {seed: [rows[step] for step in sorted(rows)] for seed, rows in seeds.items()}


def _titles(groups: list[_Group]) -> list[str]:
    """A name for each method, with the settings that tell it from others of the same name on the same task."""
    titles = []
    for group in groups:
        rivals = [g for g in groups if g.method == group.method and g.settings["task"] == group.settings["task"]]
        keys = [k for k in group.settings if len({repr(g.settings.get(k)) for g in rivals}) > 1]
        differing = ", ".join(f"{key}={group.settings[key]}" for key in keys[:3])
        same_text = any(g is not group and not keys for g in rivals)
        differing = differing or (group.folders[0].name if same_text else "")
        titles.append(f"{group.method} ({differing})" if differing else group.method)
    return titles
