"""What QCoRM+ keeps: one value table per landmark, the plan over the agenda, corrections, and recent steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels.hashing import slot_of
from errands.kernels.stepping import ACTION, MACHINE, SHARED
from errands.tables import Flags, Floats, Ints, Slope

Longs = NDArray[np.int64]

NODE = MACHINE
# `position` is saved with a run: to move a field is to change the format of checkpoints. 8 is SHARED + 3.
STEP, OPEN, GOAL = range(SHARED, SHARED + 3)
LANDMARKS, MARKS, CORRECTED, UNTRIED, RANDOM, STALE, TOUCHED, CHANGED, PLANNED, FULL, FIELDS = range(8, 19)
"""Behind the shared fields of `position`, of which MACHINE is the agenda's node:

STEP       training steps so far: the ring of recent steps is written at STEP modulo its size
OPEN, GOAL how many entries of `open` count, the landmark gone for
LANDMARKS, MARKS, CORRECTED   how much of each growing table is in use; the landmark 0 (STAR) always is
UNTRIED    pairs of seen cells that were never tried: while there are any, STAR is worth going for
RANDOM     whether a pair has led to two states: values are then averages, corrections and exact plans are given up
STALE      the plan must be made anew; TOUCHED: a leg between landmarks has changed; CHANGED: some value has
PLANNED    STEP at the last plan;  FULL: the host must make room before the next step
"""
# Places in `numbers`. LEAST: in a certain world a shortest way takes no more steps than there are states,
# so that lower values mean `unreachable` and are made 0, where they would else go on falling for very long.
PROMISED, LEAST, NUMBERS = range(3)
# A power of two, as `keys` must be one; every table grows by doubling.
FIRST = 16
"""Room for landmarks, marks and corrections in a new memory."""
STAR = 0
"""The landmark that stands for all pairs not yet tried."""


class Settings(NamedTuple):
    """The numbers that a step of QCoRM+ reads."""

    gamma: float
    epsilon: Slope
    """Share of random actions once the world has proved random."""
    horizon: float
    """h of the learning rate (h + 1) / (h + n) in a random world."""
    replays: int
    """Recent steps learnt from again with every step of a random world."""
    backwards: int
    """Recent steps learnt from again after an episode, last first, while the world has not proved random."""
    passes: int
    """How often at most."""
    limit: int
    most: int
    """Landmarks with tables of their own; later ones share the table of their label."""
    correct: bool
    """Whether values by node are kept where landmarks promise too much."""


class Memory(NamedTuple):
    """The learner's state: arrays that kernels write to, and that the host replaces by larger ones when full."""

    # Landmarks come last in q and v: one step teaches all of them, in one loop over neighbours in memory.
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
    # Marks are linked lists, one for each cell: head[s], then mark_next. A landmark may have several marks.
    head: Ints
    """[S] the first mark of a cell, -1 for none; a mark is a cell with a useful label."""
    mark_cell: Ints
    """[M] the cell of each mark."""
    mark_code: Ints
    """[M] twice its label, and one more where the world ends the episode with the step."""
    mark_next: Ints
    """[M] the next mark of the same cell, -1 for none."""
    mark_landmark: Ints
    """[M] the landmark that stands for the mark."""
    label: Ints
    """[K] the label of each landmark."""
    ends: Flags
    """[K] whether the world ends the episode there."""
    # The plan's states are (node, landmark just reached): where one is follows from the landmark.
    worth: Floats
    """[n, K] planned value after arriving at landmark k in node n; -1 where that cannot be."""
    choice: Ints
    """[n, K] the landmark planned next."""
    weight: Floats
    """[K] what arriving at each landmark is worth now."""
    open: Ints
    """[K] the landmarks of positive weight: the first position[OPEN]."""
    keys: Longs
    """[H] open hash table of corrections: (node * S + s) * A + a, -1 for a free slot."""
    values: Floats
    """[H] the corrected value of that pair in that node."""
    flagged: Flags
    """[n] whether the node has a correction."""
    trace: Ints
    """[T, 5] ring of recent steps: s, a, s2, landmark reached, whether it was fatal; T is a power of two."""
    position: Longs
    """[FIELDS] where the agent is, how much of each table is used, and what has changed."""
    numbers: Floats
    """[NUMBERS] the value promised to the action in hand, and the least that a reachable landmark can be worth."""


