"""One seed of a run folder: trained from its newest checkpoint on, stored as it goes, and judged at the end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from errands.errors import StoreError
from errands.learners import make_learner
from errands.learners.base import Learner
from errands.learners.presets import config_of
from errands.oracle.optimum import Optimum
from errands.runs.checkpoint import Checkpoint, render, write_checkpoint
from errands.runs.documents import CheckpointDocument, ResultDocument, RunDocument
from errands.runs.files import digest
from errands.runs.folder import RunFolder, SeedFolder, Table
from errands.runs.run import Run, best_length, judge
from errands.tables import Evaluation
from errands.tasks.task import Task

BEAT = 0.2
"""Seconds between two reports of progress."""


@dataclass(frozen=True)
class Job:
    """One seed of one run folder, and what it is called."""

    path: Path
    seed: int
    task: str
    learner: str


@dataclass(frozen=True)
class Beat:
    """Where a seed stands."""

    step: int
    steps: int
    last: Evaluation | None
    """The evaluation that was just made, if any."""
    rate: float
    """Training steps per second since it was begun or resumed."""
    best: float | None
    """The optimum, where it is known."""
    note: str = ""
    """Something that the user should know."""


Report = Callable[[Beat], None]


def jobs_of(run: RunFolder) -> list[Job]:
    """One job for each seed of a run."""
    known = run.document
    name = f"{known.learner} ({known.machine})" if known.machine else known.learner
    return [Job(run.path, seed, known.task, name) for seed in known.seeds]


def learner_of(document: RunDocument, task: Task, seed: int) -> Learner:
    """The learner of a stored run, untrained."""
    config = config_of(document.learner, document.preset, task, document.config)
    return make_learner(task, document.learner, seed, document.machine, config)


@lru_cache(maxsize=64)
def known_optimum(text: str) -> Optimum:
    """The optimum of a task file, computed once in a process."""
    return best_length(Task.from_toml(text))


@lru_cache(maxsize=256)
def _warm(learner: str, machine: str | None, text: str) -> None:
    """Have the kernels of a tabular learner compiled before any clock runs."""
    task = Task.from_toml(text)
    if task.finite is not None:
        made = make_learner(task, learner, 0, machine)
        made.advance(1)
        made.evaluate()


def train_seed(run: RunFolder, seed: int, report: Report) -> ResultDocument:
    """Train one seed to its end, from where it was left; an ended seed is only checked."""
    place = run.seed(seed)
    with place.locked():
        ended = ended_well(place)
        if ended is not None:
            return ended
        _warm(run.document.learner, run.document.machine, run.task.to_toml())
        return _Training(run, place, report).finish()


def ended_well(place: SeedFolder) -> ResultDocument | None:
    """The result of a seed that needs no more work: it ended without an error and its files are good."""
    try:
        result = place.result()
        if result is None or result.error is not None:
            return None
        place.evaluations()
    except StoreError:
        return None
    return result


class _Training:
    """A seed under way."""

    def __init__(self, run: RunFolder, place: SeedFolder, report: Report) -> None:
        self.document, self.place, self.report = run.document, place, report
        found = place.newest()
        self.best = known_optimum(run.task.to_toml())
        self.began = time.perf_counter()
        self.learner = learner_of(run.document, run.task, place.seed)
        self.evaluations = list(found.evaluations) if found else []
        self.stored = found.document if found else None
        self.known = len(self.evaluations)
        """The evaluations in the newest checkpoint."""
        self.before = found.document.seconds if found else 0.0
        if found:
            _restore(self.learner, found, place)
        self.first = self.learner.step
        steps = run.document.steps
        if (most := self.learner.predicted(steps)) != steps:
            said = f"seed {place.seed} takes {most:,} of {steps:,} steps at most"
            report(Beat(self.first, steps, None, 0.0, self.best.length, said))
        for note in found.notes if found else ():
            said = f"{note}; going on from step {self.first:,} instead"
            report(Beat(self.first, steps, None, 0.0, self.best.length, said))

    @property
    def seconds(self) -> float:
        """The time spent on this seed, interruptions left out."""
        return self.before + time.perf_counter() - self.began

    def finish(self) -> ResultDocument:
        """Train to the end, judge, and store the result."""
        steps, shown, saved = self.document.steps, self.began, self.began
        with self.place.table_from(self.evaluations) as table:
            for evaluation in self.learner.stages(steps):
                if evaluation is not None:
                    table.add(evaluation)
                now = time.perf_counter()
                if now - shown >= BEAT:
                    shown = now
                    table.show()
                    self.report(self._beat(evaluation))
                if now - saved >= self.document.checkpoint_seconds and self.learner.step < steps:
                    self._save(table)
                    saved = time.perf_counter()
            if self.stored is None or (self.stored.step, self.known) != (self.learner.step, len(self.evaluations)):
                self._save(table)
        known = self.document
        rows, seconds = tuple(self.evaluations), self.seconds
        run = judge(self.learner, known.learner, known.machine, known.preset, rows, seconds, self.best)
        result = _result(run, self.best.length, self.stored)
        self.place.end(result)
        return result

    def _save(self, table: Table) -> None:
        table.sync()
        place, learner = self.place, self.learner
        self.stored = write_checkpoint(
            place.path, place.seed, learner.step, learner.save(), self.evaluations, self.seconds, self.stored
        )
        self.known = len(self.evaluations)

    def _beat(self, evaluation: Evaluation | None) -> Beat:
        step, steps = self.learner.step, self.document.steps
        rate = (step - self.first) / (time.perf_counter() - self.began)
        return Beat(evaluation.step if evaluation else step, steps, evaluation, rate, self.best.length)


def _restore(learner: Learner, found: Checkpoint, place: SeedFolder) -> None:
    try:
        learner.restore(found.arrays)
    except (KeyError, ValueError, IndexError, TypeError, OverflowError) as fault:
        raise StoreError(
            f"the checkpoint in {place.path} does not fit the settings ({type(fault).__name__}: {str(fault)[:100]}); "
            "remove that folder to train the seed from the start"
        ) from None


def _result(run: Run, length: float | None, stored: CheckpointDocument | None) -> ResultDocument:
    table = render(run.evaluations)
    claim = run.certificate.claim if run.certificate else None
    return ResultDocument(
        **run.summary(length),
        optimum=length if length is not None and math.isfinite(length) else None,
        proved=bool(claim and claim.proved),
        proved_step=claim.step if claim and claim.proved else None,
        evaluations_bytes=len(table),
        evaluations_sha256=digest(table),
        checkpoint_sha256=stored.arrays_sha256 if stored else None,
    )


def failed(seed: int, fault: BaseException, seconds: float = 0.0) -> ResultDocument:
    """The record of a seed that could not be trained."""
    said = str(fault) if isinstance(fault, StoreError) else f"{type(fault).__name__}: {fault}"
    return ResultDocument(seed=seed, steps=0, wall_seconds=seconds, error=said[:2000])
