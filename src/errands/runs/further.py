"""Training further: a stored run is given a larger total, or a run of this process goes on; schedules stay as they were begun."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from errands.errors import ConfigError, StoreError
from errands.learners import method_of
from errands.learners.base import LearnerConfig
from errands.learners.presets import Settings, as_document, with_settings
from errands.runs.checkpoint import newest
from errands.runs.documents import ExtensionDocument, write_document
from errands.runs.folder import HEAD, SWEEP, RunFolder, open_run
from errands.runs.request import Request, for_steps
from errands.runs.run import Run
from errands.runs.train import NullStore, Restored, Together, leave_out_odd, train
from errands.runs.watch import Watcher, stops_of

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


class _Memory(NullStore):
    """A run of this process as what its seed goes on from."""

    def __init__(self, run: Run, renewed: bool) -> None:
        self.run, self.renewed = run, renewed

    def restore(self, learners: Together) -> Restored:
        run = self.run
        if run.trained is None:
            raise StoreError("this run has no learner in it; open it from its folder with errands.open")
        learners.restore([run.trained.save()])
        kept = replace(run.kept, since=0) if run.kept is not None else None
        rows = list(run.evaluations)
        if not self.renewed:
            leave_out_odd(rows, learners.members[0])
        return Restored([rows], run.wall_seconds, run.trained.stopwatch.estimate(run.trained.step), (), [kept])


def go_on(run: Run, steps: int, settings: Settings, watchers: Sequence[Watcher]) -> Run:
    """A run of this process, trained to a larger total."""
    if method_of(run.learner).evaluated_at_end:
        raise ConfigError(SHARED_OUT.format(run.learner))
    config: Any = with_settings(run.config, settings, run.learner)
    request = Request.of(run.task, run.learner, run.machine, steps=steps, seeds=(run.seed,), config=config)
    (more,) = train(replace(request, preset=run.preset), (run.seed,), _Memory(run, config != run.config), watchers=watchers)
    return replace(more, start=run.start, unknown=run.unknown)

