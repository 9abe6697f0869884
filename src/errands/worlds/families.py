"""Families: worlds with a new map at every start, seen as objects; what one network can learn for all maps of them.

A row is what a learner keeps of a state: for a world without tables the observation of its environment, for a grid the places
of everything relative to the agent. Maps are drawn from random keys and never from map seeds.
"""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from errands.worlds import water, zones
from errands.worlds.batched import BatchedStep, BatchedWorld
from errands.worlds.places import LETTER_SIDE, LETTERS, cells_of


class Scene(NamedTuple):
    """A state as objects; their order says nothing."""

    own: Float[Array, "*rows own"]
    """What is about no object, such as the agent's velocity."""
    things: Float[Array, "*rows features each numbers"]
    """The things that make each feature true: where they are, seen from the agent, and how they move."""


@dataclass(frozen=True, eq=False)
class MapFamily:
    """A world whose map is part of its state."""

    world: BatchedWorld
    """Its `reset` draws a map; its observations are rows."""
    scene: Callable[[Any], Scene]
    """What rows [..., inputs] show."""
    row: Callable[[Any], Any]
    """The row of what the environment of a world of this family observes."""
    state: Callable[[Any], Any]
    """The state of the world that a row shows."""
    beside: Callable[[Any, int], Any] | None = None
    """The row as it would be at rest at the thing of a feature, where that can be said: it stands still, and is the only one."""
    largest: int = 0
    """The largest whole number in its states."""


def _answer(state: Any, holds: Array, observe: Callable[[Any], Array]) -> BatchedStep:
    return BatchedStep(state, observe(state), holds, jnp.bool_(False), jnp.zeros(0))


def _agent(row: Array) -> tuple[Array, Array]:
    """Place and velocity, which are always whole numbers."""
    return jnp.round(row[:2] * water.ARENA), jnp.round(row[2:4] * water.TOP_SPEED)


def _near_and_far(rows: Array) -> Array:
    """Distances in arenas, and again such that what is near counts more."""
    return jnp.concatenate([rows, jnp.tanh(8 * rows)], axis=-1)


@cache
def water_family() -> MapFamily:
    """Water on maps whose balls begin anywhere but near the agent."""

    def reset(key: Array) -> water.WaterState:
        first, second = jax.random.split(key)
        places = jax.random.uniform(first, (water.BALLS, 2), minval=water.RADIUS, maxval=water.ARENA - water.RADIUS)
        # Who would begin beside the agent is moved by half an arena.
        middle = water.ARENA / 2
        near = jnp.linalg.norm(places - middle, axis=1, keepdims=True) <= 4 * water.RADIUS
        places = jnp.where(near, places + jnp.where(places < middle, 1, -1) * (middle - water.RADIUS), places)
        angles = jax.random.uniform(second, (water.BALLS,), maxval=2 * jnp.pi)
        drifts = water.BALL_SPEED * jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
        agent = jnp.full(2, middle, jnp.float32)
        return water.WaterState(agent, jnp.zeros(2), places, drifts, jnp.zeros(water.BALLS, bool))

    def scene(rows: Array) -> Scene:
        balls = rows[..., 4:].reshape(*rows.shape[:-1], len(water.COLOURS), water.BALLS_EACH, 4)
        return Scene(rows[..., :4], jnp.concatenate([_near_and_far(balls[..., :2]), balls[..., 2:]], axis=-1))

    def state(row: Array) -> water.WaterState:
        agent, velocity = _agent(row)
        balls = row[4:].reshape(water.BALLS, 4)
        places, drifts = agent + balls[:, :2] * water.ARENA, velocity + balls[:, 2:] * (water.TOP_SPEED + water.BALL_SPEED)
        near = jnp.square(places - agent).sum(axis=1) <= 4 * water.RADIUS**2
        return water.WaterState(agent, velocity, places, drifts, near)

    return MapFamily(_arena(water, water.COLOURS, reset, water.OBSERVATION), scene, np.asarray, state)


def _arena(rules: ModuleType, features: tuple[str, ...], reset: Callable[[Array], Any], inputs: int) -> BatchedWorld:
    """The batched world of rules that are written for NumPy and JAX alike."""

    def observe(state: Any) -> Array:
        seen: Array = rules.observe(state, jnp)
        return seen

    def step(state: Any, action: Any, key: Array) -> BatchedStep:
        after, holds = rules.step(state, action, jnp)
        return _answer(after, holds, observe)

    return BatchedWorld(inputs, len(water.ACTIONS), features, reset, step, observe)


def world_of_map(start: water.WaterState | zones.ZonesState, features: tuple[str, ...]) -> BatchedWorld:
    """The batched world of one map of Water or zones, on which every episode starts alike."""
    rules: Any = zones if isinstance(start, zones.ZonesState) else water
    first = type(start)(*map(jnp.asarray, start))
    return _arena(rules, features, lambda key: first, rules.observe(start).size)


