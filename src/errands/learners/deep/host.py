"""The host loop: environments on the CPU for all seeds side by side, learning meanwhile on the device."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from errands.learners.base import Saved
from errands.learners.deep import device
from errands.learners.deep.brain import Brain, Mind, Outcome, Place
from errands.learners.deep.config import DeepConfig
from errands.learners.deep.factored import FactoredTD3
from errands.learners.deep.machine import Listed
from errands.learners.deep.methods import brain_of
from errands.learners.deep.outside import Count, Outside, Seen, outside_of
from errands.learners.deep.policy import decide
from errands.learners.deep.td3 import TD3
from errands.learners.deep.team import Team


class HostFleet(NamedTuple):
    """Many seeds side by side, each with the action that it is about to take."""

    minds: Mind
    places: Place
    actions: Float[Array, "seeds action"]
    buffer: Float[Array, "capacity seeds row"]
    keys: Array
    step: Int[Array, ""]


Course = tuple[Any, Place, Array, Array, Array]
"""What a turn changes: the high level's memory, places, actions, buffer and step."""


@partial(jax.jit, static_argnums=0)
def choose(
    brain: Brain, trained: Any, high: Any, places: Place, step: Array, uniforms: Array, normals: Array
) -> tuple[Any, Array]:
    """The next action of every seed."""
    i = step % device.CHUNK
    pick = jax.vmap(brain.choose, in_axes=(0, 0, None, 0, 0))
    minds, actions = pick(Mind(trained, high), places, step, uniforms[i], normals[i])
    return minds.high, actions


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def learn(
    brain: Brain, minds: Mind, places: Place, buffer: Array, step: Array, uniforms: Array, normals: Array
) -> Mind:
    """One update of every seed; runs while the environments step."""
    i = step % device.CHUNK
    minds, index, extra = jax.vmap(brain.draw, in_axes=(0, None, 0))(minds, step, uniforms[i])
    rows = buffer[index, jnp.arange(index.shape[0])[:, None]]
    study = jax.vmap(brain.study, in_axes=(0, 0, 0, 0, None, 0, 0))
    studied: Mind = study(minds, places, rows, extra, step, uniforms[i], normals[i])[0]
    return studied


@partial(jax.jit, static_argnums=0, donate_argnums=2)
def turn(brain: Brain, trained: Any, course: Course, answer: Array, uniforms: Array, normals: Array) -> Course:
    """Take note of what the environments answered, and choose anew; `answer` is a packed Seen."""
    high, places, actions, buffer, step = course
    outcome, fresh = _unpacked(brain, answer)
    after = jax.vmap(brain.after, in_axes=(0, 0, 0, 0, None))
    minds, rows, told = after(Mind(trained, high), places, actions, outcome, step)
    places = jax.vmap(brain.moved)(places, told, outcome.observation, fresh)
    buffer = jax.lax.dynamic_update_slice(buffer, rows[None], (step % brain.config.capacity, 0, 0))
    high, actions = choose(brain, trained, minds.high, places, step + 1, uniforms, normals)
    return high, places, actions, buffer, step + 1


def packed(seen: Seen) -> NDArray[np.float32]:
    """What the environments answered as one array, since each array that travels costs time."""
    flags = np.stack([seen.label, seen.ends, seen.truncated], axis=1)
    return np.concatenate([seen.observation, seen.fresh, flags, seen.signals], axis=1, dtype=np.float32)


def _unpacked(brain: Brain, answer: Array) -> tuple[Outcome, Array]:
    n = brain.shape.observation
    label, ends, truncated = (answer[:, 2 * n + i] for i in range(3))
    signals = answer[:, 2 * n + 3 :]
    outcome = Outcome(answer[:, :n], label.astype(jnp.int32), ends > 0, truncated > 0, signals)
    return outcome, answer[:, n : 2 * n]


@partial(jax.jit, static_argnums=0)
def _fresh(brain: Brain, keys: Array) -> Mind:
    minds: Mind = jax.vmap(brain.init)(keys)
    return minds


@partial(jax.jit, static_argnums=0)
def _randoms(brain: Brain, keys: Array, chunk: Array) -> tuple[Array, Array]:
    uniforms, normals = device.randoms(brain, keys, chunk)
    return uniforms, normals


@lru_cache(maxsize=16)
def phased(brain: Brain) -> tuple[Brain, ...]:
    """The brain at each of the steps from one update of TD3's actor to the next: the host knows where it stands."""
    low = brain.low
    if not isinstance(low, TD3 | FactoredTD3):
        return (brain,)
    return tuple(replace(brain, low=replace(low, phase=k)) for k in range(brain.config.policy_delay))


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
            minds = _fresh(self.brain, keys)
            self._count, step = 0, jnp.int32(0)
            high, actions = choose(self.brain, minds.trained, minds.high, places, step, *self._random(keys, 0))
            self._fleet = HostFleet(minds._replace(high=high), places, actions, buffer, keys, step)

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
                now = self._fleet
                self.outside.send(np.asarray(now.actions))
                randoms = self._random(now.keys, self._count)
                phases = phased(self.brain)
                brain = phases[self._count % len(phases)]
                minds = learn(brain, now.minds, now.places, now.buffer, now.step, *randoms)
                answer = packed(self.outside.receive())
                self._count += 1
                course = (minds.high, now.places, now.actions, now.buffer, now.step)
                randoms = self._random(now.keys, self._count)
                acting = self.brain.acting(minds.trained)
                high, places, acts, buffer, step = turn(self.brain, acting, course, answer, *randoms)
                self._fleet = HostFleet(Mind(minds.trained, high), places, acts, buffer, now.keys, step)

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
                seen = stage.step(np.asarray(actions))
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
