"""Networks as plain lists of layers, and how they are trained: Adam and the soft update in one pass over each layer."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

Layer = tuple[Float[Array, "... _ _"], Float[Array, "... _"]]
"""Weights [inputs, outputs] and bias [outputs]; where networks are stacked (TD3's critics) behind an axis for them."""
Layers = list[Layer]


def init_layers(key: Array, sizes: tuple[tuple[int, int], ...]) -> Layers:
    """Layers of these (inputs, outputs); uniform within one over the root of the inputs, as PyTorch draws them."""
    layers = []
    for n, (i, o) in enumerate(sizes):
        first, second = jax.random.split(jax.random.fold_in(key, n))
        draw = partial(jax.random.uniform, minval=-(i**-0.5), maxval=i**-0.5)
        layers.append((draw(first, (i, o)), draw(second, (o,))))
    return layers


def through(layers: Layers, rows: Float[Array, "*rows inputs"], last: bool = True) -> Float[Array, "*rows outputs"]:
    """The output of a stack; `last` tells whether its last layer has no ReLU."""
    for n, (weights, bias) in enumerate(layers):
        rows = rows @ weights + bias
        if not (last and n == len(layers) - 1):
            rows = jax.nn.relu(rows)
    return rows


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def taught(layers: Layers, rows: Float[Array, "rows *more inputs"], count: int) -> Float[Array, "rows *more outputs"]:
    """The output of a stack of which only the first `count` rows teach; the others cost nothing on the way back."""
    return through(layers, rows)


def _forth(layers: Layers, rows: Array, count: int) -> tuple[Array, tuple[Layers, list[Array]]]:
    kept = []
    for weights, bias in layers[:-1]:
        kept.append(rows[:count])
        rows = jax.nn.relu(rows @ weights + bias)
    weights, bias = layers[-1]
    return rows @ weights + bias, (layers, [*kept, rows[:count]])


def _back(count: int, saved: tuple[Layers, list[Array]], slope: Array) -> tuple[Layers, Array]:
    layers, kept = saved
    rows, slope, gradient = len(slope), slope[:count], []
    for n, ((weights, _), inputs) in reversed(list(enumerate(zip(layers, kept, strict=True)))):
        flat, down = inputs.reshape(-1, inputs.shape[-1]), slope.reshape(-1, slope.shape[-1])
        # Written out so that the gradient lies as the weights do: Adam then reads both in order.
        gradient.append((flat.T @ down, down.sum(axis=0)))
        slope = slope @ weights.T
        if n:
            slope = jnp.where(inputs > 0, slope, 0.0)
    return gradient[::-1], jnp.concatenate([slope, jnp.zeros((rows - count, *slope.shape[1:]))])


taught.defvjp(_forth, _back)


@dataclass(frozen=True)
class Headed:
    """A function of observations with `outputs` numbers for each of `heads` heads."""

    inputs: int
    heads: int
    outputs: int
    width: int
    depth: int
    kind: Literal["heads", "one-hot"]

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """Its layers: the heads share all but the last, or the head is told by a one-hot input."""
        wide = self.kind == "heads"
        hidden = (self.width,) * self.depth
        ends = (self.inputs + (0 if wide else self.heads), self.outputs * (self.heads if wide else 1))
        return tuple(zip((ends[0], *hidden), (*hidden, ends[1]), strict=True))

    def every(
        self, layers: Layers, rows: Float[Array, "rows inputs"], count: int | None = None
    ) -> Float[Array, "rows heads outputs"]:
        """All heads for each row; with `count` only the first rows teach."""
        stack = through if count is None else partial(taught, count=count)
        if self.kind == "heads":
            return stack(layers, rows).reshape(len(rows), self.heads, self.outputs)
        weights, bias = layers[0]
        first = (rows @ weights[: self.inputs])[:, None] + weights[self.inputs :] + bias
        return stack(layers[1:], jax.nn.relu(first))

    def some(
        self,
        layers: Layers,
        rows: Float[Array, "rows inputs"],
        heads: Int[Array, "rows some"] | None,
        count: int | None = None,
    ) -> Float[Array, "rows some outputs"]:
        """The heads that each row asks for, all of them for None; with `count` only the first rows teach."""
        if heads is None:
            return self.every(layers, rows, count)
        if self.kind == "heads":
            return jnp.take_along_axis(self.every(layers, rows, count), heads[..., None], axis=1)
        stack = through if count is None else partial(taught, count=count)
        weights, bias = layers[0]
        first = (rows @ weights[: self.inputs])[:, None] + weights[self.inputs :][heads] + bias
        return stack(layers[1:], jax.nn.relu(first))

    def own(
        self,
        layers: Layers,
        rows: Float[Array, "rows some inputs"],
        heads: Int[Array, "rows some"] | None = None,
    ) -> Float[Array, "rows some outputs"]:
        """For each entry the head of its own place, or the one that `heads` names there."""
        if self.kind == "heads":
            inner = through(layers[:-1], rows, last=False)
            weights = layers[-1][0].reshape(-1, self.heads, self.outputs)
            bias = layers[-1][1].reshape(self.heads, self.outputs)
            if heads is not None:
                return jnp.einsum("rhw,rhwo->rho", inner, weights.swapaxes(0, 1)[heads]) + bias[heads]
            # With one output a sum of products is one pass; a matrix product would turn the rows round first.
            if self.outputs == 1:
                return jnp.sum(inner * weights[..., 0].T, axis=2, keepdims=True) + bias
            return jnp.einsum("rhw,who->rho", inner, weights) + bias
        weights, bias = layers[0]
        told = weights[self.inputs :] if heads is None else weights[self.inputs :][heads]
        first = rows @ weights[: self.inputs] + told + bias
        return through(layers[1:], jax.nn.relu(first))


@dataclass(frozen=True)
class Factored:
    """Q(s, T) = (trunk(s) * code(T)) W: one trunk, and a small network that turns a context into a factor."""

    inputs: int
    codes: int
    outputs: int
    width: int
    depth: int
    code_width: int
    late: int = 0
    """How many of the hidden layers lie behind the factor."""

    @property
    def _early(self) -> int:
        return self.depth - self.late

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """The trunk's layers, the two of the code, those behind the factor, the last one."""
        plain = tuple(pairwise((self.inputs, *(self.width,) * self.depth, self.outputs)))
        code = ((self.codes, self.code_width), (self.code_width, self.width))
        return (*plain[: self._early], *code, *plain[self._early :])

    def trunk(
        self, layers: Layers, rows: Float[Array, "*rows inputs"], count: int | None = None
    ) -> Float[Array, "*rows width"]:
        """The features of observations; with `count` only the first rows teach."""
        if count is not None:
            return jax.nn.relu(taught(layers[: self._early], rows, count))
        return through(layers[: self._early], rows, last=False)

    def factor(self, layers: Layers, codes: Float[Array, "*contexts codes"]) -> Float[Array, "*contexts width"]:
        """The factor of contexts, around 1 at the start."""
        return 1.0 + through(layers[self._early : self._early + 2], codes)

    def join(
        self, layers: Layers, features: Float[Array, "*#rows width"], factors: Float[Array, "*#rows width"]
    ) -> Float[Array, "*all outputs"]:
        """The values of features under factors; either may have an axis of 1 where the other has more."""
        return through(layers[self._early + 2 :], features * factors)

    def every(
        self, layers: Layers, features: Float[Array, "rows width"], factors: Float[Array, "contexts width"]
    ) -> Float[Array, "rows contexts outputs"]:
        """The values of all rows under all factors: one matrix product, as if each context had a head."""
        if self.late:
            return self.join(layers, features[:, None], factors)
        weights, bias = layers[-1]
        heads = (factors[..., None] * weights).swapaxes(0, 1).reshape(self.width, -1)
        return (features @ heads).reshape(len(features), len(factors), self.outputs) + bias


BETA_1, BETA_2, TINY = 0.9, 0.999, 1e-8


class TrainedWeights(NamedTuple):
    """Weights in training: themselves, Adam's two moments, the target that follows, and the updates so far."""

    weights: Layers
    mean: Layers
    square: Layers
    target: Layers
    updates: Int[Array, ""]


def fresh(weights: Layers) -> TrainedWeights:
    """Weights before their first update; the target starts equal."""
    mean, square = (jax.tree.map(jnp.zeros_like, weights) for _ in range(2))
    return TrainedWeights(weights, mean, square, jax.tree.map(jnp.array, weights), jnp.int32(0))


def descend(
    trained: TrainedWeights,
    gradient: Layers,
    alpha: float,
    polyak: float,
    go: Bool[Array, ""],
    follow: Bool[Array, ""] | bool = True,
) -> TrainedWeights:
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
        return TrainedWeights(weights, mean, square, trained.target, updates)
    target = jax.tree.map(lambda t, w: t + pull * (w - t), trained.target, weights)
    return TrainedWeights(weights, mean, square, target, updates)


def weighted(weight: Array, loss: Array) -> Float[Array, ""]:
    """The mean of losses by their weights; 0 where all weights are."""
    return jnp.sum(weight * loss) / jnp.maximum(jnp.sum(weight), 1.0)


def l1_beyond_one(error: Float[Array, "*rows"]) -> Float[Array, "*rows"]:
    """Huber's loss: half the square up to 1, linear beyond."""
    size = jnp.abs(error)
    return jnp.where(size < 1.0, 0.5 * error * error, size - 0.5)
