"""Water (Section 6): an agent pushed about among drifting balls of six colours; rules in NumPy, world, environment.

Velocities in a state are distances per step, so a step only adds: NumPy and JAX in float32 then agree to the last bit.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import gymnasium as gym
import numpy as np

from errands.worlds.base import Described, Limit, Seed
from errands.worlds.env import WorldEnv
from errands.worlds.grid import positive, units
from errands.worlds.picture import Disc, Drawing, Rectangle, Shape
from errands.worlds.saving import Saved

if TYPE_CHECKING:
    from errands.worlds.batched import BatchedWorld
    from errands.worlds.families import MapFamily

Singles = Any
"""Numbers in float32, an array of numpy's or of JAX's."""

ARENA, RADIUS = 400.0, 15.0
COLOURS = ("red", "green", "blue", "yellow", "cyan", "magenta")
BALLS_EACH = 2
BALLS = len(COLOURS) * BALLS_EACH
STEP = 0.1
"""Seconds to a step."""
BALL_SPEED, PUSH, TOP_SPEED = 30.0 * STEP, 30.0 * STEP, 90.0 * STEP
ACTIONS = ("none", "up", "right", "down", "left")
PUSHES = np.array([(0, 0), (0, PUSH), (PUSH, 0), (0, -PUSH), (-PUSH, 0)], np.float32)
"""What each action adds to the agent's velocity; y points up."""
OBSERVATION = 4 + 4 * BALLS
_APART, _AWAY = 2 * RADIUS, 4 * RADIUS
_PAINT = dict(zip(COLOURS, ("#d64541", "#3a9d4f", "#3b6fc4", "#e3b505", "#2ab7ca", "#b14fb5"), strict=True))
"""As in the page's style.css."""


class WaterState(NamedTuple):
    """Everything that the future depends on; ball i has colour i // 2."""

    agent: Singles
    """[2] the agent's centre."""
    velocity: Singles
    """[2] the agent's velocity, per step."""
    balls: Singles
    """[12, 2] the balls' centres."""
    drifts: Singles
    """[12, 2] the balls' velocities, per step."""
    touching: Any
    """[12] which balls overlap the agent."""


def reset_state(map_seed: int) -> WaterState:
    """The state in which every episode on this map starts: agent at rest in the middle, balls apart, angles uniform."""
    # All places first, then all angles: another order of draws would be other maps.
    random = units(map_seed)
    centre = (ARENA / 2, ARENA / 2)
    places: list[tuple[float, float]] = []
    while len(places) < BALLS:
        place = (_inside(next(random)), _inside(next(random)))
        if math.dist(place, centre) > _AWAY and all(math.dist(place, other) >= _APART for other in places):
            places.append(place)
    angles = [2 * math.pi * next(random) for _ in range(BALLS)]
    return WaterState(
        agent=np.array(centre, np.float32),
        velocity=np.zeros(2, np.float32),
        balls=np.array(places, np.float32),
        drifts=np.array([(BALL_SPEED * math.cos(a), BALL_SPEED * math.sin(a)) for a in angles], np.float32),
        # Nothing touches yet: every ball starts more than four radii away from the agent.
        touching=np.zeros(BALLS, np.bool_),
    )


def _inside(unit: float) -> float:
    return RADIUS + unit * (ARENA - 2 * RADIUS)


def step(state: WaterState, action: Any, xp: Any = np) -> tuple[WaterState, Any]:
    """The next state, and for each colour whether an overlap with one of its balls starts; `xp` is numpy or jax.numpy."""
    # Push, move, bounce, then compare: a touch is reported in the step in which it happens.
    pushed = xp.clip(state.velocity + xp.asarray(PUSHES)[action], -TOP_SPEED, TOP_SPEED).astype(np.float32)
    agent, velocity = _bounce(state.agent + pushed, pushed, xp)
    balls, drifts = _bounce(state.balls + state.drifts, state.drifts, xp)
    gap = balls - agent
    touching = gap[:, 0] * gap[:, 0] + gap[:, 1] * gap[:, 1] <= np.float32(4 * RADIUS * RADIUS)
    # New overlaps only; the balls of one colour stand side by side.
    touched = (touching & ~state.touching).reshape(len(COLOURS), BALLS_EACH).any(axis=1)
    return WaterState(agent, velocity, balls, drifts, touching), touched


