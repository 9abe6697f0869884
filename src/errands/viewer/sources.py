"""From runs to what the page shows: replays at several moments of training, policy maps, curves, progress."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from errands.analysis.curve import Curve, curve_of
from errands.errors import ErrandsError, StoreError
from errands.learners.base import Learner
from errands.machines.counting import size
from errands.oracle.episode import Policy
from errands.oracle.optimum import Optimum, steps_to_go
from errands.plots.curves import length_band, success_band
from errands.plots.figures import FIGURES, Trained
from errands.plots.maps import PolicyMap, policy_maps
from errands.runs import checkpoint as checkpoints
from errands.runs.checkpoint import HEADER, parse
from errands.runs.documents import narrowest
from errands.runs.files import read_end
from errands.runs.folder import RunFolder, SeedFolder, live
from errands.runs.run import Run, best_length
from errands.runs.train import known_optimum, stored_learner, stored_run
from errands.tables import Evaluation, Floats
from errands.tasks.task import Task
from errands.viewer.replay import Recording, Replay, record, replay_of

Map = dict[str, Any]


def maps_of(task: Task, policy: Policy, learner: Learner | None) -> list[Map]:
    """What the policy does in each cell, one map for each objective or stage; none for worlds without cells."""
    if task.layout is None or task.finite is None or task.finite.states != task.layout.cells:
        return []
    try:
        drawn = policy_maps(task, policy, learner)
    except KeyError:  # the oracle's plan knows only the states on its way
        return []
    return [_map(shown, drawn.deadly) for shown in drawn.maps]


def _map(shown: PolicyMap, dead: Collection[int]) -> Map:
    values = None if shown.values is None else _plain(shown.values, dead)
    return {"name": shown.name, "actions": [-1 if c in dead else a for c, a in enumerate(shown.actions)], "values": values}


def _plain(values: Sequence[float], dead: Collection[int]) -> list[float | None]:
    return [float(f"{v:.4g}") if np.isfinite(v) and c not in dead else None for c, v in enumerate(values)]


EARLY_FRAMES = 150
"""Frames kept of an episode before the last that did not succeed."""
DEEP_MOMENTS = 5
"""Moments that are shown of a run with networks, the latest."""
MAX_EXACT = 400_000
MAX_TASKS = 32
Shown = tuple[int, Recording, Mapping[str, float], Sequence[dict[str, Any]]]


def replay_run(run: Run, moments: Sequence[Shown] = ()) -> Replay:
    """The replay of a run that was trained in this process; `moments` are looks at its learner on the way."""
    best = best_length(run.task)
    recorded = record(run.task, run.policy, run.seed)
    last: Shown = (run.steps, recorded, run.steps_to_go, maps_of(run.task, run.policy, None))
    shown = [*(moment for moment in moments if moment[0] < run.steps), last]
    facts = {"seed": run.seed, "steps": run.steps, "optimum": best.length, "certificate": run.certificate.summary}
    claim = run.certificate.claim
    bounds = claim.as_json() if claim is not None and claim.says_something and best.length is None else None
    curve = curve_of(run.learner, run.task.name, [run.evaluations], best.length, bounds=bounds)
    curves = curves_document([curve])
    replay = replay_of(run.task, run.learner, shown, optimal_of(run.task, best), exact_of(run.task), facts, curves)
    return replace(replay, figures=_figures(Trained(run.task, run.trained, run.learner)))


def _figures(trained: Trained) -> tuple[dict[str, str], ...]:
    """The figures of one seed that the page has no module for; those that this task cannot have are left out."""
    drawn = []
    for figure in FIGURES.values():
        if figure.of == "run" and not figure.script:
            with suppress(ErrandsError):
                drawn.append({"name": figure.name, "about": figure.about, "svg": figure.svg(trained)})
    return tuple(drawn)


def moments_of(run: RunFolder, place: SeedFolder) -> Iterator[Shown]:
    """A seed before it learnt anything, and at the moments that were stored while it trained."""
    learner, tables = run.request.new_learner(place.seed), run.task.finite is not None
    yield look(learner, final=False)
    stored = list(checkpoints.moments(place.path))
    # An episode of a network takes a while, and so do its pictures.
    for step, arrays in stored if tables else stored[-DEEP_MOMENTS:]:
        # Another table each time: what the one before had looked up about its policy would still be in it.
        learner = run.request.new_learner(place.seed) if tables else learner
        learner.act_by(arrays)
        yield step, *look(learner, final=False)[1:]


def look(learner: Learner, final: bool = True) -> Shown:
    """What a learner does now."""
    task, policy = learner.task, learner.policy
    recording = record(task, policy, learner.seed)
    if not final and not recording.success and len(recording.moments) > EARLY_FRAMES:
        first = recording.moments[: EARLY_FRAMES + 1]
        recording = Recording(first, False, True, recording.length)
    return learner.step, recording, dict(learner.steps_to_go), maps_of(task, policy, learner)


def optimal_of(task: Task, best: Optimum) -> Recording | None:
    """The optimum as an episode, where it is known."""
    if best.policy is None or best.length is None:
        return None
    return record(task, best.policy)


def exact_of(task: Task) -> dict[str, float]:
    """The exact steps to go where they are quickly found."""
    if task.finite is None or not task.finite.certain:
        return {}
    try:
        if size(task.machine).agenda * task.finite.states > MAX_EXACT:
            return {}
        return steps_to_go(task)
    except ErrandsError:
        return {}


def curves_document(curves: Sequence[Curve], points: int = 400) -> dict[str, Any]:
    """Learning curves as the page draws them: quartiles, and every seed."""
    lines = []
    for whole in curves:
        curve = whole.thinned(points)
        rows = [_finite(row) for row in curve.lengths]
        low, median, high = (_finite(row) for row in length_band(curve))
        ends = dict(zip(("success_low", "success_high"), (row.tolist() for row in success_band(curve)), strict=False))
        lines.append({
            "name": curve.name, "steps": curve.steps.tolist(), "low": low, "median": median, "high": high,
            "failed": (1.0 - curve.success.mean(axis=0)).tolist(), "chance": curve.chances is not None, **ends, "seeds": rows,
        })  # fmt: skip
    known = [c.optimum for c in curves if c.optimum is not None]
    bounds = narrowest(c.bounds for c in curves)
    return {"task": curves[0].task, "optimum": min(known) if known else None, "bounds": bounds, "lines": lines}


def _finite(row: Floats) -> list[float | None]:
    return [None if np.isinf(x) else float(x) for x in row]


TAIL = 4_096


def replay_stored(run: RunFolder, seed: int | None = None, best: bool = False) -> Replay:
    """The replay of one seed of a stored run, from before it learnt anything to its newest checkpoint or best evaluation."""
    known, place = run.document, _place(run, seed)
    ended = place.result() if place.begun else None
    if ended is not None and ended.error is not None:
        raise StoreError(f"seed {place.seed} of {run.name} ended in an error: {ended.error}")
    kept = stored_run(run, place.seed, best=True) if best else None
    learner = kept.trained if kept and kept.trained else stored_learner(run, place.seed)[0]
    last = look(learner)
    shown = [*(moment for moment in moments_of(run, place) if moment[0] < last[0]), last]
    optimum = known_optimum(run.task)
    facts = {
        "run": run.name, "seed": place.seed, "seeds": known.seeds, "steps": known.steps, "optimum": optimum.length,
        "certificate": kept.summary if kept else ended.certificate if ended else None, "finished": ended is not None,
        "diagnosis": ended.diagnosis.model_dump(include={"says", "advice"}) if ended and ended.diagnosis else None,
    }  # fmt: skip
    replay = replay_of(run.task, known.method, shown, *_best_of(run.task, optimum), facts, curves_of([run]))
    return replace(replay, figures=_figures(Trained(run.task, learner, f"{known.learner}, seed {place.seed}")))


_BEST: OrderedDict[str, tuple[Recording | None, dict[str, float]]] = OrderedDict()


def _best_of(task: Task, best: Optimum) -> tuple[Recording | None, dict[str, float]]:
    """The optimal episode and the exact steps to go, computed once for all runs on a task."""
    text = task.to_toml()
    if text not in _BEST:
        _BEST[text] = (optimal_of(task, best), exact_of(task))
        while len(_BEST) > MAX_TASKS:
            _BEST.popitem(last=False)
    return _BEST[text]


def _place(run: RunFolder, seed: int | None) -> SeedFolder:
    """The folder of the seed that was asked for, or of the first that has something to show."""
    if seed is None:
        seed = next((f.seed for f in run.seeds() if f.begun and checkpoints.steps(f.path)), None)
    return run.seed(run.known_seed(seed))


def evaluations_of(place: SeedFolder) -> list[Evaluation]:
    """All evaluations that can be read of a seed, whether it has ended or not."""
    if not place.begun or not place.table.exists():
        return []
    return place.evaluations() if place.result() is not None else live(place)


def curves_of(runs: Sequence[RunFolder], points: int = 400) -> dict[str, Any] | None:
    """The learning curves of some runs; None before the first evaluation."""
    curves = []
    for run in runs:
        rows = [rows for place in run.seeds() if (rows := evaluations_of(place))]
        if rows:
            name = run.document.method if len(runs) == 1 else f"{run.name}: {run.document.method}"
            # In Water it takes seconds to find: the page of many runs shows what ended runs know of it.
            ended = (result.optimum for result in run.results() if result.optimum is not None)
            best = next(ended, None) if run.task.finite is None else known_optimum(run.task).length
            bounds = narrowest(result.known_bounds for result in run.results())
            curves.append(curve_of(name, run.document.task, rows, best, bounds=bounds))
    return curves_document(curves, points) if curves else None


def _last(place: SeedFolder) -> Evaluation | None:
    """The last evaluation that was stored; only the end of a long table is read."""
    if not place.table.exists():
        return None
    # The first piece is the header or may begin within a line, the last one is empty or still being written.
    lines = read_end(place.table, TAIL).split(b"\n")[1:-1]
    if not lines or lines[-1].startswith(b"step"):
        return None
    return next(iter(parse(HEADER + lines[-1] + b"\n", place.table)), None)


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
