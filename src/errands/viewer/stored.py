"""Run folders as the viewer reads them: the replay of a seed, the curves of runs, and how far a run has come."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from errands.analysis.curve import curve_of
from errands.errors import StoreError
from errands.runs import checkpoint as checkpoints
from errands.runs.checkpoint import HEADER, parse
from errands.runs.documents import RunDocument
from errands.runs.folder import RunFolder, SeedFolder, live
from errands.runs.train import known_optimum, learner_of
from errands.tables import Evaluation
from errands.viewer.gathering import MARKS, Shown, curves_document, exact_of, history, look, optimal_of
from errands.viewer.replay import Replay, replay_of

TAIL = 4_096
TRIES = 3


def name_of(known: RunDocument) -> str:
    """What a run's method is called."""
    return f"{known.learner} ({known.machine})" if known.machine else known.learner


def replay_stored(run: RunFolder, seed: int | None = None, marks: int = MARKS) -> Replay:
    """The replay of one seed of a stored run; of a run under way only its newest checkpoint."""
    known, place = run.document, _place(run, seed)
    ended = place.result() if place.begun else None
    if ended is not None and ended.error is not None:
        raise StoreError(f"seed {place.seed} of {run.name} ended in an error: {ended.error}")
    shown: list[Shown] = []
    if ended is not None:
        shown += history(learner_of(known, run.task, place.seed), place.evaluations(), marks)
    if ended is None or not shown or shown[-1][0] < ended.steps:
        shown.append(_newest(run, place))
    best = known_optimum(run.task)
    facts = {
        "run": run.name, "seed": place.seed, "seeds": known.seeds, "steps": known.steps, "optimum": best.length,
        "certificate": ended.certificate if ended else None, "finished": ended is not None,
    }  # fmt: skip
    curves = curves_of([run])
    optimal = optimal_of(run.task, best)
    return replay_of(run.task, name_of(known), shown, optimal, exact_of(run.task), facts, curves)


def _place(run: RunFolder, seed: int | None) -> SeedFolder:
    """The folder of the seed that was asked for, or of the first that has something to show."""
    known = run.document.seeds
    if seed is None:
        seed = next((f.seed for f in run.seeds() if f.begun and checkpoints.steps(f.path)), known[0])
    if seed not in known:
        raise StoreError(f"{run.name} has no seed {seed}; it has {', '.join(map(str, known[:20]))}")
    return run.seed(seed)


def _newest(run: RunFolder, place: SeedFolder) -> Shown:
    found = checkpoints.newest(place.path, place.seed) if place.begun else None
    if found is None:
        raise StoreError(f"seed {place.seed} of {run.name} has no checkpoint yet; wait a few seconds")
    learner = learner_of(run.document, run.task, place.seed)
    learner.restore(found.arrays)
    return look(learner)


def evaluations_of(place: SeedFolder) -> list[Evaluation]:
    """All evaluations that can be read of a seed, whether it has ended or not."""
    if not place.begun or not place.table.exists():
        return []
    for attempt in range(TRIES):
        try:
            return place.evaluations() if place.result() is not None else live(place)
        except StoreError:  # a table that grows while it is read is read again
            if attempt == TRIES - 1:
                raise
            time.sleep(0.05)
    return []


def curves_of(runs: Sequence[RunFolder], points: int = 400) -> dict[str, Any] | None:
    """The learning curves of some runs; None before the first evaluation."""
    found = []
    for run in runs:
        rows, seconds = [], []
        for place in run.seeds():
            if evaluations := evaluations_of(place):
                rows.append(evaluations)
                seconds.append(_seconds(place, evaluations[-1].step))
        if rows:
            name = name_of(run.document) if len(runs) == 1 else f"{run.name}: {name_of(run.document)}"
            best = known_optimum(run.task).length
            found.append((curve_of(name, run.document.task, rows, best), seconds))
    return curves_document(found, points) if found else None


def _seconds(place: SeedFolder, step: int) -> float:
    """The seconds that a seed took to come to a step, by its result or its newest checkpoint."""
    result = place.result()
    if result is not None:
        return result.wall_seconds
    stored = checkpoints.documents(place.path)
    return stored[0].seconds * step / max(stored[0].step, 1) if stored else 0.0


def _last(place: SeedFolder) -> Evaluation | None:
    """The last evaluation that was stored; only the end of a long table is read."""
    try:
        with open(place.table, "rb") as table:
            table.seek(max(0, table.seek(0, 2) - TAIL))
            lines = table.read(TAIL).split(b"\n")[1:-1]
    except FileNotFoundError:
        return None
    whole = HEADER + lines[-1] + b"\n" if lines and not lines[-1].startswith(b"step") else HEADER
    return next(iter(parse(whole, place.table)), None)


def progress_of(run: RunFolder) -> dict[str, Any]:
    """How far each seed of a run has come."""
    seeds = []
    for place in run.seeds():
        result = place.result() if place.begun else None
        last = _last(place)
        seeds.append({
            "seed": place.seed, "step": last.step if last else 0, "length": last.episode_length if last else None,
            "success": bool(last and last.success), "ended": result is not None,
            "error": result.error if result else None,
            "checkpoint": next(iter(checkpoints.steps(place.path)), None) if place.begun else None,
        })  # fmt: skip
    return {"run": run.name, "steps": run.document.steps, "finished": all(s["ended"] for s in seeds), "seeds": seeds}
