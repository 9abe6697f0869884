"""Water as a world and as a Gymnasium environment: the shell around the rules of water.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from errands.worlds import water
from errands.worlds.drawing import Box, Disc, Drawing, Shape, pixels
from errands.worlds.maps import positive
from errands.worlds.saving import Saved, restore_random, save_random

_PAINT = dict(zip(water.COLOURS, ("#d64541", "#3a9d4f", "#3b6fc4", "#e3b505", "#2ab7ca", "#b14fb5"), strict=True))
_COLUMNS, _LINES = 40, 20


@dataclass(frozen=True)
class Water:
    """The Water world on the map of a seed; it reports a colour in the step in which a new overlap with it starts."""

    map_seed: int = 0
    limit: int = 600

    def __post_init__(self) -> None:
        positive("limit", self.limit)

    @property
    def kind(self) -> str:
        """The word of task files: water."""
        return "water"

    @property
    def features(self) -> tuple[str, ...]:
        """The six colours."""
        return water.COLOURS

    @property
    def signals(self) -> tuple[str, ...]:
        """None: Water reports features only."""
        return ()

    @property
    def certain(self) -> bool:
        """Yes: the balls of a map start and move alike in every episode."""
        return True

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment of this map."""
        return WaterEnv(self, render_mode)

    def finite(self) -> None:
        """None: Water is continuous."""
        return


class WaterEnv(gym.Env[NDArray[np.float32], Any]):
    """The agent observes 52 numbers, pushes itself in four directions or not, and is truncated at the limit."""

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 10}  # noqa: RUF012 (as in gymnasium)

    def __init__(self, world: Water, render_mode: str | None = None) -> None:
        self.limit = world.limit
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (water.OBSERVATION,), np.float32)
        self.action_space = gym.spaces.Discrete(len(water.ACTIONS))
        self._start = water.reset_state(world.map_seed)
        self.state = self._start
        self.steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Back to the state in which every episode starts; nothing touches there."""
        super().reset(seed=seed)
        self.state, self.steps = self._start, 0
        return water.observe(self.state), {"features": set(), "signals": {}}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """One push of a tenth of a second; `info["features"]` names the colours newly touched."""
        self.state, touched = water.step(self.state, int(action))
        self.steps += 1
        features = {water.COLOURS[i] for i in np.flatnonzero(touched)}
        truncated = self.steps >= self.limit
        return water.observe(self.state), 0.0, False, truncated, {"features": features, "signals": {}}

    def render(self) -> Any:
        """The arena as text or as pixels, by render mode."""
        if self.render_mode == "ansi":
            return water_text(self.state)
        if self.render_mode == "rgb_array":
            return pixels(water_drawing(self.state))
        return None

    def save(self) -> Saved:
        """The full state as plain data."""
        parts = {name: part.tolist() for name, part in self.state._asdict().items()}
        return {**parts, "steps": self.steps, "random": save_random(self)}

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state."""
        parts = self._start._asdict().items()
        self.state = water.WaterState(**{name: np.array(saved[name], part.dtype) for name, part in parts})
        self.steps = saved["steps"]
        restore_random(self, saved["random"])


def water_drawing(state: water.WaterState) -> Drawing:
    """The arena as shapes, y upwards: coloured balls, the agent as a ring."""
    shapes: list[Shape] = [Box(0, 0, water.ARENA, water.ARENA, "#f4f8fb")]
    for i, (x, y) in enumerate(state.balls.tolist()):
        shapes.append(Disc(x, water.ARENA - y, water.RADIUS, _PAINT[water.COLOURS[i // water.BALLS_EACH]]))
    x, y = state.agent.tolist()
    shapes += [Disc(x, water.ARENA - y, r, fill) for r, fill in ((water.RADIUS, "#222222"), (11.0, "#ffffff"))]
    return Drawing(water.ARENA, water.ARENA, tuple(shapes))


def water_text(state: water.WaterState) -> str:
    """The arena as lines of text: each ball by the first letter of its colour, the agent as '@'."""
    canvas = [["."] * _COLUMNS for _ in range(_LINES)]
    marks = [(place, water.COLOURS[i // water.BALLS_EACH][0]) for i, place in enumerate(state.balls.tolist())]
    for (x, y), mark in [*marks, (state.agent.tolist(), "@")]:
        canvas[_LINES - 1 - int(y / water.ARENA * _LINES)][int(x / water.ARENA * _COLUMNS)] = mark
    return "\n".join("".join(line) for line in canvas) + "\n"
