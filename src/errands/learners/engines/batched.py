"""What learners on batched worlds share: networks with LayerNorm, passes of minibatches, lambda-returns, a ladder of epsilons."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from errands.learners.engines.deep.network import Layers, TrainedWeights, descend

# Letters in shapes: T steps, E environments, K tasks that a step teaches, A actions. Everything here is about one seed.
GREEDY = 1e-6
"""How much less than the best an action may seem to be worth and still count as the best."""


def init_normal(key: Array, sizes: Sequence[int], last: float = 0.01) -> Layers:
    """Dense layers of these widths: normal with variance 2 / inputs, in the last `last` / inputs, so that values begin near 0."""
    pairs = list(pairwise(sizes))
    keys = jax.random.split(key, len(pairs))
    spread = [2.0] * (len(pairs) - 1) + [last]
    return [
        (jax.random.normal(k, pair) * (s / pair[0]) ** 0.5, jnp.zeros(pair[1]))
        for k, pair, s in zip(keys, pairs, spread, strict=True)
    ]


def layer_norm(rows: Float[Array, "*rows width"]) -> Float[Array, "*rows width"]:
    """Rows of mean 0 and deviation 1; the next layer has what scale and offset would add."""
    rows = rows - rows.mean(axis=-1, keepdims=True)
    return rows * jax.lax.rsqrt(jnp.mean(jnp.square(rows), axis=-1, keepdims=True) + 1e-5)


def normed(layers: Layers, rows: Float[Array, "*rows inputs"]) -> Float[Array, "*rows outputs"]:
    """The output of a stack with LayerNorm before every ReLU, which is what keeps values in bounds without a target network."""
    for weights, bias in layers[:-1]:
        rows = jax.nn.relu(layer_norm(rows @ weights + bias))
    weights, bias = layers[-1]
    return rows @ weights + bias


def clipped(gradient: Any, most: float) -> Any:
    """A gradient of at most this length."""
    length = jnp.sqrt(sum(jnp.sum(jnp.square(part)) for part in jax.tree.leaves(gradient)))
    return jax.tree.map(lambda part: part * jnp.minimum(1.0, most / (length + 1e-9)), gradient)


def one_pass(
    loss: Callable[..., Float[Array, ""]],
    trained: TrainedWeights,
    rows: tuple[Any, ...],
    key: Array,
    minibatches: int,
    alpha: Float[Array, ""] | float,
    polyak: float,
    longest: float = 10.0,
) -> tuple[TrainedWeights, Float[Array, ""]]:
    """One pass over shuffled rows, a step of Adam per minibatch; `target` follows as an average. Also the mean loss.

    Parameters:
        loss: of (weights, *rows of a minibatch).
        rows: a tuple of trees of arrays [rows, ...] of equal length, a multiple of `minibatches`.
        longest: the length to which a gradient is cut.
    """
    order = jax.random.permutation(key, len(jax.tree.leaves(rows)[0])).reshape(minibatches, -1)

    def update(trained: TrainedWeights, index: Array) -> tuple[TrainedWeights, Array]:
        error, gradient = jax.value_and_grad(loss)(trained.weights, *jax.tree.map(lambda part: part[index], rows))
        return descend(trained, clipped(gradient, longest), alpha, polyak, jnp.bool_(True)), error

    trained, errors = jax.lax.scan(update, trained, order)
    return trained, errors.mean()


def followed(
    values: Float[Array, "T E K A"], actions: Int[Array, "T E"], ends: Bool[Array, "T E"]
) -> tuple[Float[Array, "T E K"], Bool[Array, "T E K"]]:
    """What is best after each step for each task, and whether the next step is of the same episode and does just that.

    Parameters:
        values: of the observations after the steps.
        actions: what was done in the steps.
        ends: whether the environment was reset after a step.
    """
    best = values.max(axis=-1)
    done_next = jnp.take_along_axis(values[:-1], actions[1:, :, None, None], axis=-1)[..., 0]
    kept = (done_next >= best[:-1] - GREEDY) & ~ends[:-1, :, None]
    return best, jnp.concatenate([kept, jnp.zeros_like(kept[:1])])


def lambda_returns(
    reward: Float[Array, "T E K"],
    goes_on: Float[Array, "T E K"],
    best: Float[Array, "T E K"],
    kept: Bool[Array, "T E K"],
    decay: float | Float[Array, ""],
    follow: Int[Array, "T E K"] | None = None,
) -> Float[Array, "T E K"]:
    """For each task the return along what was done, from each step on.

    Parameters:
        reward: what a step pays the task.
        goes_on: the discount of what follows, 0 where the task ends.
        best: the value after the step, by the task that is then pursued.
        kept: whether the return of the next step belongs to it; where not, as where another action looks better, `best` stands in.
        decay: lambda, the share of the next step's return in what follows.
        follow: the task that is pursued after the step; None where it stays the same.
    """

    def back(later: Array, now: Any) -> tuple[Array, Array]:
        paid, further, value, keeps, then = now
        value = value + decay * jnp.where(keeps, later - value, 0.0)
        value = value if then is None else jnp.take_along_axis(value, then, axis=-1)
        total = paid + further * value
        return total, total

    steps = (reward, goes_on, best, kept, follow)
    returns: Array = jax.lax.scan(back, jnp.zeros_like(best[0]), steps, reverse=True)[1]
    return returns


def ladder(low: float, high: float, count: int) -> Float[Array, " count"]:
    """An epsilon for each environment, evenly spaced in their logarithms."""
    return jnp.exp(jnp.linspace(jnp.log(low), jnp.log(high), count))


def either(flags: Bool[Array, " E"], yes: Any, no: Any) -> Any:
    """Of two states of each environment the first where its flag is set."""
    return jax.tree.map(lambda a, b: jnp.where(flags.reshape(flags.shape + (1,) * (b.ndim - 1)), a, b), yes, no)