def new_memory(states: int, actions: int, nodes: int, trace: int, gamma: float) -> Memory:
    """A memory in which everything is one step away; `trace` is a power of two."""
    return Memory(
        # Optimistic: where moves are certain values only fall, so they are upper bounds of what can be had.
        q=np.full((states, actions, FIRST), gamma),
        v=np.full((states, FIRST), gamma),
        last=np.full((states, actions), -1, np.int32),
        updates=np.zeros((states, actions), np.int32),
        seen=np.zeros(states, np.bool_),
        head=np.full(states, -1, np.int32),
        mark_cell=np.zeros(FIRST, np.int32),
        mark_code=np.zeros(FIRST, np.int32),
        mark_next=np.zeros(FIRST, np.int32),
        mark_landmark=np.zeros(FIRST, np.int32),
        label=np.zeros(FIRST, np.int32),
        ends=np.zeros(FIRST, np.bool_),
        worth=np.full((nodes, FIRST), -1.0),
        choice=np.zeros((nodes, FIRST), np.int32),
        weight=np.zeros(FIRST),
        open=np.zeros(FIRST, np.int32),
        keys=np.full(FIRST, -1, np.int64),
        values=np.zeros(FIRST),
        flagged=np.zeros(nodes, np.bool_),
        trace=np.zeros((trace, 5), np.int32),
        position=_where(),
        numbers=np.array([0.0, gamma ** (states + 1)]),
    )


def _where() -> Longs:
    position = np.zeros(FIELDS, np.int64)
    # No action in hand, the landmark STAR, and no plan yet.
    position[ACTION], position[LANDMARKS], position[STALE] = -1, 1, 1
    return position


def on_agenda(memory: Memory, nodes: int) -> Memory:
    """The memory for another list of nodes: the plan is to be made again, corrections are forgotten."""
    memory.position[STALE], memory.position[CORRECTED] = 1, 0
    # Keys contain node numbers, which mean something else in the new list.
    memory.keys[:] = -1
    width = memory.label.shape[0]
    worth, choice = np.full((nodes, width), -1.0), np.zeros((nodes, width), np.int32)
    return memory._replace(worth=worth, choice=choice, flagged=np.zeros(nodes, np.bool_))


def grown(memory: Memory, gamma: float) -> Memory:
    """The memory with twice the room in each table that is full."""
    position = memory.position
    position[FULL] = 0
    # Kernels write first and say FULL when the last place is taken: until then there is room for one more.
    if position[LANDMARKS] == memory.label.shape[0]:
        memory = memory._replace(
            # New landmarks begin as optimistic as the first ones.
            q=_wider(memory.q, gamma), v=_wider(memory.v, gamma), label=_wider(memory.label, 0),
            ends=_wider(memory.ends, False), worth=_wider(memory.worth, -1.0), choice=_wider(memory.choice, 0),
            weight=_wider(memory.weight, 0.0), open=_wider(memory.open, 0),
        )  # fmt: skip
    if position[MARKS] == memory.mark_cell.shape[0]:
        marks = ("mark_cell", "mark_code", "mark_next", "mark_landmark")
        memory = memory._replace(**{name: _wider(getattr(memory, name), 0) for name in marks})
    # The hash table stays at most half full.
    if 2 * position[CORRECTED] + 2 > memory.keys.shape[0]:
        memory = _rehashed(memory)
    return memory


def _wider(array: NDArray[Any], filling: float) -> NDArray[Any]:
    """The array with twice its last axis."""
    return np.concatenate([array, np.full_like(array, filling)], axis=-1)


def _rehashed(memory: Memory) -> Memory:
    keys, values = np.full(2 * memory.keys.shape[0], -1, np.int64), np.zeros(2 * memory.keys.shape[0])
    for key, value in zip(memory.keys, memory.values, strict=True):
        if key >= 0:
            slot = slot_of(keys, key)
            keys[slot], values[slot] = key, value
    return memory._replace(keys=keys, values=values)
