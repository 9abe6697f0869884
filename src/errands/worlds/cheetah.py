"""HalfCheetah (Section 6): run backwards to B or forwards to C, D, E; gymnasium's MuJoCo robot, extra `mujoco`."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import gymnasium as gym

from errands.errors import ErrandsError, SpecError, install
from errands.worlds.base import Described, Limit
from errands.worlds.grid import positive
from errands.worlds.saving import choose_gl

BACKWARD = (("B", -2.0),)
FORWARD = (("C", 2.0), ("D", 4.0), ("E", 6.0))
CONTROL_COST = 0.1


@dataclass(frozen=True)
class HalfCheetah(Described):
    """The robot, with the features B: x < -2, C: x > 2, D: x > 4, E: x > 6 (from its start) and its control cost."""

    kind: ClassVar[str] = "cheetah"
    limit: Limit = 1000
    start: Literal["drawn", "fixed"] = "drawn"
    """Whether each episode starts as gymnasium draws it, or from one state, as the paper's and the catalogue's tasks do."""
    features: ClassVar[tuple[str, ...]] = tuple(name for name, _ in BACKWARD + FORWARD)
    signals: ClassVar[tuple[str, ...]] = ("control_cost",)
    """0.1 times the sum of squared actions: a positive number."""
    continuous_actions: ClassVar[bool] = True
    batched_physics: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive("limit", self.limit)
        if self.start not in ("drawn", "fixed"):
            raise SpecError(f"start is '{self.start}'; choose drawn or fixed")

    @property
    def certain(self) -> bool:
        """Whether every episode starts alike; MuJoCo itself leaves nothing to chance."""
        return self.start == "fixed"

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment; without a screen, pixels are drawn through EGL."""
        if importlib.util.find_spec("mujoco") is None:
            raise ErrandsError(f"HalfCheetah needs MuJoCo, which is not installed; run: {install('mujoco')}")
        if render_mode == "rgb_array":
            choose_gl()
        from errands.worlds.cheetah_env import HalfCheetahEnv

        return HalfCheetahEnv(self, render_mode)

    def finite(self) -> None:
        """None: the robot's states are continuous."""
        return


def features_at(x: float) -> set[str]:
    """The features that hold at a distance x from the start."""
    return {name for name, bound in BACKWARD if x < bound} | {name for name, bound in FORWARD if x > bound}
