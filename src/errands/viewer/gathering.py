"""From a run to its replay: the policy at several moments of training, recorded and laid beside the optimum."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from errands.analysis.curve import Curve, curve_of
from errands.errors import ErrandsError, TaskError
from errands.learners import make_learner
from errands.learners.base import Learner
from errands.oracle.episode import Policy
from errands.oracle.optimum import Optimum
from errands.oracle.steps_to_go import steps_to_go
from errands.runs.run import Run, best_length
from errands.tables import Evaluation, Floats
from errands.tasks.task import Task
from errands.viewer.maps import maps_of
from errands.viewer.recording import Recording, record
from errands.viewer.replay import Replay, replay_of

MARKS = 10
"""How many moments of training are shown."""
PATIENCE = 8.0
"""Seconds that may be spent on training again to see those moments."""
EARLY_FRAMES = 150
"""Frames kept of an episode before the last that did not succeed."""
MOST_EXACT = 400_000
Shown = tuple[int, Recording, Mapping[str, float], Sequence[dict[str, Any]]]


def replay_run(run: Run, marks: int = MARKS) -> Replay:
    """The replay of a run that was trained in this process."""
    best = best_length(run.task)
    again = make_learner(run.task, run.learner, run.seed, run.machine, run.config, run.preset)
    shown: list[Shown] = list(history(again, run.evaluations, marks))
    recorded = record(run.task, run.policy, run.seed)
    last: Shown = (run.steps, recorded, run.steps_to_go, maps_of(run.task, run.policy, None, recorded))
    shown = [*shown, last] if not shown or shown[-1][0] < run.steps else shown
    said = run.certificate.words if run.certificate else None
    facts = {"seed": run.seed, "steps": run.steps, "optimum": best.length, "certificate": said}
    curve = curve_of(run.learner, run.task.name, [run.evaluations], best.length)
    curves = curves_document([(curve, [run.wall_seconds])])
    return replay_of(run.task, run.learner, shown, optimal_of(run.task, best), exact_of(run.task), facts, curves)


def replay_policy(task: Task, policy: Policy, name: str = "policy", seed: int = 0) -> Replay:
    """The replay of any policy, learnt or written by hand."""
    best = best_length(task)
    facts = {"seed": seed, "steps": 0, "optimum": best.length, "certificate": None}
    recorded = record(task, policy, seed)
    shown: list[Shown] = [(0, recorded, {}, maps_of(task, policy, None, recorded))]
    return replay_of(task, name, shown, optimal_of(task, best), exact_of(task), facts)


def history(learner: Learner, evaluations: Sequence[Evaluation], marks: int = MARKS) -> Iterator[Shown]:
    """Train a fresh learner again, from its seed, and look at it at some of the steps at which it was evaluated."""
    began = time.monotonic()
    if type(learner).train is not Learner.train:  # it trains in its own way and is one whole run for each budget
        return
    for step in chosen_steps([e.step for e in evaluations], marks):
        if learner.task.finite is None or time.monotonic() - began > PATIENCE:
            return
        every = learner.config.eval_every
        while learner.step < step:
            learner.advance(min((learner.step // every + 1) * every, step) - learner.step)
            learner.evaluate()
            if time.monotonic() - began > PATIENCE:
                return
        yield look(learner, final=step == evaluations[-1].step)


def look(learner: Learner, final: bool = True) -> Shown:
    """What a learner does now."""
    task, policy = learner.task, learner.policy
    recording = record(task, policy, learner.seed)
    if not final and not recording.success and len(recording.moments) > EARLY_FRAMES:
        kept = recording.moments[: EARLY_FRAMES + 1]
        recording = Recording(kept, False, True, recording.length)
    return learner.step, recording, dict(learner.steps_to_go), maps_of(task, policy, learner, recording)


def chosen_steps(steps: Sequence[int], marks: int) -> list[int]:
    """At most `marks` of the evaluated steps, evenly spread on a logarithmic axis, first and last included."""
    if len(steps) <= marks:
        return list(steps)
    wanted = np.geomspace(steps[0], steps[-1], marks)
    at = np.unique(np.searchsorted(np.array(steps), wanted - 1e-9).clip(0, len(steps) - 1))
    return [steps[i] for i in at]


def optimal_of(task: Task, best: Optimum) -> Recording | None:
    """The optimum as an episode, where it is known."""
    if best.policy is None or best.length is None:
        return None
    return record(task, best.policy)


def exact_of(task: Task) -> dict[str, float]:
    """The exact steps to go where they are quickly found."""
    from errands.machines.counting import size

    if task.finite is None or not task.finite.certain:
        return {}
    try:
        if size(task.machine).agenda * task.finite.states > MOST_EXACT:
            return {}
        return steps_to_go(task)
    except (TaskError, ErrandsError):
        return {}


def curves_document(curves: Sequence[tuple[Curve, Sequence[float]]], points: int = 400) -> dict[str, Any]:
    """Learning curves as the page draws them: quartiles, every seed, and each seed's seconds to its last step."""
    lines = []
    for whole, seconds in curves:
        curve = whole.thinned(points)
        rows = [_finite(row) for row in curve.lengths]
        low, median, high = (_finite(row) for row in curve.quantiles(0.25, 0.5, 0.75))
        lines.append({
            "name": curve.name, "steps": curve.steps.tolist(), "low": low, "median": median, "high": high,
            "seeds": rows, "ends": list(curve.ends), "seconds": [round(s, 3) for s in seconds],
        })  # fmt: skip
    known = [c.optimum for c, _ in curves if c.optimum is not None]
    return {"task": curves[0][0].task, "optimum": min(known) if known else None, "lines": lines}


def _finite(row: Floats) -> list[float | None]:
    return [None if np.isinf(x) else float(x) for x in row]
