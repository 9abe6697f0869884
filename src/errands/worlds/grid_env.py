"""The Gymnasium shell of grid worlds: it holds the agent's cell and asks the layout's table what follows."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from errands.worlds.drawing import pixels
from errands.worlds.grid import GridLayout, outcomes
from errands.worlds.grid_picture import grid_drawing, grid_text
from errands.worlds.saving import Saved, restore_random, save_random

Info = dict[str, Any]


class GridEnv(gym.Env[Any, Any]):
    """An agent on a grid: observes its cell, moves in four directions, earns nothing, is truncated at the limit."""

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 8}  # noqa: RUF012 (as in gymnasium)
    action_names: ClassVar[tuple[str, ...]] = ("up", "right", "down", "left")

    def __init__(self, layout: GridLayout, limit: int, render_mode: str | None = None) -> None:
        self.layout = layout
        self.limit = limit
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Discrete(layout.cells)
        self.action_space = gym.spaces.Discrete(4)
        reached, cumulative = outcomes(layout)
        self._next = reached.tolist()
        self._cumulative = cumulative.tolist()
        self._features = [layout.features_at(cell) for cell in range(layout.cells)]
        self.cell = layout.start
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """Back to the start; the initial state is labelled too."""
        super().reset(seed=seed)
        self.cell, self.steps = self.layout.start, 0
        return self.observe(), self._info(self.label_start())

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """One move; `info["features"]` says what holds where it ended."""
        outcome = 0
        if self.layout.slip:
            outcome = bisect_right(self._cumulative[self.cell][action], self.np_random.random())
        self.cell = self._next[self.cell][action][outcome]
        self.steps += 1
        info = self._info(self.enter())
        return self.observe(), 0.0, False, self.steps >= self.limit, info

    def _info(self, features: frozenset[str]) -> Info:
        return {"features": set(features), "signals": {}}

    def observe(self) -> Any:
        """The observation: the number of the cell."""
        return self.cell

    def label_start(self) -> frozenset[str]:
        """The features of the initial state."""
        return self._features[self.cell]

    def enter(self) -> frozenset[str]:
        """Apply what happens on the cell just entered and say which features this step has."""
        return self._features[self.cell]

    def hidden(self) -> frozenset[str]:
        """Features that are not on the grid at the moment."""
        return frozenset()

    def render(self) -> Any:
        """The grid as text or as pixels, by render mode."""
        if self.render_mode == "ansi":
            return grid_text(self.layout, self.cell, self.hidden())
        if self.render_mode == "rgb_array":
            return self.pixels()
        return None

    def pixels(self) -> NDArray[np.uint8]:
        """The grid as an image."""
        return pixels(grid_drawing(self.layout, self.cell, hidden=self.hidden()))

    def save(self) -> Saved:
        """The full state as plain data."""
        return {"cell": self.cell, "steps": self.steps, "random": save_random(self)}

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state."""
        self.cell, self.steps = saved["cell"], saved["steps"]
        restore_random(self, saved["random"])
