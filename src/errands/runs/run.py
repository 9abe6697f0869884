"""One run: a task, a learner and a seed, trained and judged."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from errands.errors import TaskError
from errands.learners import default_learner, machine_of, make_learner
from errands.learners.base import Learner, LearnerConfig
from errands.learners.presets import Settings
from errands.oracle.certificate import Bounds, Certificate
from errands.oracle.episode import Policy
from errands.oracle.optimum import Optimum, optimum
from errands.runs.request import configured, for_steps
from errands.tables import Evaluation
from errands.tasks.catalogue import load
from errands.tasks.task import Task

OPTIMUM_BYTES = 150_000_000
"""How large an exact search may grow when a run is judged: some seconds; `errands solve` goes further."""


@dataclass(frozen=True)
class Run:
    """What a finished run found.

    >>> import errands
    >>> run = errands.train("figure-1", "scout", steps=500)
    >>> run.order, run.evaluations[-1].episode_length
    (('b2', 's', 'b1', 's'), 10)
    """

    task: Task = field(repr=False)
    learner: str
    machine: str | None
    preset: str
    config: LearnerConfig
    seed: int
    steps: int
    evaluations: tuple[Evaluation, ...] = field(repr=False)
    order: tuple[str, ...]
    """The objectives in the order in which the greedy policy completes them."""
    steps_to_go: Mapping[str, float] = field(repr=False)
    """The learnt steps to go, by label."""
    policy: Policy = field(repr=False)
    certificate: Certificate | None
    """How far the policy is from the optimum; None on continuous worlds."""
    evaluation_steps: int
    """Steps taken in evaluations, not counted among the training steps."""
    wall_seconds: float
    counts: Mapping[str, int] = field(default_factory=dict)
    """How `steps` divides by what they were for, where the method tells kinds apart (DiRL: training and rollouts)."""

    def summary(self, best: float | None) -> dict[str, Any]:
        """The row of `errands train --json`."""
        return {
            "seed": self.seed,
            "steps": self.steps,
            **final(self.evaluations, best),
            "first_optimal_step": first_optimal_step(self.evaluations, best),
            "order": list(self.order),
            "wall_seconds": round(self.wall_seconds, 3),
            "evaluation_steps": self.evaluation_steps,
            **self.counts,
            "certificate": self.certificate.words if self.certificate else None,
        }


def final(evaluations: Sequence[Evaluation], best: float | None) -> dict[str, Any]:
    """What the last evaluation says, in the words of a result."""
    if not evaluations:
        return {"final_length": None, "final_success": False}
    last = evaluations[-1]
    ends = {
        "final_length_low": last.length_low, "final_length_high": last.length_high,
        "final_success_low": last.success_low, "final_success_high": last.success_high,
    }  # fmt: skip
    return {
        "final_length": last.episode_length if math.isfinite(last.episode_length) else None,
        "final_success": last.success,
        "final_episodes": last.episodes,
        **{name: value for name, value in ends.items() if value is not None},
        "final_gap": None if (gap := last.gap(best)) is None else float(gap),
    }


def first_optimal_step(evaluations: Sequence[Evaluation], best: float | None) -> int | None:
    """The step of the first evaluation that surely succeeds in the optimal number of steps."""
    return next((e.step for e in evaluations if e.optimal(best)), None)


def train(
    task: Task | str,
    learner: str | None = None,
    steps: int = 1_000_000,
    seed: int = 0,
    machine: str | None = None,
    config: LearnerConfig | None = None,
    preset: str = "tuned",
    settings: Settings = (),
) -> Run:
    """Train one seed and judge the result by the exact optimum where there is one.

    Parameters:
        task: a task, a catalogue name or the path of a task file.
        learner: a name from `errands learners`; without one scout on finite worlds, qcorm-plus elsewhere.
        steps: training steps.
        seed: of everything random; the same seed gives the same run.
        machine: "agenda" or "boolean" for qrm, crm and hrm; the others have their own.
        config: all settings at once; it replaces the preset, and the run is labelled `custom`.
        preset: "tuned" or "paper".
        settings: some settings, such as {"epsilon": 0.1}, on top of the preset.

    >>> import errands
    >>> run = errands.train("figure-1", "qcorm", steps=50_000, seed=0)
    >>> run.certificate.words
    '10 steps, 0 more than the optimum'
    """
    task = load(task) if isinstance(task, str) else task
    name = learner or default_learner(task)
    for_steps(steps)
    chosen, label = configured(task, name, preset, settings, config)
    started = time.perf_counter()
    student = make_learner(task, name, seed, machine, chosen)
    evaluations = tuple(student.train(steps))
    return judge(student, name, machine, label, evaluations, time.perf_counter() - started, best_length(task))


def judge(
    made: Learner,
    name: str,
    machine: str | None,
    preset: str,
    evaluations: tuple[Evaluation, ...],
    seconds: float,
    best: Optimum | None = None,
) -> Run:
    """The run of a trained learner, with its certificate."""
    from errands.oracle.certificate import certificate

    policy = made.policy
    finite = made.task.finite is not None
    claim = getattr(made, "claim", None)
    judged = certificate(policy, made.task, best=best, claim=claim) if finite else claimed(claim, evaluations)
    return Run(
        task=made.task,
        learner=name,
        machine=machine_of(name, machine),
        preset=preset,
        config=made.config,
        seed=made.seed,
        steps=made.step,
        evaluations=evaluations,
        order=made.order,
        steps_to_go=dict(made.steps_to_go),
        policy=policy,
        certificate=judged,
        evaluation_steps=made.evaluation_steps,
        wall_seconds=seconds,
        counts=dict(made.counts),
    )


def claimed(claim: Bounds | None, evaluations: Sequence[Evaluation]) -> Certificate | None:
    """What is known of a world without tables: the last evaluation, beside the learner's own proof if it has one."""
    if claim is None or not evaluations:
        return None
    last = evaluations[-1]
    best = claim.upper if claim.proved and last.sure else None
    spoken = f"{last.episode_length:g} steps in one greedy episode" if last.episodes == 1 else (
        f"{last.episode_length:g} steps and success {last.success:g} on average over {last.episodes} greedy episodes"
    )  # fmt: skip
    words = f"{spoken}; the world has no tables to evaluate it exactly"
    gap = last.gap(best)
    return Certificate(float(last.episode_length), float(last.success), last.total_reward, best, gap, words, claim)


def best_length(task: Task, budget: int = OPTIMUM_BYTES) -> Optimum:
    """The exact optimum where it takes seconds; elsewhere one without a length, and the reason."""
    try:
        return optimum(task, budget=budget, orders=False)
    except TaskError as refusal:
        return Optimum(None, reason=str(refusal))
