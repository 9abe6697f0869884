"""Water (Section 6): an agent pushed about among drifting balls of six colours; the rules in NumPy.

Velocities in a state are distances per step, so a step only adds: NumPy and JAX in float32 then agree to the last bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.worlds.maps import units

Singles = NDArray[np.float32]

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
    touching: NDArray[np.bool_]
    """[12] which balls overlap the agent."""


def reset_state(map_seed: int) -> WaterState:
    """The state in which every episode on this map starts: agent at rest in the middle, balls apart, angles uniform."""
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
        touching=np.zeros(BALLS, np.bool_),
    )


def _inside(unit: float) -> float:
    return RADIUS + unit * (ARENA - 2 * RADIUS)


def step(state: WaterState, action: int) -> tuple[WaterState, NDArray[np.bool_]]:
    """The next state, and for each colour whether an overlap with one of its balls starts in this step."""
    pushed = np.clip(state.velocity + PUSHES[action], -TOP_SPEED, TOP_SPEED).astype(np.float32)
    agent, velocity = _bounce(state.agent + pushed, pushed)
    balls, drifts = _bounce(state.balls + state.drifts, state.drifts)
    gap = balls - agent
    touching = gap[:, 0] * gap[:, 0] + gap[:, 1] * gap[:, 1] <= np.float32(4 * RADIUS * RADIUS)
    touched: NDArray[np.bool_] = np.any((touching & ~state.touching).reshape(len(COLOURS), BALLS_EACH), axis=1)
    return WaterState(agent, velocity, balls, drifts, touching), touched


def _bounce(centre: Singles, velocity: Singles) -> tuple[Singles, Singles]:
    """A centre past a wall is put against it, and that part of its velocity turns round."""
    held = np.clip(centre, RADIUS, ARENA - RADIUS).astype(np.float32)
    return held, np.where(held == centre, velocity, -velocity).astype(np.float32)


def observe(state: WaterState) -> Singles:
    """The 52 numbers: own position and velocity, then each ball's relative to the agent's, all in [-1, 1]."""
    own = np.concatenate([state.agent / np.float32(ARENA), state.velocity / np.float32(TOP_SPEED)])
    places = (state.balls - state.agent) / np.float32(ARENA)
    speeds = (state.drifts - state.velocity) / np.float32(TOP_SPEED + BALL_SPEED)
    return np.concatenate([own, np.concatenate([places, speeds], axis=1).ravel()]).astype(np.float32)