def _bounce(centre: Singles, velocity: Singles, xp: Any) -> tuple[Singles, Singles]:
    """A centre past a wall is put against it, and that part of its velocity turns round."""
    held = xp.clip(centre, RADIUS, ARENA - RADIUS).astype(np.float32)
    return held, xp.where(held == centre, velocity, -velocity).astype(np.float32)


def observe(state: WaterState, xp: Any = np) -> Singles:
    """The 52 numbers: own position and velocity, then each ball's relative to the agent's, all in [-1, 1]."""
    own = xp.concatenate([state.agent / np.float32(ARENA), state.velocity / np.float32(TOP_SPEED)])
    places = (state.balls - state.agent) / np.float32(ARENA)
    speeds = (state.drifts - state.velocity) / np.float32(TOP_SPEED + BALL_SPEED)
    return xp.concatenate([own, xp.concatenate([places, speeds], axis=1).ravel()]).astype(np.float32)


@dataclass(frozen=True)
class Water(Described):
    """The Water world on the map of a seed; it reports a colour in the step in which a new overlap with it starts."""

    kind: ClassVar[str] = "water"
    map_seed: Seed = 0
    limit: Limit = 600
    features: ClassVar[tuple[str, ...]] = COLOURS
    signals: ClassVar[tuple[str, ...]] = ()
    action_names: ClassVar[tuple[str, ...]] = ACTIONS
    certain: ClassVar[bool] = True
    """The balls of a map start and move alike in every episode."""

    def __post_init__(self) -> None:
        positive("limit", self.limit)

    @cached_property
    def start(self) -> WaterState:
        """The state in which every episode starts."""
        return reset_state(self.map_seed)

    @property
    def batched(self) -> BatchedWorld:
        """The rules in JAX."""
        from errands.worlds.families import world_of_map

        return world_of_map(self.start, self.features)

    @property
    def family(self) -> MapFamily:
        """Water on any map."""
        from errands.worlds.families import water_family

        return water_family()

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment of this map."""
        return ArenaEnv(self, sys.modules[__name__], render_mode)

    def finite(self) -> None:
        """None: Water is continuous."""
        return


class ArenaEnv(WorldEnv):
    """The agent sees numbers from -1 to 1, and pushes itself in four directions or not; each world has its own rules."""

    def __init__(self, world: Any, rules: ModuleType, render_mode: str | None = None) -> None:
        self.world, self.rules, self.state = world, rules, world.start
        space = gym.spaces.Box(-1.0, 1.0, self._seen().shape, np.float32)
        super().__init__(space, len(ACTIONS), world.limit, render_mode)

    def _begin(self) -> set[str]:
        self.state = self.world.start
        return set()

    def _move(self, action: Any) -> tuple[set[str], dict[str, float]]:
        self.state, holds = self.rules.step(self.state, int(action))
        return {self.world.features[i] for i in np.flatnonzero(holds)}, {}

    def _seen(self) -> Singles:
        return self.rules.observe(self.state)

    def _drawing(self) -> Drawing:
        drawing: Drawing = self.rules.drawing_of(self.state)
        return drawing

    def _state(self) -> Saved:
        return {name: part.tolist() for name, part in self.state._asdict().items()}

    def _put(self, saved: Saved) -> None:
        parts = self.world.start._asdict().items()
        self.state = type(self.state)(**{name: np.array(saved[name], part.dtype) for name, part in parts})


def drawing_of(state: WaterState) -> Drawing:
    """The picture of a state."""
    return water_drawing(state.agent.tolist(), state.balls.tolist())


def water_drawing(agent: Sequence[float], balls: Sequence[Sequence[float]]) -> Drawing:
    """The arena as shapes, y upwards: coloured balls, the agent as a ring."""
    shapes: list[Shape] = [Rectangle(0, 0, ARENA, ARENA, "#f4f8fb")]
    for i, (x, y) in enumerate(balls):
        shapes.append(Disc(x, ARENA - y, RADIUS, _PAINT[COLOURS[i // BALLS_EACH]]))
    x, y = agent
    shapes += [Disc(x, ARENA - y, r, fill) for r, fill in ((RADIUS, "#222222"), (11.0, "#ffffff"))]
    return Drawing(ARENA, ARENA, tuple(shapes))
