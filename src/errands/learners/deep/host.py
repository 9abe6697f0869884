"""The host loop: environments on the CPU for all seeds side by side, learning meanwhile on the device."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from errands.learners.base import Saved
from errands.learners.deep import device
from errands.learners.deep.brain import Brain, Mind, Outcome, Place
from errands.learners.deep.config import DeepConfig
from errands.learners.deep.machine import Listed
from errands.learners.deep.methods import brain_of
from errands.learners.deep.outside import Count, Outside, Seen, outside_of
from errands.learners.deep.policy import decide
from errands.learners.deep.team import Team


class HostFleet(NamedTuple):
    """Many seeds side by side, each with the action that it is about to take."""

    minds: Mind
    places: Place
    actions: Float[Array, "seeds action"]
    buffer: Float[Array, "capacity seeds row"]
    keys: Array
    step: Int[Array, ""]


def choose(brain: Brain, fleet: HostFleet, uniforms: Array, normals: Array) -> HostFleet:
    """The next action of every seed."""
    i = fleet.step % device.CHUNK
    pick = jax.vmap(brain.choose, in_axes=(0, 0, None, 0, 0))
    minds, actions = pick(fleet.minds, fleet.places, fleet.step, uniforms[i], normals[i])
    return fleet._replace(minds=minds, actions=actions)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def learn(brain: Brain, fleet: HostFleet, uniforms: Array, normals: Array) -> HostFleet:
    """One update of every seed; runs while the environments step."""
    i = fleet.step % device.CHUNK
    minds, index, extra = jax.vmap(brain.draw, in_axes=(0, None, 0))(fleet.minds, fleet.step, uniforms[i])
    rows = fleet.buffer[index, jnp.arange(index.shape[0])[:, None]]
    study = jax.vmap(brain.study, in_axes=(0, 0, 0, 0, None, 0, 0))
    minds, _ = study(minds, fleet.places, rows, extra, fleet.step, uniforms[i], normals[i])
    return fleet._replace(minds=minds)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def turn(brain: Brain, fleet: HostFleet, seen: Seen, uniforms: Array, normals: Array) -> HostFleet:
    """Take note of what the environments answered, and choose anew."""
    outcome = Outcome(*(jnp.asarray(part) for part in seen[:5]))
    after = jax.vmap(brain.after, in_axes=(0, 0, 0, 0, None))
    minds, rows, told = after(fleet.minds, fleet.places, fleet.actions, outcome, fleet.step)
    places = jax.vmap(brain.moved)(fleet.places, told, outcome.observation, jnp.asarray(seen.fresh))
    buffer = jax.lax.dynamic_update_slice(fleet.buffer, rows[None], (fleet.step % brain.config.capacity, 0, 0))
    fleet = fleet._replace(minds=minds, places=places, buffer=buffer, step=fleet.step + 1)
    return choose(brain, fleet, uniforms, normals)


@partial(jax.jit, static_argnums=0)
def _randoms(brain: Brain, keys: Array, chunk: Array) -> tuple[Array, Array]:
    uniforms, normals = device.randoms(brain, keys, chunk)
    return uniforms, normals


class HostTeam(Team):
    """A team in environments that are stepped on the host."""

    def __init__(self, learner: str, machine: Listed, config: DeepConfig, seeds: tuple[int, ...]) -> None:
        self.outside = outside_of(machine, seeds)
        super().__init__(brain_of(learner, machine, config, self.outside.senses.spaces), seeds)
        self._stage: Outside | None = None
        self._drawn: tuple[int, tuple[Array, Array]] | None = None
        with self.place():
            keys = jnp.stack([jax.random.PRNGKey(seed) for seed in seeds])
            zeros = [jnp.zeros(len(seeds), jnp.int32) for _ in range(3)]
            places = Place(jnp.asarray(self.outside.reset()), *zeros)
            buffer = jnp.zeros((config.capacity, len(seeds), self.brain.shape.width))
            actions = jnp.zeros((len(seeds), self.brain.shape.action))
            fleet = HostFleet(jax.jit(jax.vmap(self.brain.init))(keys), places, actions, buffer, keys, jnp.int32(0))
            self._count = 0
            self._fleet: HostFleet = jax.jit(choose, static_argnums=0)(self.brain, fleet, *self._random(fleet.keys, 0))

    def _random(self, keys: Array, step: int) -> tuple[Array, Array]:
        """The random numbers of the chunk of a step."""
        chunk = step // device.CHUNK
        if self._drawn is None or self._drawn[0] != chunk:
            self._drawn = (chunk, _randoms(self.brain, keys, jnp.int32(chunk)))
        return self._drawn[1]

    @property
    def step(self) -> int:
        """Training steps so far."""
        return self._count

    @property
    def state(self) -> HostFleet:
        """The fleet."""
        return self._fleet

    def put(self, state: Any) -> None:
        """Take a fleet."""
        self._fleet, self._count, self._drawn = state, int(state.step), None

    def advance(self, count: int) -> None:
        """Take `count` training steps with every seed."""
        with self.place():
            for _ in range(count):
                actions = np.asarray(self._fleet.actions)
                fleet = learn(self.brain, self._fleet, *self._random(self._fleet.keys, self._count))
                seen = self.outside.step(actions)
                self._count += 1
                self._fleet = turn(self.brain, fleet, seen, *self._random(fleet.keys, self._count))

    def trials(self) -> device.Trial:
        """One greedy episode of every seed, in environments of their own that start from the seed."""
        if self._stage is None:
            self._stage = outside_of(self.brain.machine, self.seeds)
        stage, count = self._stage, Count(self.brain.machine, len(self.seeds))
        rows = stage.reset()
        held = np.zeros(len(self.seeds), np.int32)
        with self.place():
            while not count.over.all():
                actions, heads = _decide(self.brain, self.minds, rows, count.state, held, count.since)
                count.since = np.where(np.asarray(heads) == held, count.since, 0)
                held = np.asarray(heads)
                seen = stage.step(np.asarray(actions), again=False)
                count.add(seen, stage.limit)
                rows = seen.fresh
        return device.Trial(*map(jnp.asarray, count.episode))

    def save(self) -> Saved:
        """The arrays by name, and the environments."""
        return {**super().save(), "environments": self.outside.save()}

    def restore(self, saved: Saved) -> None:
        """Continue where `saved` was taken."""
        super().restore(saved)
        self.outside.restore(saved["environments"])


@partial(jax.jit, static_argnums=0)
def _decide(brain: Brain, minds: Mind, rows: Array, state: Array, held: Array, since: Array) -> tuple[Array, Array]:
    actions, heads = jax.vmap(partial(decide, brain))(minds, rows, state, held, since)
    return actions, heads
