"""A corridor from -1 to 1 that counts every step taken in it, whoever takes it; numbered or continuous pushes."""

import dataclasses
from functools import lru_cache

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("jax", reason="DiRL with networks needs the extra [deep]")

from errands.learners.dirl.deep import DeepDiRL
from errands.learners.dirl.settings import DeepDiRLConfig
from errands.tasks.task import Task
from errands.worlds import GymnasiumWorld

RULES = {
    "left": {"index": 0, "below": -0.5},
    "right": {"index": 0, "above": 0.5},
    "moon": {"index": 0, "above": 2.0},
}
SMALL = DeepDiRLConfig(
    width=24, depth=1, batch=32, alpha=3e-3, polyak=0.05, warmup=100, epsilon="1..0.1@0,300", action_noise=0.3,
    capacity=250, edge_steps=250, rollouts=4, edge_limit=20,
)  # fmt: skip


class Corridor(gym.Env):
    observation_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    metadata = {"render_modes": []}  # noqa: RUF012
    taken = 0

    def __init__(self, continuous: bool = False, shut: bool = False, render_mode: str | None = None) -> None:
        self.x = 0.0
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32) if continuous else gym.spaces.Discrete(2)
        if shut:
            self.hidden = object()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = float(self.np_random.uniform(-0.1, 0.1))
        return np.array([self.x], np.float32), {}

    def step(self, action):
        Corridor.taken += 1
        push = float(action[0]) if np.ndim(action) else 2.0 * action - 1.0
        self.x = float(np.clip(self.x + np.clip(push, -1, 1) / 4, -1, 1))
        return np.array([self.x], np.float32), 0.0, False, False, {}


if "errands-tests/Corridor-v0" not in gym.registry:
    gym.register("errands-tests/Corridor-v0", Corridor)


@lru_cache
def world(**kwargs) -> GymnasiumWorld:
    """One world for all tasks, so that its learners are compiled once."""
    return GymnasiumWorld("errands-tests/Corridor-v0", RULES, kwargs, limit=30)


@pytest.fixture
def corridor():
    """Corridor tasks by machine."""

    def make(machine, **kwargs) -> Task:
        return Task("corridor", world(**kwargs), machine)

    return make


@pytest.fixture
def small():
    """DiRL with networks that learn in a second."""

    def make(task: Task, seed: int = 0, **changes) -> DeepDiRL:
        return DeepDiRL(task, dataclasses.replace(SMALL, **changes), seed)

    return make


@pytest.fixture
def witness():
    """The steps that corridors have counted since."""
    kind = type(gym.make("errands-tests/Corridor-v0").unwrapped)
    before = kind.taken
    return lambda: kind.taken - before
