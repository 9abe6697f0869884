"""One seed of a run folder: trained from its newest checkpoint on, stored as it goes, and judged at the end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from errands.errors import StoreError
from errands.experiments.run import Run, best_length, judge
from errands.experiments.settings import with_values
from errands.learners import make_learner
from errands.learners.base import Learner
from errands.learners.presets import config_of
from errands.oracle.optimum import Optimum
from errands.records import Evaluation
from errands.results.checkpoint import Checkpoint, write_checkpoint
from errands.results.documents import CheckpointDocument, ResultDocument, RunDocument
from errands.results.evaluations import render
from errands.results.files import digest
from errands.results.run_folder import RunFolder
from errands.results.seed_folder import SeedFolder, Table
from errands.tasks.task import Task

BEAT = 0.2
"""Seconds between two reports of progress."""


@dataclass(frozen=True)
class Beat:
    """Where a seed stands."""

    key: str
    seed: int
    step: int
    steps: int
    length: int | None
    success: bool
    rate: float
    """Training steps per second since it was begun or resumed."""


Report = Callable[[Beat], None]


def learner_of(document: RunDocument, task: Task, seed: int) -> Learner:
    """The learner of a stored run, untrained."""
    config = with_values(config_of(document.learner, document.preset, task), document.config)
    return make_learner(task, document.learner, seed, document.machine, config, document.preset)


@lru_cache(maxsize=64)
def known_optimum(text: str) -> Optimum | None:
    """The optimum of a task file, computed once in a process; None where it cannot be computed."""
    return best_length(Task.from_toml(text))


def train_seed(run: RunFolder, seed: int, report: Report, key: str = "") -> ResultDocument:
    """Train one seed to its end, from where it was left; an ended seed is only checked."""
    place = run.seed(seed)
    with place.locked():
        ended = _ended(place)
        return ended or _continue(run, place, report, key or run.name)


def _ended(place: SeedFolder) -> ResultDocument | None:
    """The result of a seed that needs no more work: it ended without an error and its files are good."""
    try:
        result = place.result()
        if result is None or result.error is not None:
            return None
        place.evaluations()
    except StoreError:
        return None
    return result


def _continue(run: RunFolder, place: SeedFolder, report: Report, key: str) -> ResultDocument:
    document, began = run.document, time.perf_counter()
    found = place.newest()
    learner = learner_of(document, run.task, place.seed)
    evaluations = list(found.evaluations) if found else []
    if found:
        _restore(learner, found, place)
    spent, first = (found.document.seconds if found else 0.0), learner.step
    stored = found.document if found else None
    saved_at = shown_at = began

    def save(table: Table, before: CheckpointDocument | None) -> CheckpointDocument:
        table.sync()
        seconds = spent + time.perf_counter() - began
        return write_checkpoint(place.path, place.seed, learner.step, learner.save(), evaluations, seconds, before)

    with place.table_from(evaluations) as table:
        for evaluation in learner.train(document.steps):
            evaluations.append(evaluation)
            table.add(evaluation)
            now = time.perf_counter()
            if now - shown_at >= BEAT:
                shown_at = now
                table.show()
                rate = (learner.step - first) / (now - began)
                report(_beat(key, place.seed, document.steps, evaluation, rate))
            if now - saved_at >= document.checkpoint_seconds and learner.step < document.steps:
                stored = save(table, stored)
                saved_at = time.perf_counter()
        if stored is None or stored.step != learner.step:
            stored = save(table, stored)
    seconds = spent + time.perf_counter() - began
    best = known_optimum(run.task.to_toml())
    judged = judge(learner, document.learner, document.machine, document.preset, tuple(evaluations), seconds, best)
    result = _result(judged, best, stored)
    place.end(result)
    report(_beat(key, place.seed, learner.step, evaluations[-1], (learner.step - first) / max(1e-9, seconds - spent)))
    return result


def _beat(key: str, seed: int, steps: int, evaluation: Evaluation, rate: float) -> Beat:
    return Beat(key, seed, evaluation.step, steps, evaluation.episode_length, evaluation.success, rate)


def _restore(learner: Learner, found: Checkpoint, place: SeedFolder) -> None:
    try:
        learner.restore(found.arrays)
    except (KeyError, ValueError, IndexError, TypeError, OverflowError) as fault:
        raise StoreError(
            f"{place.path} has a checkpoint that does not fit its settings ({type(fault).__name__}: {str(fault)[:100]}); "
            "remove that folder to train the seed from the start"
        ) from None


def _result(run: Run, best: Optimum | None, stored: CheckpointDocument) -> ResultDocument:
    table = render(run.evaluations)
    row = run.summary(best.length if best else None)
    claim = run.certificate.claim if run.certificate else None
    return ResultDocument(
        **row,
        optimum=best.length if best and best.length is not None and math.isfinite(best.length) else None,
        proved=bool(claim and claim.proved),
        proved_step=claim.step if claim and claim.proved else None,
        evaluations_bytes=len(table),
        evaluations_sha256=digest(table),
        checkpoint_sha256=stored.arrays_sha256,
    )


def failed(seed: int, fault: BaseException, seconds: float = 0.0) -> ResultDocument:
    """The record of a seed that could not be trained."""
    return ResultDocument(seed=seed, steps=0, wall_seconds=seconds, error=f"{type(fault).__name__}: {fault}"[:2000])
