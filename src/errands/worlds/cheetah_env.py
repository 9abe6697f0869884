"""The Gymnasium shell of HalfCheetah; importing this file imports MuJoCo."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np
from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv as GymnasiumHalfCheetah
from numpy.typing import NDArray

from errands.errors import TaskError
from errands.worlds.cheetah import CONTROL_COST, HalfCheetah, features_at
from errands.worlds.saving import Saved, restore_physics, restore_random, save_physics, save_random


class HalfCheetahEnv(GymnasiumHalfCheetah):
    """HalfCheetah-v5 that observes its position from the start (18 numbers), earns nothing and reports features."""

    def __init__(self, world: HalfCheetah, render_mode: str | None = None) -> None:
        with _silently():
            super().__init__(
                ctrl_cost_weight=CONTROL_COST,
                exclude_current_positions_from_observation=False,
                reset_noise_scale=0.1 if world.start == "drawn" else 0.0,
                render_mode=render_mode,
            )
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": self.metadata["render_fps"]}
        self.limit = world.limit
        self.steps = 0
        self.origin = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """A new start, drawn as gymnasium does or always the same; positions count from there."""
        super().reset(seed=seed, options=options)
        self.steps = 0
        # A drawn start moves the robot a little; B to E are distances from where it stood.
        self.origin = float(self.data.qpos[0])
        return self.observe(), {"features": features_at(self.distance), "signals": {"control_cost": 0.0}}

    def step(self, action: Any) -> tuple[NDArray[np.float64], Any, bool, bool, dict[str, Any]]:
        """One action of 0.05 seconds; never terminates, truncates at the limit."""
        self.do_simulation(action, self.frame_skip)
        self.steps += 1
        signals = {"control_cost": CONTROL_COST * float(np.sum(np.square(action)))}
        info = {"features": features_at(self.distance), "signals": signals}
        return self.observe(), 0.0, False, self.steps >= self.limit, info

    @property
    def distance(self) -> float:
        """How far the robot is from its start, forwards positive."""
        return float(self.data.qpos[0]) - self.origin

    def observe(self) -> NDArray[np.float64]:
        """The nine positions, the first counted from the start, and the nine velocities."""
        observation = np.concatenate([self.data.qpos, self.data.qvel])
        observation[0] = self.distance
        return observation

    def render(self) -> Any:
        """A picture, where it was made with that render mode."""
        return None if self.render_mode is None else self.mujoco_renderer.render(self.render_mode)

    def save(self) -> Saved:
        """The full state as plain data."""
        physics = save_physics(self.model, self.data)
        return {"physics": physics, "steps": self.steps, "origin": self.origin, "random": save_random(self)}

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state."""
        steps, origin = saved["steps"], saved["origin"]
        # What is stored may be anything; these two are used far from here, where nobody would know what is wrong.
        if type(steps) is not int or steps < 0 or type(origin) is not float or not math.isfinite(origin):
            raise TaskError(f"the stored robot took {str(steps)[:40]} steps from {str(origin)[:40]}: these are no such numbers")
        restore_physics(self.model, self.data, saved["physics"])
        self.steps, self.origin = steps, origin
        restore_random(self, saved["random"])


@contextmanager
def _silently() -> Iterator[None]:
    """Gymnasium's robot is written in an old style: keep MuJoCo from saying so, and from leaving a log file behind."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
