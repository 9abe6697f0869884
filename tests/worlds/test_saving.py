"""Saved states are plain data: they survive JSON."""

from __future__ import annotations

import json

import gymnasium as gym
import pytest

from errands.worlds import Restorable
from errands.worlds.registry import IDS


@pytest.mark.parametrize("name", sorted(IDS))
def test_a_saved_state_survives_json_and_continues(name: str) -> None:
    if "Cheetah" in name:
        pytest.importorskip("mujoco")
    env = gym.make(name).unwrapped
    env.reset(seed=1)
    env.action_space.seed(1)
    env.step(env.action_space.sample())
    assert isinstance(env, Restorable)
    saved = env.save()
    env.restore(json.loads(json.dumps(saved)))
    assert env.save() == saved
