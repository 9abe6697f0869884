"""Runs that begin with what another run has learnt: on another phrase without training, or trained on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from errands.errors import ConfigError, StoreError, TaskError
from errands.learners.base import Learner, Stopwatch
from errands.machines.numeric import NumericRM, numeric_of
from errands.runs.request import Request
from errands.runs.run import Run, best_length, judge
from errands.tasks.phrase_text import parse_phrase
from errands.tasks.task import Task

if TYPE_CHECKING:
    from errands.runs.watch import Watcher

MAX_TITLE = 200


def task_on(task: Task, phrase: NumericRM | Task | str) -> Task:
    """The task of another phrase in the same world; a task is one already."""
    if isinstance(phrase, Task):
        return phrase
    machine = parse_phrase(phrase) if isinstance(phrase, str) else numeric_of(phrase)
    removed = tuple(name for name in task.removed if name in machine.subtasks)
    name = f"{task.name.partition(' on ')[0]} on {machine.phrase or 'a machine'}"
    return Task(name if len(name) <= MAX_TITLE else f"{name[: MAX_TITLE - 3]}...", task.world, machine, removed)


def carried(run: Run, task: Task, seed: int, request: Request | None = None) -> tuple[Learner, Run]:
    """A learner of another task that begins with what a run has learnt, and what that is without any training."""
    if run.trained is None:
        raise StoreError("this run has no learner in it; open it from its folder with errands.open")
    if not run.trained.fits(task.world):
        raise TaskError(f"'{run.task.name}' was learnt in another world than that of '{task.name}'; start from a run in its world")
    least = run.config.step_multiple
    request = request or Request.of(task, run.learner, run.machine, steps=least, seeds=(seed,), config=run.config)
    taken = run.trained.carry(task, request.config, seed)
    taken.learner.stopwatch = Stopwatch()
    judged = judge(taken.learner, request, (taken.learner.measure(),), 0.0, best_length(task))
    start = f"{run.learner} on '{run.task.name}' for {run.steps:,} steps (seed {run.seed}): {taken.uses}"
    return taken.learner, replace(judged, preset=run.preset, start=start, unknown=taken.unknown)


def as_before(start: Run, learner: str | None, machine: str | None, name: str | None) -> tuple[str, str | None]:
    """Learner and machine of the run that another one begins with."""
    if not isinstance(start, Run):
        raise ConfigError(f"start is a {type(start).__name__}; give a run, such as errands.open('NAME')")
    if learner not in (None, start.learner) or machine not in (None, start.machine):
        raise ConfigError(f"start was trained by {start.learner}, and '{learner or machine}' cannot go on from it; leave it out")
    if name is not None:
        raise ConfigError(
            f"name is '{name}', and a run that begins with another's knowledge cannot be trained again from its folder alone; "
            "leave name out, and save() what comes back"
        )
    return start.learner, start.machine


def further(start: Run, request: Request, watchers: Sequence[Watcher]) -> Run:
    """A run of one seed that goes on from what another has learnt."""
    from errands.runs.train import train

    learner, before = carried(start, request.task, request.seeds[0], request)
    if learner.finished:  # what was known is enough for a proof
        return before
    (run,) = train(request, request.seeds, learner=learner, watchers=watchers)
    return replace(run, preset=before.preset, start=before.start, unknown=before.unknown)