@cache
def zones_family(count: int, walls: bool) -> MapFamily:
    """Zones anywhere, many of them near another one, some in walls; the agent begins anywhere."""
    doors = 12 if walls else 0
    low, high = zones.MARGIN, water.ARENA - zones.MARGIN

    def reset(key: Array) -> zones.ZonesState:
        keys = jax.random.split(key, 5)
        anywhere = jax.random.uniform(keys[0], (count, 2), minval=low, maxval=high)
        close = jnp.roll(anywhere, 1, axis=0) + 40 * jax.random.normal(keys[1], (count, 2))
        places = jnp.where(jax.random.uniform(keys[2], (count, 1)) < 0.5, anywhere, jnp.clip(close, low, high))
        ends = jnp.array([(a + zones.DOOR, b - zones.DOOR) for a, b in zones.ROOMS], jnp.float32).T
        gaps = jnp.round(jax.random.uniform(keys[3], (2, 2, 3), minval=ends[0], maxval=ends[1])) if walls else jnp.zeros(0)
        agent = jnp.round(jax.random.uniform(keys[4], (2,), minval=low, maxval=high))
        agent = jnp.where(zones.blocked(agent, gaps, jnp), water.ARENA / 2, agent)
        return zones.ZonesState(agent, jnp.zeros(2), jnp.round(places), gaps)

    def scene(rows: Array) -> Scene:
        cut = rows.shape[-1] - doors
        things = rows[..., 4:cut].reshape(*rows.shape[:-1], -1, 1, 2)
        # A door is told by its distance along the wall; how far away the wall is tells the own place.
        across = jnp.repeat(rows[..., 1::-1], 6, axis=-1) if walls else rows[..., :0]
        return Scene(jnp.concatenate([rows[..., :4], 4 * (rows[..., cut:] - across)], axis=-1), _near_and_far(4 * things))

    def beside(rows: Any, feature: int) -> Any:
        cut = rows.shape[-1] - doors
        shift = rows[..., 4 + 2 * feature : 6 + 2 * feature]
        things = rows[..., 4:cut] - np.tile(shift, (cut - 4) // 2)
        return np.concatenate([rows[..., :2] + shift, 0 * rows[..., 2:4], things, rows[..., cut:]], axis=-1)

    def state(row: Array) -> zones.ZonesState:
        agent, velocity = _agent(row)
        places, gaps = jnp.round(row[4:] * water.ARENA)[: 2 * count].reshape(count, 2), row[4 + 2 * count :] * water.ARENA
        return zones.ZonesState(agent, velocity, agent + places, jnp.round(gaps.reshape(2, 2, 3) if walls else gaps))

    names = tuple(f"z{i + 1}" for i in range(count))
    return MapFamily(_arena(zones, names, reset, 4 + 2 * count + doors), scene, np.asarray, state, beside)


class LettersState(NamedTuple):
    """Where one is on a map of letters."""

    cell: Int[Array, ""]
    places: Int[Array, "12 2"]
    """The cells of each letter."""


@cache
def _maps(count: int = 500) -> np.ndarray:
    """Cells for letters, of maps whose seeds no task has."""
    return np.array([cells_of(2**62 + number) for number in range(count)], np.int32)


@cache
def letters_family(own: tuple[tuple[int, ...], ...] = ()) -> MapFamily:
    """LetterWorld; `own` are the cells of each letter on the map of the world that is asked, for the rows of its states."""
    places = np.array(own)

    def row(cell: int) -> Any:
        return _relative(cell, places).ravel().astype(np.float32)

    return replace(_letters(), row=row)


def _relative(cell: Any, places: Any) -> Any:
    side = LETTER_SIDE
    return (places // side - cell // side) % side * side + (places - cell) % side


@cache
def _letters() -> MapFamily:
    """The cells of maps as they are drawn, other letters on them each time, the agent anywhere."""
    side, count = LETTER_SIDE, len(LETTERS)
    steps = jnp.array([(-1, 0), (0, 1), (1, 0), (0, -1)])

    def reset(key: Array) -> LettersState:
        first, second, third = jax.random.split(key, 3)
        pool = jnp.asarray(_maps())
        cells = jax.random.permutation(third, pool[jax.random.randint(first, (), 0, len(pool))])
        return LettersState(jax.random.randint(second, (), 0, side * side), cells.reshape(count, 2))

    def observe(state: LettersState) -> Array:
        row: Array = _relative(state.cell, state.places).ravel().astype(jnp.float32)
        return row

    def step(state: LettersState, action: Any, key: Array) -> BatchedStep:
        down, right = steps[action]
        cell = (state.cell // side + down) % side * side + (state.cell % side + right) % side
        return _answer(LettersState(cell, state.places), (state.places == cell).any(axis=1), observe)

    def scene(rows: Array) -> Scene:
        cells = rows.reshape(*rows.shape[:-1], -1, 2).astype(jnp.int32)
        return Scene(rows[..., :0], jax.nn.one_hot(cells, side * side))

    def state(row: Array) -> LettersState:
        # The grid is a torus: whoever stands in its first cell stands anywhere.
        return LettersState(jnp.int32(0), row.reshape(count, 2).astype(jnp.int32))

    world = BatchedWorld(2 * count, 4, LETTERS, reset, step, observe)
    return MapFamily(world, scene, np.asarray, state, largest=side * side - 1)
