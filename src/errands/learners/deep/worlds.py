"""Worlds that live on the device: Water, and any finite world seen as one-hot observations."""



from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from errands.learners.deep.machine import Listed
from errands.worlds import water_jax
from errands.worlds.water import ACTIONS, COLOURS, OBSERVATION, Water


@dataclass(frozen=True, eq=False)
class DeviceWorld:
    """A world as pure functions; `start` and `step` are given one uniform number for what is left to chance."""

    observation: int
    actions: int
    """Discrete actions, or the length of a continuous one."""
    continuous: bool
    signals: int
    limit: int
    start: Callable[[Array], Any]
    step: Callable[[Any, Array, Array], tuple[Any, Array, Array, Array]]
    """(state, action, uniform) -> (state, label, whether the world ends, signals)."""
    observe: Callable[[Any], Array]


@lru_cache(maxsize=16)
def device_world(machine: Listed) -> DeviceWorld | None:
    """The world of a machine's task on the device; None where it has to be stepped on the host."""
    if isinstance(machine.task.world, Water):
        return _water(machine.task.world, machine)
    return None if machine.task.finite is None else _finite(machine)


def _water(world: Water, machine: Listed) -> DeviceWorld:
    first = water_jax.reset_state(world.map_seed)
    weights = jnp.array([1 << machine.task.machine.features.index(c) if c in machine.task.machine.features else 0
                         for c in COLOURS], jnp.int32)  # fmt: skip

    def step(state: Any, action: Array, uniform: Array) -> tuple[Any, Array, Array, Array]:
        state, touched = water_jax.step(state, action[0].astype(jnp.int32))
        return state, jnp.sum(weights * touched), jnp.bool_(False), jnp.zeros(0)

    return DeviceWorld(OBSERVATION, len(ACTIONS), False, 0, world.limit, lambda uniform: first, step, water_jax.observe)


def _finite(machine: Listed) -> DeviceWorld:
    finite = machine.task.finite
    assert finite is not None  # noqa: S101 (the caller looked)
    table = finite.table
    following, label, ends = (jnp.asarray(x) for x in (table.next, table.label, table.ends))
    cumulative, signal = jnp.asarray(table.cumulative, jnp.float32), jnp.asarray(table.signal, jnp.float32)
    starts, chances = jnp.asarray(table.starts), jnp.asarray(table.start_cumulative, jnp.float32)

    def start(uniform: Array) -> Array:
        return starts[jnp.minimum(jnp.searchsorted(chances, uniform, side="right"), len(starts) - 1)]

    def step(state: Array, action: Array, uniform: Array) -> tuple[Array, Array, Array, Array]:
        a = action[0].astype(jnp.int32)
        o = jnp.minimum(jnp.sum(uniform >= cumulative[state, a]), following.shape[2] - 1)
        return following[state, a, o], label[state, a, o], ends[state, a, o], signal[:, state, a, o]

    def observe(state: Array) -> Array:
        return (jnp.arange(finite.states) == state).astype(jnp.float32)

    return DeviceWorld(finite.states, finite.actions, False, len(finite.signals), machine.task.world.limit, start, step, observe)
