"""Adam and the soft update on flat vectors: one pass over weights, moments and target."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from errands.learners.deep.network import Flat

BETA_1, BETA_2, TINY = 0.9, 0.999, 1e-8


class Trained(NamedTuple):
    """Weights in training: themselves, Adam's two moments, the target that follows, and the updates so far."""

    weights: Flat
    mean: Flat
    square: Flat
    target: Flat
    updates: Int[Array, ""]


def fresh(weights: Flat) -> Trained:
    """Weights before their first update; the target starts equal."""
    return Trained(weights, jnp.zeros_like(weights), jnp.zeros_like(weights), jnp.array(weights), jnp.int32(0))


def descend(
    trained: Trained,
    gradient: Flat,
    alpha: float,
    polyak: float,
    go: Bool[Array, ""],
    follow: Bool[Array, ""] | bool = True,
) -> Trained:
    """One step of Adam where `go` holds, and one of the target where `follow` does too."""
    updates = trained.updates + go
    count = jnp.maximum(updates, 1).astype(jnp.float32)
    mean = jnp.where(go, BETA_1 * trained.mean + (1 - BETA_1) * gradient, trained.mean)
    square = jnp.where(go, BETA_2 * trained.square + (1 - BETA_2) * gradient * gradient, trained.square)
    rate = jnp.where(go, alpha / (1 - BETA_1**count), 0.0)
    weights = trained.weights - rate * mean / (jnp.sqrt(square / (1 - BETA_2**count)) + TINY)
    pull = jnp.where(jnp.logical_and(go, follow), polyak, 0.0)
    target = trained.target + pull * (weights - trained.target)
    return Trained(weights, mean, square, target, updates)


def l1_beyond_one(error: Float[Array, "*rows"]) -> Float[Array, "*rows"]:
    """Huber's loss: half the square up to 1, linear beyond."""
    size = jnp.abs(error)
    return jnp.where(size < 1.0, 0.5 * error * error, size - 0.5)
