"""A world on a line for TD3: start at 0, moves of at most a quarter, left below -1/2 and right above 1/2."""

import gymnasium as gym
import numpy as np
import pytest

from errands.tasks.phrases import any_order
from errands.tasks.task import Task
from errands.worlds import GymnasiumWorld


class Line(gym.Env):
    observation_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gym.spaces.Box(-2.0, 2.0, (1,), np.float32)
    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, broken: bool = False, render_mode: str | None = None) -> None:
        self.x, self.broken = 0.0, broken

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0.0
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.x = float(np.clip(self.x + np.clip(float(action[0]), -2, 2) / 8, -1, 1))
        return np.array([np.nan if self.broken else self.x], np.float32), 0.0, False, False, {}


if "errands-tests/Line-v0" not in gym.registry:
    gym.register("errands-tests/Line-v0", Line)


@pytest.fixture
def line():
    def make(**kwargs) -> Task:
        rules = {"left": {"index": 0, "below": -0.5}, "right": {"index": 0, "above": 0.5}}
        world = GymnasiumWorld("errands-tests/Line-v0", rules, kwargs, limit=30)
        return Task("line", world, any_order("left", "right"))

    return make
