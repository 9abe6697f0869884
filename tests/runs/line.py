"""A user's environment of seven cells in a row, which a network learns in a few hundred steps."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from errands.tasks import Task

SETTINGS = {
    "width": 16, "depth": 1, "capacity": 2_000, "warmup": 50, "platform": "cpu", "eval_every": 100, "epsilon": 0.5, "alpha": 0.001,
}  # fmt: skip
FEATURES = {"left": {"index": 0, "below": -0.9}, "right": {"index": 0, "above": 0.9}}


class Line(gym.Env[Any, Any]):
    """A step to the left or to the right, which slips into the other one now and then."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, slip: float = 0.0) -> None:
        self.slip, self.at = slip, 3

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 3
        return self._seen(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.slip and self.np_random.random() < self.slip:
            action = 1 - action
        self.at = min(6, max(0, self.at + (1 if action else -1)))
        return self._seen(), 0.0, False, False, {}

    def _seen(self) -> Any:
        return np.array([self.at / 3 - 1], np.float32)


def task(slip: float = 0.0) -> Task:
    """Both ends, in any order: three steps to the one, six more to the other."""
    return Task.from_env(Line, FEATURES, "any_order(left, right)", limit=30, kwargs={"slip": slip}, name="line")
