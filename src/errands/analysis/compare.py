"""Runs side by side: stored runs and sweeps gathered into one curve for each task and method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from errands.analysis.curve import APART, Curve, curve_of
from errands.errors import StoreError
from errands.runs.documents import ResultDocument
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
        group = groups.setdefault((folder.document.task_sha256, repr(settings)), _Group(folder, settings))
        group.add(folder)
    found = [group for group in groups.values() if group.seeds]
    if not found:
        raise StoreError("these runs have no evaluations yet; wait for the first checkpoint, or 'errands resume' them")
    titles = _titles(found)
    return [group.made(title) for group, title in zip(found, titles, strict=True)]


def _folders(names: Iterable[str]) -> Iterator[RunFolder]:
    for path in dict.fromkeys(find(name) for name in names):
        if not (path / SWEEP).is_file():
            yield open_run(path)
            continue
        sweep = open_sweep(path)
        cells: list[Path] = [sweep.cell(cell) for cell in sweep.document.cells if sweep.head(cell) is not None]
        yield from map(open_run, cells)


def _settings(folder: RunFolder) -> dict[str, Any]:
    known = folder.document
    return {
        "task": known.task, "learner": known.learner, "machine": known.machine, "preset": known.preset,
        "steps": known.steps, **known.config,
    }  # fmt: skip


class _Group:
    """Run folders that differ in their seeds only."""

    def __init__(self, folder: RunFolder, settings: dict[str, Any]) -> None:
        self.folder, self.settings = folder, settings
        self.seeds: dict[int, list[Evaluation]] = {}
        self.results: list[ResultDocument] = []

    @property
    def method(self) -> str:
        """Learner and machine."""
        known = self.folder.document
        return f"{known.learner} {known.machine}" if known.machine else known.learner

    def add(self, folder: RunFolder) -> None:
        """Take in the seeds of a folder; the same seed with the same settings is the same run and counts once."""
        for place in folder.seeds():
            rows = place.evaluations() if place.begun and place.seed not in self.seeds else []
            if rows:
                self.seeds[place.seed] = rows
                self.results += [result] if (result := place.result()) is not None else []

    def made(self, title: str) -> Compared:
        """The group as a value."""
        best = next((r.optimum for r in self.results if r.optimum is not None), None)
        document = self.folder.document
        curve = curve_of(title, document.task, list(self.seeds.values()), best, document.learner in APART)
        seconds = tuple(r.wall_seconds / r.steps * 1e6 for r in self.results if r.steps)
        return Compared(curve, self.settings, seconds, len(self.folder.task.machine.subtasks))


def _titles(groups: list[_Group]) -> list[str]:
    """A name for each method, with the settings that tell it from others of the same name on the same task."""
    titles = []
    for group in groups:
        rivals = [g for g in groups if g.method == group.method and g.settings["task"] == group.settings["task"]]
        keys = [k for k in group.settings if len({repr(g.settings.get(k)) for g in rivals}) > 1]
        told = ", ".join(f"{key}={group.settings[key]}" for key in keys[:3])
        same_text = any(g is not group and not keys for g in rivals)
        told = told or (group.folder.name if same_text else "")
        titles.append(f"{group.method} ({told})" if told else group.method)
    return titles
