"""Learners that see standardised observations, by the mean and variance of those that they have learnt from."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from errands.learners.engines.deep.agent import ActingValues, ValueLearner

FARTHEST = 10.0
"""Standard deviations from the mean beyond which an entry is cut off."""
LEAST = 1e-8
"""Added to the variance: an entry that never changes is not divided by 0."""


class Scale(NamedTuple):
    """Mean and variance of observations by entry, or by channel of a picture."""

    mean: Float[Array, " entries"]
    variance: Float[Array, " entries"]
    batches: Int[Array, ""]
    """Batches that they are taken of."""

    def of(self, rows: Float[Array, "*rows inputs"]) -> Float[Array, "*rows inputs"]:
        """The rows standardised; as they are before the first batch."""
        # The entries of a picture are its channels, pixel after pixel: the last axis of this shape in either case.
        split = rows.reshape(*rows.shape[:-1], -1, len(self.mean))
        scaled = (split - self.mean) / jnp.sqrt(self.variance + LEAST)
        return jnp.clip(scaled, -FARTHEST, FARTHEST).reshape(rows.shape)

    def with_batch(self, rows: Float[Array, "rows inputs"], go: Bool[Array, ""]) -> Scale:
        """The scale with one more batch of the same size, where `go` holds."""
        entries = rows.reshape(-1, len(self.mean))
        batches = self.batches + go.astype(jnp.int32)
        # Mean and variance of two samples joined, the second with this share of the whole; nothing cancels out.
        share = go / jnp.maximum(batches, 1).astype(jnp.float32)
        apart = entries.mean(axis=0) - self.mean
        within = self.variance + share * (entries.var(axis=0) - self.variance)
        return Scale(self.mean + share * apart, within + share * (1.0 - share) * apart * apart, batches)


class Standard(NamedTuple):
    """What is learnt: the weights, and the scale of what they see."""

    own: Any
    scale: Scale


@dataclass(frozen=True)
class Scaled:
    """What acts, behind a scale that is learnt along with it, so checkpoints and policy files hold both."""

    low: ActingValues
    entries: int
    """Numbers with a scale of their own: those of an observation, or the channels of a picture."""

    @property
    def discrete(self) -> bool:
        """Whether its actions are choices."""
        return self.low.discrete

    def init(self, key: Array) -> Standard:
        """Fresh weights, and a scale that changes nothing."""
        return Standard(
            self.low.init(key), Scale(jnp.zeros(self.entries), jnp.ones(self.entries), jnp.zeros((), jnp.int32))
        )

    def view(self, trained: Standard, now: Array, code: Array) -> Array:
        """What an observation is acted on with."""
        return self.low.view(trained.own, trained.scale.of(now), code)

    def greedy(self, acting: Array) -> Array:
        """The action in evaluations."""
        return self.low.greedy(acting)


@dataclass(frozen=True)
class Standardised(Scaled):
    """A value learner behind a scale."""

    low: ValueLearner
    warmup: int

    @property
    def normals(self) -> int:
        """Normal numbers that it needs per step."""
        return self.low.normals

    def learn(self, trained: Standard, now: Array, batch: Any, normals: Array, step: Array) -> tuple[Standard, Array]:
        """One update, seen as before it; the scale then takes the batch in."""
        # The batch comes from all steps that are remembered, so the scale is theirs and not that of the last episode.
        see = trained.scale.of
        scale = trained.scale.with_batch(batch.observations, step >= self.warmup)
        batch = batch._replace(observations=see(batch.observations), following=see(batch.following))
        own, acting = self.low.learn(trained.own, see(now), batch, normals, step)
        return Standard(own, scale), acting

    def act(self, acting: Array, uniforms: Array, normals: Array, epsilon: Array, go: Array) -> Array:
        """The action in training."""
        return self.low.act(acting, uniforms, normals, epsilon, go)
