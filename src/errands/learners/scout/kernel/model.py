"""Scout's model of a random world, learnt from all cells at once, and value iteration on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from errands.kernels import jit
from errands.learners.scout.kernel.law import ALONE, choose_law, meant, slips, stays, weights
from errands.learners.scout.kernel.memory import FINAL, Known, ScoutMachine
from errands.tables import RUNNING, SUCCESS, Codes, Flags, Floats, Ints


class Model(NamedTuple):
    """Outcomes of every tried pair with their probabilities; an untried pair has none."""

    outcomes: Ints
    """[S, A] the number of outcomes."""
    target: Ints
    """[S, A, M]"""
    label: Ints
    """[S, A, M]"""
    ends: Flags
    """[S, A, M]"""
    share: Floats
    """[S, A, M]"""


@jit
def build(known: Known, law: Floats, prior: Floats) -> Model:
    """The model: counts of each pair plus `prior[s, a]` tries as the law expects them (`choose_law`), or the law ALONE.

    A pair's own outcomes come first, then what other actions usually do in the same cell, where it is something else:
    so there is room for both. Shares of a pair sum to 1; the law's count only for actions b that were tried here.
    """
    cells, actions, room = known.hits.shape
    most = room + actions
    count = np.zeros((cells, actions), np.int32)
    target, label = np.zeros((cells, actions, most), np.int32), np.zeros((cells, actions, most), np.int32)
    ends, share = np.zeros((cells, actions, most), np.bool_), np.zeros((cells, actions, most))
    for s in range(cells):
        for a in range(actions):
            if known.tried[s, a] == 0:
                continue
            table = law[stays(known, s, a), a]
            expected = 0.0
            for b in range(actions):
                if known.tried[s, b] > 0:
                    expected += table[b]
            alone = prior[s, a] == ALONE
            own, tries = (0.0, 1.0) if alone else (1.0, prior[s, a])
            n = 0
            while n < room and known.hits[s, a, n] > 0:
                target[s, a, n], label[s, a, n] = known.target[s, a, n], known.label[s, a, n]
                ends[s, a, n] = known.ends[s, a, n]
                share[s, a, n] = own * known.hits[s, a, n]
                n += 1
            for b in range(actions):
                if known.tried[s, b] == 0:
                    continue
                o = known.mode[s, b]
                k = 0
                while k < n and (
                    target[s, a, k] != known.target[s, b, o]
                    or label[s, a, k] != known.label[s, b, o]
                    or ends[s, a, k] != known.ends[s, b, o]
                ):
                    k += 1
                if k == n:
                    target[s, a, k], label[s, a, k] = known.target[s, b, o], known.label[s, b, o]
                    ends[s, a, k] = known.ends[s, b, o]
                    n += 1
                share[s, a, k] += tries * table[b] / expected
            count[s, a] = n
            for k in range(n):
                share[s, a, k] /= own * known.tried[s, a] + tries
    return Model(count, target, label, ends, share)


def learn_model(known: Known, base: float) -> Model:
    """The model of everything seen, in which a law is worth `base` tries where nothing speaks for more or less."""
    law = choose_law(known, slips(known.tried.shape[1]))
    known = known._replace(mode=meant(known, law))
    model: Model = build(known, law, weights(known, law, base))
    return model


TOLERANCE = 1e-9
"""Values are settled when no sweep changes one by a larger share of it."""
TINY = 1e-100
"""Values below are nothing."""
SWEEPS = 2_000
"""The most sweeps; they run to and fro, so that a value travels along a corridor in one of two."""


def values_of(status: Codes, cells: int) -> Floats:
    """[X, S] values to begin with: success is worth 1."""
    return np.repeat(np.where(status == SUCCESS, 1.0, 0.0)[:, None], cells, axis=1)


@jit
def product_values(model: Model, status: Codes, delta: Ints, gamma: float, layered: bool, v: Floats) -> Ints:
    """Write into v [X, S] the expected discount factor at success; the action that attains it (-1 where nothing was tried).

    Values of states that have succeeded are left as they are. Gauss-Seidel within one machine state x after the other,
    from the last to the first: where the machine is layered all later states are settled by then and one round is enough,
    else rounds go on until none changes anything.
    """
    cells, actions = model.outcomes.shape
    count = status.shape[0]
    policy = np.full((count, cells), -1, np.int32)
    for _ in range(SWEEPS):
        outer = 0.0
        for x in range(count - 1, -1, -1):
            if status[x] != RUNNING:
                continue
            for sweep in range(SWEEPS):
                change = 0.0
                for i in range(cells):
                    s = i if sweep & 1 == 0 else cells - 1 - i
                    # Below every value, so that an action without hope still beats none.
                    best, choice = -1.0, -1
                    for a in range(actions):
                        if model.outcomes[s, a] == 0:
                            continue
                        total = 0.0
                        for o in range(model.outcomes[s, a]):
                            y = delta[model.label[s, a, o], x]
                            # Success counts even if the world ends with the step.
                            if status[y] == SUCCESS or (status[y] == RUNNING and not model.ends[s, a, o]):
                                total += model.share[s, a, o] * v[y, model.target[s, a, o]]
                        if total > best:
                            best, choice = total, a
                    if choice >= 0:
                        change = max(change, abs(gamma * best - v[x, s]) / max(gamma * best, TINY))
                        v[x, s], policy[x, s] = gamma * best, choice
                # The first sweep shows whether other states have changed since this one was settled.
                outer = max(outer, change) if sweep == 0 else outer
                if change < TOLERANCE:
                    break
        if layered or outer < TOLERANCE:
            break
    return policy


def stage_values(
    model: Model, machine: ScoutMachine, entry: Ints, chooser: int, payoff: Floats, gamma: float
) -> tuple[Floats, Ints]:
    """[U, S] values and actions while no subtask is completed; entering a cell in state `chooser` pays payoff[cell] >= 0.

    entry[u] is the entry that u reads meanwhile; -1 in payoff means that nothing is completed in the cell.
    """
    # The border of the stage is a last machine state, reached by labels of its own: its values hold all that follows.
    labels, count = len(machine.next), len(entry)
    delta = np.full((2 * labels, count + 1), count, np.int32)
    delta[:labels, :count] = delta[labels:, :count] = machine.next[:, entry]
    delta[labels:, chooser] = count
    bordering = model._replace(label=np.where(payoff[model.target] >= 0.0, model.label + np.int32(labels), model.label))
    status = np.append(machine.status, np.int8(SUCCESS))
    v = values_of(status, len(payoff))
    v[count] = payoff
    policy: Ints = product_values(bordering, status, delta, gamma, False, v)
    return v[:count], policy[:count]


def seek_values(model: Model, effect: Codes, wanted: Flags, start: int, gamma: float) -> tuple[Floats, Ints]:
    """[S] the expected discount factor at a wanted cell, and the action that attains it; an episode's end is a way to start."""
    there = np.where(model.ends | (effect[model.label] == FINAL), np.int32(start), model.target)
    # A machine that waits for a wanted cell to be entered, which is its label 1.
    sought = model._replace(target=there, label=wanted[there].astype(np.int32), ends=np.zeros_like(model.ends))
    status, delta = np.array([RUNNING, SUCCESS], np.int8), np.array([[0, 1], [1, 1]], np.int32)
    v = values_of(status, len(wanted))
    policy: Ints = product_values(sought, status, delta, gamma, True, v)
    return v[0], policy[0]
