"""The exact steps to go of every coupled state (eta of Section 4): what QCoRM's table should come to."""

from __future__ import annotations

from collections import deque

import numpy as np

from errands.errors import TaskError
from errands.kernels.search import DEAD, DONE, breadth_first
from errands.machines.agenda import unfold_agenda
from errands.machines.coupled import couple
from errands.oracle.episode import Pair
from errands.oracle.optimum import least_steps
from errands.oracle.product import RANDOM_BYTES, Product, product
from errands.tables import SUCCESS, Floats, Ints
from errands.tasks.task import Task

MOST_STATES = 5_000_000


def steps_to_go(task: Task) -> dict[str, float]:
    """For each label `0{b1,b2}b1` the least steps to success when its objective is what the agent completes next.

    They are counted from the cell in which its agenda state is entered on the shortest successful episode through
    that state (the start for the first one; the lowest such cell where several are equal). States that no successful
    episode passes are left out; a success has 0. For certain worlds of at most 5,000,000 product states.
    """
    crossed = product(task, MOST_STATES * RANDOM_BYTES, RANDOM_BYTES)
    if not crossed.world.certain:
        raise TaskError(f"moves are random in '{task.name}'; exact steps to go by label are for certain worlds, slip 0")
    togo, _ = least_steps(crossed)
    level = np.full(len(crossed), -1, np.int32)
    breadth_first(crossed.world.table, crossed.following, crossed.starts[0][0], level, True)
    entered = _entered(crossed, togo, level)
    coupled = couple(unfold_agenda(task.machine))
    pair, least = Pair(task), dict[str, float]()
    for state, group in zip(coupled.agenda.states, coupled.groups, strict=True):
        values: dict[str | None, float] = {}
        if pair.stepper.status[state[0]] == SUCCESS:
            values = {None: 0.0}
        elif (m := crossed.number.get(state, -1)) in entered:
            values = _by_objective(crossed, pair, togo, m, entered[m])
        for j in group:
            if (steps := values.get(coupled.states[j][1])) is not None:
                label = str(coupled.labels[j])
                least[label] = min(steps, least.get(label, np.inf))
    return least


def _entered(crossed: Product, togo: Floats, level: Ints) -> dict[int, int]:
    """The cell in which each agenda state is entered on the shortest successful episode that passes it."""
    table, count = crossed.world.table, crossed.world.states
    origin = crossed.starts[0][0]
    best = {crossed.initial: (float(togo[origin]), origin % count)}
    for here in np.flatnonzero(level >= 0):
        m, s = divmod(int(here), count)
        for a in range(crossed.world.actions):
            target, cell = int(crossed.following[m, table.label[s, a, 0]]), int(table.next[s, a, 0])
            if target < 0 or target in (m, crossed.initial) or table.ends[s, a, 0]:
                continue
            whole = level[here] + 1 + togo[target * count + cell]
            if np.isfinite(whole):
                best[target] = min(best.get(target, (np.inf, -1)), (float(whole), cell))
    return {m: cell for m, (whole, cell) in best.items() if np.isfinite(whole)}


def _by_objective(crossed: Product, pair: Pair, togo: Floats, m: int, cell: int) -> dict[str | None, float]:
    """From a cell in agenda state m, the least steps to success by each objective that can end the stay in m."""
    table, count, state = crossed.world.table, crossed.world.states, crossed.state(m)
    steps, queue = {cell: 0}, deque([cell])
    values: dict[str | None, float] = {}
    while queue:
        s = queue.popleft()
        for a in range(crossed.world.actions):
            target, there = int(crossed.following[m, table.label[s, a, 0]]), int(table.next[s, a, 0])
            if target == DEAD or (target != DONE and table.ends[s, a, 0]):
                continue
            if target == m:
                if there not in steps:
                    steps[there] = steps[s] + 1
                    queue.append(there)
                continue
            rest = 0.0 if target == DONE else float(togo[target * count + there])
            for name in pair.step(s, state, a).completed:
                if np.isfinite(rest):
                    values[name] = min(steps[s] + 1 + rest, values.get(name, np.inf))
    return values
