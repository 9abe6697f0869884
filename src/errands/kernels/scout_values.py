"""Value iteration on Scout's model: over all machine states at once, or over one stage with payoffs at its border."""

from __future__ import annotations

import numpy as np

from errands.kernels import jit
from errands.kernels.scout_machine import ScoutMachine
from errands.kernels.scout_memory import FINAL
from errands.kernels.scout_model import Model
from errands.tables import FAILURE, RUNNING, SUCCESS, Codes, Flags, Floats, Ints

TOLERANCE = 1e-9
SWEEPS = 2_000


@jit
def product_values(model: Model, status: Codes, delta: Ints, gamma: float, layered: bool) -> tuple[Floats, Ints]:
    """[X, S] the expected discount factor at success, and the action that attains it (-1 where nothing was tried)."""
    cells, actions = model.outcomes.shape
    count = status.shape[0]
    v = np.zeros((count, cells))
    policy = np.full((count, cells), -1, np.int32)
    for x in range(count):
        if status[x] == SUCCESS:
            v[x, :] = 1.0
    for _ in range(SWEEPS):
        outer = 0.0
        for x in range(count - 1, -1, -1):
            if status[x] != RUNNING:
                continue
            for sweep in range(SWEEPS):
                change = 0.0
                for i in range(cells):
                    s = i if sweep & 1 == 0 else cells - 1 - i
                    best, choice = -1.0, -1
                    for a in range(actions):
                        if model.outcomes[s, a] == 0:
                            continue
                        total = 0.0
                        for o in range(model.outcomes[s, a]):
                            y = delta[model.label[s, a, o], x]
                            if status[y] == SUCCESS or (status[y] == RUNNING and not model.ends[s, a, o]):
                                total += model.share[s, a, o] * v[y, model.target[s, a, o]]
                        if total > best:
                            best, choice = total, a
                    if choice >= 0:
                        change = max(change, abs(gamma * best - v[x, s]))
                        v[x, s], policy[x, s] = gamma * best, choice
                outer = max(outer, change) if sweep == 0 else outer
                if change < TOLERANCE:
                    break
        if layered or outer < TOLERANCE:
            break
    return v, policy


@jit
def stage_values(
    model: Model, machine: ScoutMachine, entry: Ints, chooser: int, payoff: Floats, gamma: float
) -> tuple[Floats, Ints]:
    """[U, S] values and actions while no subtask is completed; entering a cell in state `chooser` pays payoff[cell] >= 0.

    entry[u] is the entry that u reads meanwhile; -1 in payoff means that nothing is completed in the cell.
    """
    cells, actions = model.outcomes.shape
    count = entry.shape[0]
    v = np.zeros((count, cells))
    policy = np.full((count, cells), -1, np.int32)
    for sweep in range(SWEEPS):
        change = 0.0
        for u in range(count - 1, -1, -1):
            if machine.status[u] != RUNNING:
                continue
            for i in range(cells):
                s = i if sweep & 1 == 0 else cells - 1 - i
                best, choice = -1.0, -1
                for a in range(actions):
                    if model.outcomes[s, a] == 0:
                        continue
                    total = 0.0
                    for o in range(model.outcomes[s, a]):
                        there = model.target[s, a, o]
                        if u == chooser and payoff[there] >= 0.0:
                            total += model.share[s, a, o] * payoff[there]
                            continue
                        t = machine.next[model.label[s, a, o], entry[u]]
                        if machine.status[t] == SUCCESS:
                            total += model.share[s, a, o]
                        elif machine.status[t] != FAILURE and not model.ends[s, a, o]:
                            total += model.share[s, a, o] * v[t, there]
                    if total > best:
                        best, choice = total, a
                if choice >= 0:
                    change = max(change, abs(gamma * best - v[u, s]))
                    v[u, s], policy[u, s] = gamma * best, choice
        if change < TOLERANCE:
            break
    return v, policy


@jit
def seek_values(model: Model, effect: Codes, wanted: Flags, start: int, gamma: float) -> tuple[Floats, Ints]:
    """[S] the expected discount factor at a wanted cell, and the action that attains it; an episode's end is a way to start."""
    cells, actions = model.outcomes.shape
    v = np.zeros(cells)
    policy = np.full(cells, -1, np.int32)
    for sweep in range(SWEEPS):
        change = 0.0
        for i in range(cells):
            s = i if sweep & 1 == 0 else cells - 1 - i
            best, choice = -1.0, -1
            for a in range(actions):
                total = 0.0
                for o in range(model.outcomes[s, a]):
                    ended = model.ends[s, a, o] or effect[model.label[s, a, o]] == FINAL
                    there = start if ended else model.target[s, a, o]
                    total += model.share[s, a, o] * (1.0 if wanted[there] else v[there])
                if model.outcomes[s, a] > 0 and total > best:
                    best, choice = total, a
            if choice >= 0:
                change = max(change, abs(gamma * best - v[s]))
                v[s], policy[s] = gamma * best, choice
        if change < TOLERANCE:
            break
    return v, policy
