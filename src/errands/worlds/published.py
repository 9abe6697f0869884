"""Flat tables from a transition table `P` as Gymnasium's toy-text environments publish it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from errands.tables import Floats, WorldTable
from errands.worlds.base import FiniteWorld

Outcome = tuple[float, int, float, bool]
"""Probability, next state, reward, whether the episode ends."""
Published = Mapping[int, Mapping[int, Sequence[Outcome]]]


def finite_from_p(
    p: Published, initial: Sequence[float] | Floats, label_of: Callable[[int], Collection[str]]
) -> FiniteWorld:
    """The world behind P[state][action], started as `initial` says; a step's features are `label_of` its last state.

    Outcomes keep their order, and the published rewards become the signal `reward`.
    """
    states, actions = len(p), len(p[0])
    width = max(len(p[s][a]) for s in range(states) for a in range(actions))
    sets = [frozenset(label_of(state)) for state in range(states)]
    labels = tuple(dict.fromkeys([frozenset[str](), *sets]))
    number = {features: i for i, features in enumerate(labels)}
    label = np.array([number[features] for features in sets], np.int32)
    shape = (states, actions, width)
    reached, cumulative = np.zeros(shape, np.int32), np.ones(shape)
    reward, ends = np.zeros(shape), np.zeros(shape, np.bool_)
    for s in range(states):
        for a in range(actions):
            row = list(p[s][a])
            last = len(row) - 1
            shares = np.cumsum([outcome[0] for outcome in row])
            cumulative[s, a, :last] = shares[:last]
            for o in range(width):
                _, reached[s, a, o], reward[s, a, o], ends[s, a, o] = row[min(o, last)]
    chances = np.asarray(initial, np.float64)
    starts = np.flatnonzero(chances).astype(np.int32)
    start_cumulative = np.cumsum(chances[starts])
    start_cumulative[-1] = 1.0
    table = WorldTable(starts, start_cumulative, label[starts], reached, cumulative, label[reached], ends, reward[None])
    return FiniteWorld(table, labels, ("reward",))
