"""Batched worlds: a world as pure JAX functions of one state, which learners vmap over thousands of states on the device."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from errands.worlds.base import FiniteWorld

State = Any
"""Everything that the future depends on, as a pytree of arrays; on worlds with many maps the map is a part of it."""


class BatchedStep(NamedTuple):
    """What a world answers to an action."""

    state: State
    observation: Float[Array, " inputs"]
    """What the state reached looks like."""
    features: Bool[Array, " features"]
    """Which of the world's features hold of this step, in the order of their names."""
    done: Bool[Array, ""]
    """Whether the world itself ends the episode here; its time limit is counted outside."""
    signals: Float[Array, " signals"]


@dataclass(frozen=True, eq=False)
class BatchedWorld:
    """A world that lives on the device: every function is pure, for one state, and is to be jitted and vmapped.

    >>> import jax, errands
    >>> world = errands.load("water-2").world.batched
    >>> state = world.reset(jax.random.key(0))
    >>> step = world.step(state, 1, jax.random.key(1))
    >>> step.observation.shape, dict(zip(world.features, step.features.tolist()))["red"]
    ((52,), False)
    """

    inputs: int
    """Numbers of an observation."""
    actions: int
    """Actions to choose from."""
    features: tuple[str, ...]
    reset: Callable[[Array], State]
    """The state in which an episode begins, by a random key: always the same one, one of several, or one on a new map."""
    step: Callable[[State, Any, Array], BatchedStep]
    """(state, action, key) -> what the world answers."""
    observe: Callable[[State], Float[Array, " inputs"]]
    """What a state looks like."""
    signals: int = 0


@dataclass(frozen=True, eq=False)
class DeviceTables:
    """A finite world's tables on the device; each of its functions is given one uniform number for what is left to chance."""

    finite: FiniteWorld
    reported: int
    """How many of its signals are the world's own."""

    def start(self, uniform: Array) -> Int[Array, ""]:
        """The state in which an episode begins."""
        table = self.finite.table
        starts, chances = jnp.asarray(table.starts), jnp.asarray(table.start_cumulative, jnp.float32)
        return starts[jnp.minimum(jnp.searchsorted(chances, uniform, side="right"), len(starts) - 1)]

    def step(self, state: Array, action: Array, uniform: Array) -> tuple[Array, Array, Array, Array]:
        """The state reached, the label of the step, whether the world ends, and the signals."""
        # [S, A, O] world states, actions, outcomes; signals have an axis of their own in front.
        table = self.finite.table
        cumulative = jnp.asarray(table.cumulative, jnp.float32)
        o = jnp.minimum(jnp.sum(uniform >= cumulative[state, action]), table.next.shape[2] - 1)
        following, label, ends = (jnp.asarray(x)[state, action, o] for x in (table.next, table.label, table.ends))
        return following, label, ends, jnp.asarray(table.signal[: self.reported], jnp.float32)[:, state, action, o]

    def observe(self, state: Array) -> Float[Array, " states"]:
        """A one-hot row."""
        return (jnp.arange(self.finite.states) == state).astype(jnp.float32)

    def batched(self, features: tuple[str, ...]) -> BatchedWorld:
        """The batched world of a world that reports these features."""
        holds = jnp.array([[name in label for name in features] for label in self.finite.labels])

        def step(state: Array, action: Array, key: Array) -> BatchedStep:
            state, label, ends, signals = self.step(state, action, jax.random.uniform(key))
            return BatchedStep(state, self.observe(state), holds[label], ends, signals)

        def reset(key: Array) -> Array:
            return self.start(jax.random.uniform(key))

        sizes = self.finite.states, self.finite.actions
        return BatchedWorld(*sizes, features, reset, step, self.observe, self.reported)
