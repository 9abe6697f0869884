"""Going on from what was learnt: a run is given more steps, or another one begins with its knowledge, on another phrase too."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from errands.errors import ConfigError, StoreError, TaskError
from errands.learners import method_of
from errands.learners.base import Learner, LearnerConfig, Stopwatch
from errands.learners.presets import Settings, as_document, with_settings
from errands.machines.numeric import NumericRM, numeric_of
from errands.runs.checkpoint import newest
from errands.runs.documents import ExtensionDocument, write_document
from errands.runs.folder import HEAD, SWEEP, RunFolder, open_run
from errands.runs.request import Request, for_steps
from errands.runs.run import Run, best_length, judge
from errands.runs.train import NullStore, Restored, Together, leave_out_odd, train
from errands.runs.watch import Watcher, stops_of
from errands.tasks.phrases import parse_phrase
from errands.tasks.task import Task

SHARED_OUT = "'{}' shares its steps out before it begins, so a longer run is another one: train it anew with more steps"


def extended(
    folder: RunFolder, steps: int | None, settings: Settings = (), stop_when: Sequence[str] | None = None
) -> RunFolder:
    """The run with a larger total of steps, and with settings that hold from where its seeds are; nothing is trained yet.

    Conditions that have ended a seed go, unless `stop_when` names them again.
    """
    known, request = folder.document, folder.request
    if steps is None:
        if settings or stop_when:
            raise ConfigError(f"{folder.name} goes on as it was asked for; to change that, train it further: give more steps")
        return folder
    _check(folder, steps)
    results = {result.seed: result for result in folder.results()}
    config = with_settings(request.config, settings, known.learner)
    changed = config != request.config
    if changed and not all(seed.done for seed in folder.seeds()):
        first = f"run 'errands resume {folder.name}' first"
        raise ConfigError(f"{folder.name} has not ended, and new settings begin where it ends: {first}")
    if changed:
        _check_settings(folder, request, config)
    if stop_when is None:
        ended = {result.stopped for result in results.values()}
        stop_when = [word for word in known.stop_when if word not in ended]
    before = ExtensionDocument(
        steps=known.steps,
        reached=[results[seed].steps if seed in results else 0 for seed in known.seeds] if changed else [],
        config={name: value for name, value in known.config.items() if as_document(config)[name] != value} if changed else {},
        stop_when=known.stop_when,
    )
    update = {
        "steps": for_steps(steps, config), "config": as_document(config),
        "stop_when": stops_of(stop_when, folder.task, known.learner),
        "extended": [*known.extended, before],
    }  # fmt: skip
    with ExitStack() as locks:
        for place in folder.seeds():
            if place.begun:
                locks.enter_context(place.locked())
        write_document(folder.path / HEAD, known.model_copy(update=update))
    return open_run(folder.path, folder.task)


def _check(folder: RunFolder, steps: int) -> None:
    known = folder.document
    if method_of(known.learner).evaluated_at_end:
        raise ConfigError(SHARED_OUT.format(known.learner))
    if (folder.path.parent / SWEEP).is_file():
        raise ConfigError(f"{folder.path} belongs to a sweep, whose plan says how long it is; copy the run elsewhere")
    if steps <= known.steps:
        asked = f"{folder.name} was asked for {known.steps:,} steps, and {steps:,} is a total too"
        raise ConfigError(f"{asked}; give more than {known.steps:,}")
    if all((result := seed.result()) is not None and result.done(2**53) for seed in folder.seeds()):
        raise ConfigError(f"{folder.name} has nothing left to learn: it ended by itself, with a proof or all found")


def _check_settings(folder: RunFolder, request: Request, config: LearnerConfig) -> None:
    """Refuse settings that what was learnt does not fit, such as another width of networks."""
    place = folder.seed(folder.document.seeds[0])
    checkpoint = newest(place.path, place.seed, place.run)
    learner = replace(request, config=config).new_learner(place.seed)
    try:
        if checkpoint is not None:
            learner.restore(checkpoint.arrays)
    except (StoreError, KeyError, ValueError, IndexError, TypeError) as fault:
        old, new = as_document(request.config), as_document(config)
        names = ", ".join(name for name in new if new[name] != old[name])
        raise ConfigError(f"{names} cannot change in a run that has begun: {str(fault)[:300]}") from None


def schedules(config: LearnerConfig) -> dict[str, str]:
    """The settings that change while a run trains, by their names: a run that goes on keeps them as they are."""
    return {name: value for name, value in as_document(config).items() if isinstance(value, str) and ".." in value}


def kept_schedules(folder: RunFolder) -> str:
    """What to say of a run that was just extended; empty where nothing in it depends on its steps."""
    before, config = folder.document.extended[-1], folder.request.config
    kept = {name: text for name, text in schedules(config).items() if name not in before.config}
    listed = " and ".join(f"{name}={text}" for name, text in kept.items())
    hint = f"it keeps {listed}, as it was begun; --set {next(iter(kept))}=... renews that" if kept else ""
    return f"{folder.name} goes on from {before.steps:,} to {folder.document.steps:,} steps{f'; {hint}' if hint else ''}"


def trained_of(run: Run) -> Learner:
    """The learner of a run."""
    if run.trained is None:
        raise StoreError("this run has no learner in it; open it from its folder with errands.open")
    return run.trained


class _Memory(NullStore):
    """A run of this process as what its seed goes on from."""

    def __init__(self, run: Run, renewed: bool) -> None:
        self.run, self.renewed = run, renewed

    def restore(self, learners: Together) -> Restored:
        run, trained = self.run, trained_of(self.run)
        learners.restore([trained.save()])
        kept = replace(run.kept, since=0) if run.kept is not None else None
        rows = list(run.evaluations)
        if not self.renewed:
            leave_out_odd(rows, learners.members[0])
        return Restored([rows], run.wall_seconds, trained.stopwatch.estimate(trained.step), (), [kept])


def go_on(run: Run, steps: int, settings: Settings, watchers: Sequence[Watcher]) -> Run:
    """A run of this process, trained to a larger total."""
    if method_of(run.learner).evaluated_at_end:
        raise ConfigError(SHARED_OUT.format(run.learner))
    config: Any = with_settings(run.config, settings, run.learner)
    request = Request.of(run.task, run.learner, run.machine, steps=steps, seeds=(run.seed,), config=config)
    (more,) = train(replace(request, preset=run.preset), (run.seed,), _Memory(run, config != run.config), watchers=watchers)
    return replace(more, start=run.start, unknown=run.unknown)


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
    trained = trained_of(run)
    if not trained.fits(task.world):
        raise TaskError(f"'{run.task.name}' was learnt in another world than that of '{task.name}'; start from a run in its world")
    least = run.config.step_multiple
    request = request or Request.of(task, run.learner, run.machine, steps=least, seeds=(seed,), config=run.config)
    taken = trained.carry(task, request.config, seed)
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


def begun_with(start: Run, request: Request, watchers: Sequence[Watcher]) -> Run:
    """A run of one seed that goes on from what another has learnt."""
    learner, before = carried(start, request.task, request.seeds[0], request)
    if learner.finished:  # what was known is enough for a proof
        return before
    (run,) = train(request, request.seeds, learner=learner, watchers=watchers)
    return replace(run, preset=before.preset, start=before.start, unknown=before.unknown)
