"""What training a run costs: a short piece of it is measured, or its size reckoned with."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from errands.learners import is_finite, method_of
from errands.machines import size
from errands.runs.request import Request

SAMPLE = 0.02
"""Seconds for which a learner is measured."""
STEPS = 20
"""Steps of networks between two looks at the clock."""
MAX_STATES = 20_000
"""Enumerated machines above this size are not built for a measurement."""


@dataclass(frozen=True)
class Cost:
    """The expected cost of one seed."""

    seconds: float
    bytes: int
    measured: bool
    start: float = 0.0
    """Seconds before the first step: networks are compiled."""


def cost(request: Request) -> Cost:
    """The cost of one seed of a run."""
    task, states = request.task, _enumerated(request)
    if task.finite is not None and states > MAX_STATES:
        nanoseconds, tables = method_of(request.learner).per_state or (0.0, 1)
        rows = task.finite.table.next.shape[0] * (task.finite.table.next.shape[1] + 1)
        return Cost(request.steps * nanoseconds * states * 1e-9, 8 * tables * rows * states, False)
    return _measured(request) if is_finite(task) else _stepped(request)


def _enumerated(request: Request) -> int:
    """How many states a learner that enumerates its machine has to build."""
    if method_of(request.learner).per_state is None:
        return 0
    sizes = size(request.task.machine)
    return int(sizes.boolean if request.machine == "boolean" else sizes.agenda)


def _measured(request: Request) -> Cost:
    learner = request.new_learner(request.seeds[0])
    training = learner.stages(request.steps)
    # The first stage may have to compile; it is left out of the measurement.
    next(training, None)
    began, first = time.perf_counter(), learner.step
    for _ in training:
        if time.perf_counter() - began >= SAMPLE:
            break
    spent, done = time.perf_counter() - began, learner.step - first
    held = sum(x.nbytes for x in learner.save(copy=False).values())
    return Cost(spent / done * request.steps if done and not learner.finished else spent, held, True)


def _stepped(request: Request) -> Cost:
    """The cost of a seed that learns with networks: steps of learning, once their loop is compiled, times all its steps."""
    few = {name: value for name, value in (("warmup", 1), ("eval_every", STEPS)) if hasattr(request.config, name)}
    learner = replace(request, config=replace(request.config, **few)).new_learner(request.seeds[0])
    # Twice: the first steps compile, and learning may only begin in the second.
    began = time.perf_counter()
    for _ in range(2):
        learner.advance(STEPS)
    start, began, first = time.perf_counter() - began, time.perf_counter(), learner.step
    while time.perf_counter() - began < SAMPLE and not learner.finished:
        learner.advance(STEPS)
    spent, done = time.perf_counter() - began, learner.step - first
    held = sum(x.nbytes for x in learner.save(copy=False).values())
    return Cost(spent / max(1, done) * request.steps, held, True, start)


def quick(request: Request, seeds: int) -> bool:
    """Whether all seeds take less time than starting other processes for them."""
    return is_finite(request.task) and cost(request).seconds * seeds < 3.0
