"""What QCoRM+ keeps: one value table per landmark, the plan over the agenda, corrections, and recent steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.tables import Flags, Floats, Ints, Masks

Longs = NDArray[np.int64]

STATE, NODE, NUMERIC, TIME, STEP, ACTION, OUTCOME, OPEN, GOAL = range(9)
LANDMARKS, MARKS, CORRECTED, UNTRIED, RANDOM, STALE, TOUCHED, CHANGED, PLANNED, FULL, FIELDS = range(9, 20)
PROMISED, LEAST, NUMBERS = range(3)
STAR = 0
"""The landmark that stands for all pairs not yet tried."""


class Settings(NamedTuple):
    """The numbers that a step of QCoRM+ reads."""

    gamma: float
    epsilon: float
    """Share of random actions once the world has proved random."""
    horizon: float
    """h of the learning rate (h + 1) / (h + n) in a random world."""
    replays: int
    """Recent steps learnt from again with every step of a random world."""
    passes: int
    """Backward passes over an episode at most, while the world has not proved random."""
    limit: int
    most: int
    """Landmarks with tables of their own; later ones share the table of their label."""


class Memory(NamedTuple):
    """The learner's state: arrays that kernels write to, and that the host replaces by larger ones when they are full."""

    q: Floats
    """[S, A, K] what reaching landmark k is worth by starting with a in s: gamma ** steps, 0 where it cannot be."""
    v: Floats
    """[S, K] its maximum over actions."""
    last: Ints
    """[S, A] the state that the pair led to last; -1 for an untried pair."""
    updates: Ints
    """[S, A] how often the pair was learnt from."""
    seen: Flags
    """[S] whether actions can be tried in the state."""
    head: Ints
    """[S] the first mark of a cell, -1 for none; a mark is a cell with a useful label."""
    mark_cell: Ints
    """[M] the cell of each mark."""
    mark_label: Ints
    """[M] its label."""
    mark_next: Ints
    """[M] the next mark of the same cell, -1 for none."""
    mark_landmark: Ints
    """[M] the landmark that stands for the mark."""
    label: Ints
    """[K] the label of each landmark."""
    ends: Flags
    """[K] whether the world ends the episode there."""
    worth: Floats
    """[n, K] planned value after arriving at landmark k in node n; -1 where that cannot be."""
    choice: Ints
    """[n, K] the landmark planned next."""
    weight: Floats
    """[K] what arriving at each landmark is worth now."""
    open: Ints
    """[K] the landmarks of positive weight: the first where[OPEN]."""
    keys: Longs
    """[H] open hash table of corrections: (node * S + s) * A + a, -1 for a free slot."""
    values: Floats
    """[H] the corrected value of that pair in that node."""
    flagged: Flags
    """[n] whether the node has a correction."""
    trace: Ints
    """[T, 5] ring of recent steps: s, a, s2, landmark reached, whether it was fatal; T is a power of two."""
    where: Longs
    """[FIELDS] where the agent is, how much of each table is used, and what has changed."""
    numbers: Floats
    """[NUMBERS] the value promised to the action in hand, and the least that a reachable landmark can be worth."""
    mask: Masks
    """[1] the remaining subtasks."""
