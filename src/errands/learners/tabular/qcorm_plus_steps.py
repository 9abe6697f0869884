"""Steps to go as QCoRM+ has learnt them (eta of Section 4): the logarithms of its values, by label."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from errands.kernels.qcorm_plus_agenda import Agenda
from errands.kernels.qcorm_plus_memory import LANDMARKS, MARKS, Memory
from errands.kernels.qcorm_plus_plan import after
from errands.machines.agenda import unfold_agenda
from errands.machines.coupled import couple
from errands.machines.numeric import Label
from errands.machines.stepping import Stepper
from errands.oracle.episode import Policy, walk
from errands.tables import RUNNING, SUCCESS, Floats
from errands.tasks.task import Task

MOST_NODES = 1 << 13
"""Agenda states up to which all labels are told; beyond, those of one greedy episode."""


def learnt_steps_to_go(
    task: Task, agenda: Agenda, labels: Sequence[Set[str]], memory: Memory, first: int, gamma: float
) -> dict[str, float]:
    """The steps to success by label, from the cell in which its agenda state is entered on the best way through it."""
    coupled = couple(unfold_agenda(task.machine, MOST_NODES))
    node = {(int(u), int(mask)): n for n, (u, mask) in enumerate(zip(agenda.numeric, agenda.mask, strict=True))}
    entered = _entered(agenda, memory, first)
    stepper = coupled.agenda.stepper
    found: dict[str, float] = {}
    for state, group in zip(coupled.agenda.states, coupled.groups, strict=True):
        values: dict[str | None, float] = {}
        n = node.get(state, -1)
        if stepper.status[state[0]] == SUCCESS:
            values = {None: 1.0}
        elif n in entered:
            values = _by_objective(stepper, agenda, labels, memory, n, entered[n])
        for j in group:
            if (value := values.get(coupled.states[j][1], 0.0)) > 0.0:
                steps = float(round(abs(np.log(value) / np.log(gamma)), 6))
                label = str(coupled.labels[j])
                found[label] = min(steps, found.get(label, np.inf))
    return found


def _reached(memory: Memory) -> tuple[Floats, list[int]]:
    """The values from each landmark to each other, and one cell for each landmark."""
    count = int(memory.where[LANDMARKS])
    reach, cell = np.zeros((count, count)), [-1] * count
    for m in range(int(memory.where[MARKS])):
        x, s = int(memory.mark_landmark[m]), int(memory.mark_cell[m])
        cell[x] = s
        reach[x] = np.maximum(reach[x], memory.v[s, :count])
    return reach, cell


def _weights(agenda: Agenda, memory: Memory, n: int) -> Floats:
    """What arriving at each landmark is worth in a node."""
    count = int(memory.where[LANDMARKS])
    tables = (agenda.next, agenda.status, memory.label, memory.ends, memory.worth)
    return np.array([0.0, *(after(*tables, n, k) for k in range(1, count))])


def _entered(agenda: Agenda, memory: Memory, first: int) -> dict[int, int]:
    """The cell in which each node is entered on the best way through it from the first cell."""
    reach, cell = _reached(memory)
    count = len(cell)
    best = np.zeros((len(agenda.status), count))
    changed = True
    while changed:
        changed = False
        for n in np.flatnonzero(agenda.status == RUNNING):
            here = memory.v[first, :count] if n == 0 else (best[n][:, None] * reach).max(axis=0)
            open_ = np.flatnonzero(_weights(agenda, memory, int(n)) > 0.0)
            targets = agenda.next[n, memory.label[open_]]
            better = here[open_] > best[targets, open_]
            best[targets[better], open_[better]] = here[open_[better]]
            changed = changed or (bool(better.any()) and not agenda.layered)
    whole = best * np.maximum(memory.worth[:, :count], 0.0)
    return {0: first} | {int(n): cell[int(whole[n].argmax())] for n in np.flatnonzero(whole.max(axis=1) > 0.0) if n}


def _by_objective(
    stepper: Stepper, agenda: Agenda, labels: Sequence[Set[str]], memory: Memory, n: int, cell: int
) -> dict[str | None, float]:
    """The value of the task from a cell in node n, by the objective that is completed next."""
    values: dict[str | None, float] = {}
    for k, weight in enumerate(_weights(agenda, memory, n)):
        if weight > 0.0:
            state = (int(agenda.numeric[n]), int(agenda.mask[n]))
            for done in stepper.completed(state, stepper.step(state, labels[int(memory.label[k])])):
                values[done] = max(values.get(done, 0.0), float(weight * memory.v[cell, k]))
    return values


def walked_steps_to_go(task: Task, policy: Policy) -> dict[str, float]:
    """The steps to go of the labels that one greedy episode passes; nothing where it does not succeed."""
    episode, stepper = walk(policy, task), Stepper(task.machine)
    if not episode.success or task.finite is None:
        return {}
    table, labels = task.finite.table, task.finite.labels
    state, since, depth, found = stepper.start, 0, 0, dict[str, float]()
    for t, (s, a) in enumerate(zip(episode.path, episode.actions, strict=False)):
        step = stepper.step(state, labels[int(table.label[s, a, 0])])
        if step.state != state:
            for objective in stepper.completed(state, step):
                found[str(Label(depth, stepper.named(state[1]), (objective,)))] = float(episode.length - since)
            state, since, depth = step.state, t + 1, depth + 1
    return {**found, str(Label(depth, (), ())): 0.0}
