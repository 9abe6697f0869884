"""A walk through a world's tables and through its Gymnasium shell at once, with the same random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils import seeding

from errands.worlds import FiniteWorld

Walk = Callable[..., dict[str, int]]


def _walk(
    env: gym.Env[Any, Any], world: FiniteWorld, state_of: Callable[[Any], int], draws: bool, steps: int = 100_000
) -> dict[str, int]:
    """Walk at random and assert equality at every step; `draws`: the shell draws even where nothing is random."""
    table = world.table
    nexts, cumulatives, labels, ends = (a.tolist() for a in (table.next, table.cumulative, table.label, table.ends))
    signals = table.signal.tolist()
    starts = table.start_cumulative
    actions = np.random.default_rng(5).integers(world.actions, size=steps).tolist()
    twin, _ = seeding.np_random(11)
    seen = {"episodes": 0, "labels": 0, "ends": 0}

    def begin(seed: int | None) -> int:
        observation, info = env.reset(seed=seed)
        which = int(np.searchsorted(starts, twin.random(), side="right")) if draws else 0
        assert state_of(observation) == table.starts[which]
        assert info["features"] == world.labels[table.start_label[which]]
        seen["episodes"] += 1
        return int(table.starts[which])

    state = begin(11)
    for action in actions:
        observation, _, terminated, truncated, info = env.step(action)
        row = cumulatives[state][action]
        outcome = 0
        if draws or len(row) > 1:
            u = twin.random()
            outcome = next(i for i, share in enumerate(row) if share > u)
        there = nexts[state][action][outcome]
        assert state_of(observation) == there
        assert info["features"] == world.labels[labels[state][action][outcome]]
        assert terminated == ends[state][action][outcome]
        for k, name in enumerate(world.signals):
            assert info["signals"][name] == signals[k][state][action][outcome]
        seen["labels"] += bool(info["features"])
        seen["ends"] += terminated
        state = begin(None) if terminated or truncated else there
    return seen


@pytest.fixture
def walk() -> Walk:
    return _walk
