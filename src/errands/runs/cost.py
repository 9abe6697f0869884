"""What a run will cost: a short piece of it is measured; machines too large to try are reckoned from their size."""

from __future__ import annotations

import time
from dataclasses import dataclass

from errands.learners import is_finite
from errands.machines import size
from errands.runs.documents import RunDocument
from errands.runs.train import learner_of
from errands.tasks.task import Task

SAMPLE = 0.02
"""Seconds for which a learner is measured."""
MOST_STATES = 20_000
"""Enumerated machines above this size are not built for a measurement."""
PER_STATE = {"crm": (1.0, 1), "hrm": (6.0, 3)}
"""Of learners that update every machine state: nanoseconds for each state in a step, and tables of Q's size."""


@dataclass(frozen=True)
class Cost:
    """The expected cost of one seed."""

    seconds: float
    bytes: int
    measured: bool


def cost(document: RunDocument, task: Task) -> Cost:
    """The cost of one seed of a run."""
    states = _enumerated(document, task)
    if task.finite is not None and states > MOST_STATES:
        nanoseconds, tables = PER_STATE[document.learner]
        rows = task.finite.table.next.shape[0] * (task.finite.table.next.shape[1] + 1)
        return Cost(document.steps * nanoseconds * states * 1e-9, 8 * tables * rows * states, False)
    return _measured(document, task)


def _enumerated(document: RunDocument, task: Task) -> int:
    """How many states a learner that enumerates its machine has to build."""
    if document.learner not in PER_STATE:
        return 0
    sizes = size(task.machine)
    return int(sizes.boolean if document.machine == "boolean" else sizes.agenda)


def _measured(document: RunDocument, task: Task) -> Cost:
    learner = learner_of(document, task, document.seeds[0])
    training = learner.stages(document.steps)
    # The first stage may have to compile; it is left out of the measurement.
    next(training, None)
    began, first = time.perf_counter(), learner.step
    for _ in training:
        if time.perf_counter() - began >= SAMPLE:
            break
    spent, done = time.perf_counter() - began, learner.step - first
    held = sum(x.nbytes for x in learner.save().values())
    return Cost(spent / done * document.steps if done and not learner.finished else spent, held, True)


def quick(document: RunDocument, task: Task, seeds: int) -> bool:
    """Whether all seeds take less time than starting other processes for them."""
    return is_finite(task) and cost(document, task).seconds * seeds < 3.0
