"""What the environments of our own worlds share: episodes that are cut off at a limit, and a state that is plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym

from errands.worlds.picture import Drawing, pixels
from errands.worlds.saving import Saved, restore_random, save_random

Info = dict[str, Any]


class WorldEnv(gym.Env[Any, Any]):
    """An environment that earns nothing and reports features and signals; what is its own has an underscore."""

    _begin: Callable[[], set[str]]
    _move: Callable[[Any], tuple[set[str], dict[str, float]]]
    _seen: Callable[[], Any]
    _drawing: Callable[[], Drawing]
    _state: Callable[[], Saved]
    _put: Callable[[Saved], None]
    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 (as in gymnasium)

    def __init__(self, space: gym.Space[Any], actions: int, limit: int, render_mode: str | None = None) -> None:
        self.observation_space, self.action_space = space, gym.spaces.Discrete(actions)
        self.limit, self.render_mode, self.steps = limit, render_mode, 0

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """Back to a state in which an episode begins, which is labelled too."""
        super().reset(seed=seed)
        self.steps = 0
        features = self._begin()
        return self._seen(), {"features": features, "signals": {}}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """One move; `info` says what holds where it ended. The limit truncates."""
        features, signals = self._move(action)
        self.steps += 1
        return self._seen(), 0.0, False, self.steps >= self.limit, {"features": features, "signals": signals}

    def render(self) -> Any:
        """The world as pixels, where it was made with that render mode."""
        return pixels(self._drawing()) if self.render_mode == "rgb_array" else None

    def save(self) -> Saved:
        """The full state as plain data."""
        return {**self._state(), "steps": self.steps, "random": save_random(self)}

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state."""
        self._put(saved)
        self.steps = saved["steps"]
        restore_random(self, saved["random"])
