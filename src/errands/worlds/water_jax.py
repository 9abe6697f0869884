"""Water's rules in JAX: pure, to be jitted and vmapped over states; the same numbers as water.py in float32."""

# ruff: noqa: F722, UP037 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from errands.worlds import water
from errands.worlds.batched import BatchedStep, BatchedWorld


class WaterArrays(NamedTuple):
    """Everything that the future depends on, as in water.WaterState; a pytree of arrays."""

    agent: Float[Array, "2"]
    velocity: Float[Array, "2"]
    balls: Float[Array, "12 2"]
    drifts: Float[Array, "12 2"]
    touching: Bool[Array, "12"]


def reset_state(map_seed: int) -> WaterArrays:
    """The state in which every episode on this map starts."""
    return WaterArrays(*(jnp.asarray(part) for part in water.reset_state(map_seed)))


def step(state: WaterArrays, action: Int[Array, ""] | int) -> tuple[WaterArrays, Bool[Array, "6"]]:
    """The next state, and for each colour whether an overlap with one of its balls starts in this step."""
    # The rules of water.step in the same order: change both or neither.
    pushed = jnp.clip(state.velocity + jnp.asarray(water.PUSHES)[action], -water.TOP_SPEED, water.TOP_SPEED)
    agent, velocity = _bounce(state.agent + pushed, pushed)
    balls, drifts = _bounce(state.balls + state.drifts, state.drifts)
    touching = jnp.sum(jnp.square(balls - agent), axis=1) <= 4 * water.RADIUS * water.RADIUS
    touched = (touching & ~state.touching).reshape(len(water.COLOURS), water.BALLS_EACH).any(axis=1)
    return WaterArrays(agent, velocity, balls, drifts, touching), touched


def batched(map_seed: int) -> BatchedWorld:
    """The batched world of one map, on which every episode starts alike."""
    first = reset_state(map_seed)

    def answer(state: WaterArrays, action: Int[Array, ""] | int, key: Array) -> BatchedStep:
        state, touched = step(state, action)
        return BatchedStep(state, observe(state), touched, jnp.bool_(False), jnp.zeros(0))

    return BatchedWorld(water.OBSERVATION, len(water.ACTIONS), water.COLOURS, lambda key: first, answer, observe)


def _bounce(
    centre: Float[Array, "*balls 2"], velocity: Float[Array, "*balls 2"]
) -> tuple[Float[Array, "*balls 2"], Float[Array, "*balls 2"]]:
    held = jnp.clip(centre, water.RADIUS, water.ARENA - water.RADIUS)
    return held, jnp.where(held == centre, velocity, -velocity)


def observe(state: WaterArrays) -> Float[Array, "52"]:
    """The 52 numbers of water.observe."""
    own = jnp.concatenate([state.agent / water.ARENA, state.velocity / water.TOP_SPEED])
    places = (state.balls - state.agent) / water.ARENA
    speeds = (state.drifts - state.velocity) / (water.TOP_SPEED + water.BALL_SPEED)
    return jnp.concatenate([own, jnp.concatenate([places, speeds], axis=1).ravel()])
