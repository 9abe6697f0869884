"""Fresh memory for Scout, memory with more room, and copies of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.kernels import scout_memory as me
from errands.kernels.scout_memory import Agent, Known


def new_known(states: int, actions: int, outcomes: int) -> Known:
    """Nothing known yet, with room for so many outcomes of a pair."""
    pairs, rows = (states, actions), (states, actions, outcomes)
    return Known(
        tried=np.zeros(pairs, np.int32),
        target=np.zeros(rows, np.int32),
        label=np.zeros(rows, np.int32),
        ends=np.zeros(rows, np.bool_),
        hits=np.zeros(rows, np.int32),
        mode=np.zeros(pairs, np.int32),
        cell_label=np.full(states, -1, np.int32),
        started=np.zeros(states, np.int32),
        facts=np.zeros(3, np.int64),
    )


def roomier(known: Known) -> Known:
    """The same knowledge with room for twice as many outcomes."""
    twice = {name: np.concatenate((part, np.zeros_like(part)), axis=2) for name, part in _rows(known).items()}
    return known._replace(**twice)


def _rows(known: Known) -> dict[str, NDArray[Any]]:
    return {name: getattr(known, name) for name in ("target", "label", "ends", "hits")}


def snapshot(known: Known) -> Known:
    """A copy of what is known, which later steps do not change."""
    return Known._make(part.copy() for part in known)


def new_agent(states: int, limit: int, words: int, labels: int) -> Agent:
    """An agent about to start its first episode, exploring."""
    at = np.zeros(11, np.int64)
    at[me.CLOCK], at[me.LEVEL] = -1, 1
    room = max(states, limit) + 1
    path, expect = np.zeros(room, np.int32), np.zeros(room, np.int32)
    mask, after = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    scratch = (np.zeros(states, np.int32) for _ in range(4))
    return Agent(at, mask, after, path, expect, np.zeros(labels, np.int8), *scratch)
