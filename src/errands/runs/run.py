"""One run: a task, a learner and a seed, trained and judged."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from errands.errors import ConfigError, TaskError
from errands.learners import default_learner, machine_of, make_learner
from errands.learners.base import Learner, LearnerConfig
from errands.oracle.certificate import Certificate, Claim
from errands.oracle.optimum import Optimum, optimum
from errands.oracle.policy import Policy
from errands.tables import Evaluation
from errands.tasks.task import Task

OPTIMUM_BYTES = 150_000_000
"""How large an exact search may grow when a run is judged: some seconds; `errands solve` goes further."""


@dataclass(frozen=True)
class Run:
    """What a finished run found."""

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
        last = self.evaluations[-1] if self.evaluations else None
        return {
            "seed": self.seed,
            "steps": self.steps,
            "final_length": last.episode_length if last else None,
            "final_success": last.success if last else False,
            "first_optimal_step": first_optimal_step(self.evaluations, best),
            "order": list(self.order),
            "wall_seconds": round(self.wall_seconds, 3),
            "evaluation_steps": self.evaluation_steps,
            **self.counts,
            "certificate": self.certificate.words if self.certificate else None,
        }


def first_optimal_step(evaluations: tuple[Evaluation, ...], best: float | None) -> int | None:
    """The step of the first evaluation that succeeded in the optimal number of steps."""
    if best is None:
        return None
    return next((e.step for e in evaluations if e.success and e.episode_length <= best), None)


def train(
    task: Task,
    learner: str | None = None,
    steps: int = 1_000_000,
    seed: int = 0,
    machine: str | None = None,
    config: LearnerConfig | None = None,
    preset: str = "tuned",
) -> Run:
    """Train one seed and judge the result by the exact optimum where there is one."""
    name = learner or default_learner(task)
    for_steps(steps)
    started = time.perf_counter()
    made = make_learner(task, name, seed, machine, config, preset)
    evaluations = tuple(made.train(steps))
    return judge(made, name, machine, preset, evaluations, time.perf_counter() - started, best_length(task))


def for_steps(steps: int) -> int:
    """The number of steps itself, when it can be trained for."""
    if steps < 1:
        raise ConfigError(f"steps is {steps}; train for at least 1 step")
    return steps


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


def claimed(claim: Claim | None, evaluations: tuple[Evaluation, ...]) -> Certificate | None:
    """What is known of a world without tables: the last greedy episode, beside the learner's own proof if it has one."""
    if claim is None or not evaluations:
        return None
    last = evaluations[-1]
    best = claim.upper if claim.proved and last.success else None
    gap = None if best is None else last.episode_length - best
    words = f"{last.episode_length} steps in one greedy episode; the world has no tables to evaluate it exactly"
    return Certificate(float(last.episode_length), float(last.success), last.total_reward, best, gap, words, claim)


def best_length(task: Task, budget: int = OPTIMUM_BYTES) -> Optimum:
    """The exact optimum where it takes seconds; elsewhere one without a length, and the reason."""
    try:
        return optimum(task, budget=budget, orders=False)
    except TaskError as refusal:
        return Optimum(None, reason=str(refusal))
