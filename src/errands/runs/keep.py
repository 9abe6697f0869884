"""Runs of Python in folders: trained into one, opened from one, saved to one; the same folders that commands write."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from errands.errors import StoreError
from errands.learners.base import Learner, LearnerConfig
from errands.learners.presets import Settings
from errands.runs.checkpoint import Checkpoint, newest
from errands.runs.documents import RunDocument
from errands.runs.folder import HEAD, RUNS, RunFolder, check_name, create, find, open_run
from errands.runs.request import prepare
from errands.runs.run import Run, Watcher, best_length, judge
from errands.runs.train import end_seed, jobs_of, known_optimum, learner_of, train_job
from errands.tasks.task import Task
from errands.worlds.imports import NAMELESS


def train_stored(
    task: Task,
    learner: str,
    steps: int,
    seeds: Sequence[int],
    machine: str | None,
    config: LearnerConfig | None,
    preset: str,
    settings: Settings,
    name: str,
    watcher: Watcher | None,
) -> list[Run]:
    """Train in this process into runs/<name>, and give back what was stored."""
    document = prepare(task, learner, machine, preset, settings, steps, seeds, config=config)
    # A single learner is built before its folder: what it refuses leaves no folder behind.
    student = learner_of(document, task, seeds[0]) if len(seeds) == 1 else None
    return _finished(_created(RUNS / check_name(name), document, task), watcher, student)


def resumed_runs(name: str, task: Task | None, watcher: Watcher | None) -> list[Run]:
    """Train in this process what is left of a run, and give back what is stored then."""
    folder = open_run(_one_run(name), task)
    if folder.changes and not folder.finished:
        changes = "; ".join(folder.changes)
        warnings.warn(f"{folder.name} goes on with other versions than those that began it: {changes}", stacklevel=3)
    return _finished(folder, watcher)


def _finished(folder: RunFolder, watcher: Watcher | None, student: Learner | None = None) -> list[Run]:
    watch = None if watcher is None else (lambda seed, evaluation: watcher(evaluation))
    for job in jobs_of(folder):
        train_job(folder, job, lambda beat: None, student, watch)
    return [stored_run(folder, seed) for seed in folder.document.seeds]


def _one_run(name: str) -> Path:
    """The folder of a run, not of a sweep."""
    path = find(name)
    if not (path / HEAD).is_file():
        raise StoreError(f"{path} is a sweep of several runs; open one of its folders, such as {path}/<cell>")
    return path


def _created(path: Path, document: RunDocument, task: Task) -> RunFolder:
    """A new folder; a warning where its task is made of things that no file can name."""
    folder = create(path, document, task)
    if marks := list(dict.fromkeys(re.findall(f"{NAMELESS}:([^\"]*)", task.stored_text()))):
        warnings.warn(
            f"no file can name {', '.join(marks)}, so commands cannot open {path}; move them as functions into a module that this "
            f"program imports, or open it in Python with its task: errands.open('{path}', task=task)",
            stacklevel=4,
        )
    return folder


def opened_run(name: str, seed: int | None, task: Task | None = None) -> Run:
    """The run of a folder's seed; with `task` where no file can hold it."""
    path = _one_run(name)
    folder = open_run(path, task)
    return stored_run(folder, folder.known_seed(seed))


def stored_learner(folder: RunFolder, seed: int) -> tuple[Learner, Checkpoint]:
    """The learner of a seed as its newest checkpoint has it, and that checkpoint; read only, as the seed may be training."""
    place = folder.seed(seed)
    checkpoint = newest(place.path, seed, place.run) if place.begun else None
    if checkpoint is None:
        raise StoreError(f"{place.path} has no checkpoint yet; type 'errands resume {folder.name}' to train it")
    student = learner_of(folder.document, folder.task, seed)
    try:
        student.restore(checkpoint.arrays)
    except (KeyError, ValueError, IndexError, TypeError, OverflowError) as fault:
        raise StoreError(f"the checkpoint in {place.path} does not fit the settings ({type(fault).__name__})") from None
    return student, checkpoint


def stored_run(folder: RunFolder, seed: int) -> Run:
    """What the newest checkpoint of a seed holds, as a run."""
    known, result = folder.document, folder.seed(seed).result()
    student, checkpoint = stored_learner(folder, seed)
    seconds = result.wall_seconds if result is not None else checkpoint.document.seconds
    best = known_optimum(folder.task)
    run = judge(student, known.learner, known.machine, known.preset, checkpoint.evaluations, seconds, best)
    return replace(run, folder=folder.path)


def copy_run(source: Path, target: Path) -> Path:
    """A copy of a run folder."""
    check_name(target.name)
    if target.exists():
        raise StoreError(f"{target} exists and is never overwritten; choose another path")
    target.parent.mkdir(parents=True, exist_ok=True)
    # Copied under another name and renamed at the end: a kill leaves no half of a run under the wanted name.
    temporary = target.with_name(f".{target.name}.copy")
    shutil.rmtree(temporary, ignore_errors=True)
    # Links stay links: what they name outside the run is not copied in.
    shutil.copytree(source, temporary, symlinks=True)
    temporary.rename(target)
    return target


def store_run(run: Run, target: Path) -> Path:
    """A folder for a run that was trained without one: its settings, evaluations, tables and result."""
    student = run.student
    if student is None:
        raise StoreError("this run has no learner in it and no folder behind it, so nothing can be saved")
    document = prepare(
        run.task, run.learner, run.machine, settings=(), steps=max(run.steps, 1), seeds=(run.seed,), config=run.config
    )
    document = document.model_copy(update={"preset": run.preset})
    folder = _created(target, document, run.task)
    end_seed(folder, run, student, best_length(run.task))
    return folder.path
