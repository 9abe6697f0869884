"""Adam and the soft update: one pass over the weights, moments and target of each layer."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from errands.learners.deep.network import Layers

BETA_1, BETA_2, TINY = 0.9, 0.999, 1e-8


class Trained(NamedTuple):
    """Weights in training: themselves, Adam's two moments, the target that follows, and the updates so far."""

    weights: Layers
    mean: Layers
    square: Layers
    target: Layers
    updates: Int[Array, ""]


def fresh(weights: Layers) -> Trained:
    """Weights before their first update; the target starts equal."""
    mean, square = (jax.tree.map(jnp.zeros_like, weights) for _ in range(2))
    return Trained(weights, mean, square, jax.tree.map(jnp.array, weights), jnp.int32(0))


def descend(
    trained: Trained,
    gradient: Layers,
    alpha: float,
    polyak: float,
    go: Bool[Array, ""],
    follow: Bool[Array, ""] | bool = True,
) -> Trained:
    """One step of Adam where `go` holds, and one of the target where `follow` does too."""
    updates = trained.updates + go.astype(jnp.int32)
    count = jnp.maximum(updates, 1).astype(jnp.float32)
    some = go.astype(jnp.float32)
    first, second = some * (1 - BETA_1), some * (1 - BETA_2)
    rate = some * alpha / (1 - BETA_1**count)
    scale = 1 / (1 - BETA_2**count)
    pull = jnp.where(jnp.logical_and(go, follow), polyak, 0.0)
    mean = jax.tree.map(lambda m, g: m + first * (g - m), trained.mean, gradient)
    square = jax.tree.map(lambda v, g: v + second * (g * g - v), trained.square, gradient)
    weights = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v * scale) + TINY), trained.weights, mean, square)
    if follow is False:
        return Trained(weights, mean, square, trained.target, updates)
    target = jax.tree.map(lambda t, w: t + pull * (w - t), trained.target, weights)
    return Trained(weights, mean, square, target, updates)


def weighted(weight: Array, loss: Array) -> Float[Array, ""]:
    """The mean of losses by their weights; 0 where all weights are."""
    return jnp.sum(weight * loss) / jnp.maximum(jnp.sum(weight), 1.0)


def l1_beyond_one(error: Float[Array, "*rows"]) -> Float[Array, "*rows"]:
    """Huber's loss: half the square up to 1, linear beyond."""
    size = jnp.abs(error)
    return jnp.where(size < 1.0, 0.5 * error * error, size - 0.5)
