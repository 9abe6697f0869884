"""Saving environments of others: MuJoCo's to the last bit, and a refusal where state is not plain data."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from errands.errors import TaskError
from errands.worlds.foreign_state import restore_foreign, save_foreign


def test_mujoco_environments_continue_to_the_last_bit() -> None:
    pytest.importorskip("mujoco")
    env, twin = (gym.make("Hopper-v5").unwrapped for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=1)
    actions = np.random.default_rng(0).uniform(-1, 1, (20, 3)).astype(np.float32)
    for action in actions[:10]:
        env.step(action)
    saved = save_foreign(env)
    restore_foreign(twin, saved)
    for action in actions[10:]:
        assert np.array_equal(env.step(action)[0], twin.step(action)[0])


class _Hidden(gym.Env[Any, Any]):
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Discrete(2)

    def __init__(self) -> None:
        self.engine = memoryview(b"hidden state")


def test_state_that_is_not_plain_is_refused_by_name() -> None:
    with pytest.raises(TaskError, match="_Hidden cannot be saved: its attribute 'engine' is a memoryview"):
        save_foreign(_Hidden())


def test_saved_values_are_copies() -> None:
    env: Any = gym.make("MountainCar-v0").unwrapped
    env.reset(seed=0)
    saved = save_foreign(env)
    before = np.array(saved["attributes"]["state"])
    env.step(2)
    assert np.array_equal(saved["attributes"]["state"], before)
