"""The device loop: world, buffer and update of many seeds in one compiled loop."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from errands.learners.deep.brain import Brain, Mind, Outcome, Place
from errands.learners.deep.worlds import DeviceWorld

CHUNK = 500
"""Steps whose random numbers are drawn at once."""


class Fleet(NamedTuple):
    """Many seeds side by side; every array but the step has a seed axis."""

    minds: Mind
    places: Place
    worlds: Any
    buffer: Float[Array, "capacity seeds row"]
    keys: Array
    step: Int[Array, ""]


def launch(brain: Brain, world: DeviceWorld, seeds: tuple[int, ...]) -> Fleet:
    """The fleet before its first step."""
    keys = jnp.stack([jax.random.PRNGKey(seed) for seed in seeds])
    minds, places, worlds = _first(brain, world, keys)
    buffer = jnp.zeros((brain.config.capacity, len(seeds), brain.shape.width))
    return Fleet(minds, places, worlds, buffer, keys, jnp.int32(0))


@partial(jax.jit, static_argnums=(0, 1))
def _first(brain: Brain, world: DeviceWorld, keys: Array) -> tuple[Mind, Place, Any]:
    def of(key: Array) -> tuple[Mind, Place, Any]:
        state = world.start(jax.random.uniform(jax.random.fold_in(key, 2**31 - 1)))
        return brain.init(key), Place(world.observe(state), *(jnp.int32(0) for _ in range(3))), state

    minds, places, worlds = jax.vmap(of)(keys)
    return minds, places, worlds


def randoms(brain: Brain, keys: Array, chunk: Array) -> tuple[Array, Array]:
    """The random numbers of a chunk of steps: uniforms and normals, [chunk, seeds, count]."""

    def of(key: Array) -> tuple[Array, Array]:
        first, second = jax.random.split(jax.random.fold_in(key, chunk))
        return jax.random.uniform(first, (CHUNK, brain.uniforms)), jax.random.normal(second, (CHUNK, brain.low.normals))

    uniforms, normals = jax.vmap(of, out_axes=1)(keys)
    return uniforms, normals


def learn_and_act(
    brain: Brain, minds: Mind, places: Place, buffer: Array, step: Array, uniforms: Array, normals: Array
) -> tuple[Mind, Array]:
    """Every seed draws rows, learns and acts."""
    minds, index, extra = jax.vmap(brain.draw, in_axes=(0, None, 0))(minds, step, uniforms)
    rows = buffer[index, jnp.arange(index.shape[0])[:, None]]
    think = jax.vmap(brain.think, in_axes=(0, 0, 0, 0, None, 0, 0))
    minds, actions = think(minds, places, rows, extra, step, uniforms, normals)
    return minds, actions


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=2)
def advance(brain: Brain, world: DeviceWorld, fleet: Fleet, stop: Array | None = None) -> Fleet:
    """Train to step `stop` in the chunk of the next step; without it, through a whole chunk from its beginning."""
    chunk = fleet.step // CHUNK
    uniforms, normals = randoms(brain, fleet.keys, chunk)
    chance = brain.config.batch + 2

    def body(now: Fleet) -> Fleet:
        i = now.step - chunk * CHUNK
        u = uniforms[i]
        minds, actions = learn_and_act(brain, now.minds, now.places, now.buffer, now.step, u, normals[i])
        minds, places, worlds, rows = jax.vmap(partial(_move, brain, world), in_axes=(0, 0, 0, 0, None, 0))(
            minds, now.places, now.worlds, actions, now.step, u[:, chance : chance + 2]
        )
        buffer = jax.lax.dynamic_update_slice(now.buffer, rows[None], (now.step % brain.config.capacity, 0, 0))
        return Fleet(minds, places, worlds, buffer, now.keys, now.step + 1)

    if stop is None:
        # A known number of turns: a GPU then need not ask the host before each whether to go on.
        whole: Fleet = jax.lax.fori_loop(0, CHUNK, lambda _, now: body(now), fleet)
        return whole
    part: Fleet = jax.lax.while_loop(lambda now: now.step < stop, body, fleet)
    return part


def _move(
    brain: Brain, world: DeviceWorld, mind: Mind, place: Place, state: Any, action: Array, step: Array, chance: Array
) -> tuple[Mind, Place, Any, Array]:
    """One seed's step in the world."""
    state, label, ends, signals = world.step(state, action, chance[0])
    observation = world.observe(state)
    outcome = Outcome(observation, label, ends, jnp.bool_(False), signals)
    mind, row, told = brain.after(mind, place, action, outcome, step)
    fresh = world.start(chance[1])
    state = jax.tree.map(lambda a, b: jnp.where(told.over, a, b), fresh, state)
    return mind, brain.moved(place, told, observation, world.observe(fresh)), state, row


class Trial(NamedTuple):
    """One greedy episode."""

    length: Int[Array, ""]
    total: Float[Array, ""]
    success: Array
    order: Int[Array, " completed"]
    """Objectives as they were completed, -1 behind the last."""


class _Try(NamedTuple):
    state: Any
    machine: Array
    time: Array
    over: Array
    held: Array
    since: Array
    trial: Trial
    completed: Array


@partial(jax.jit, static_argnums=(0, 1))
def trials(brain: Brain, world: DeviceWorld, minds: Mind, keys: Array) -> Trial:
    """One greedy episode of every seed."""
    return jax.vmap(partial(_trial, brain, world))(minds, keys)


def _trial(brain: Brain, world: DeviceWorld, mind: Mind, key: Array) -> Trial:
    room = 4 * len(brain.machine.objectives) + 4
    mind = brain.settled(mind)

    def body(at: _Try) -> _Try:
        observation = world.observe(at.state)
        acting = brain.low.view(mind.trained, observation, brain.expansion.code(at.machine))
        worth = brain.low.worth(mind.trained, observation, acting)
        head = brain.high.best(mind.high, at.held, at.since, at.machine, observation, worth)
        chance = jax.random.uniform(jax.random.fold_in(key, at.time))
        state, label, ends, signals = world.step(at.state, brain.low.greedy(acting[head]), chance)
        outcome = Outcome(world.observe(state), label, ends, jnp.bool_(False), signals)
        told = brain.tell(at.machine, at.time + 1, outcome)
        order, count = at.trial.order, at.completed
        for completed in told.completed:
            order = order.at[jnp.where(completed >= 0, count, room)].set(completed, mode="drop")
            count = count + (completed >= 0)
        trial = Trial(at.time + 1, at.trial.total + told.reward, told.success, order)
        same = told.reached == at.machine
        since = jnp.where(same, jnp.where(head == at.held, at.since, 0) + 1, 0)
        return _Try(state, told.reached, at.time + 1, told.over, head, since, trial, count)

    zero = jnp.int32(0)
    first = Trial(zero, jnp.float32(0), jnp.bool_(False), jnp.full(room, -1, jnp.int32))
    start = _Try(world.start(jax.random.uniform(key)), zero, zero, jnp.bool_(False), zero, zero, first, zero)
    return jax.lax.while_loop(lambda at: ~at.over, body, start).trial
