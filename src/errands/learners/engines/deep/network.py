"""Networks as plain lists of layers, and how they are trained: Adam and the soft update in one pass over each layer."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

import math
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


Sizes = tuple[tuple[int, ...], ...]
"""The shape of each layer's weights: (inputs, outputs), or (height, width, inputs, outputs) of a convolution."""


def init_layers(key: Array, sizes: Sizes) -> Layers:
    """Layers of these shapes; uniform within one over the root of what an output sums up, as PyTorch draws them."""
    layers = []
    for n, size in enumerate(sizes):
        first, second = jax.random.split(jax.random.fold_in(key, n))
        bound = math.prod(size[:-1]) ** -0.5
        draw = partial(jax.random.uniform, minval=-bound, maxval=bound)
        layers.append((draw(first, size), draw(second, size[-1:])))
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


# The forward and backward halves of `taught`. Values of next observations and of the one acted on are needed but have
# no gradient; JAX would push zeros through all their rows. Only the first `count` inputs of each layer are kept.
def _forth(layers: Layers, rows: Array, count: int) -> tuple[Array, tuple[Layers, list[Array]]]:
    inputs_of = []
    for weights, bias in layers[:-1]:
        inputs_of.append(rows[:count])
        rows = jax.nn.relu(rows @ weights + bias)
    weights, bias = layers[-1]
    return rows @ weights + bias, (layers, [*inputs_of, rows[:count]])


def _back(count: int, saved: tuple[Layers, list[Array]], slope: Array) -> tuple[Layers, Array]:
    layers, inputs_of = saved
    rows, slope, gradient = len(slope), slope[:count], []
    for n, ((weights, _), inputs) in reversed(list(enumerate(zip(layers, inputs_of, strict=True)))):
        flat, down = inputs.reshape(-1, inputs.shape[-1]), slope.reshape(-1, slope.shape[-1])
        # Written out so that the gradient lies as the weights do: Adam then reads both in order.
        gradient.append((flat.T @ down, down.sum(axis=0)))
        slope = slope @ weights.T
        # The input of the first layer is an observation, which went through no ReLU.
        if n:
            slope = jnp.where(inputs > 0, slope, 0.0)
    return gradient[::-1], jnp.concatenate([slope, jnp.zeros((rows - count, *slope.shape[1:]))])


taught.defvjp(_forth, _back)


@dataclass(frozen=True)
class Convolution:
    """Pictures, given as rows, become rows of features: 3 x 3 filters, halving the sides until neither exceeds 8."""

    image: tuple[int, int, int]
    """Height, width, channels."""
    channels: int = 32

    @property
    def strides(self) -> tuple[int, ...]:
        """The stride of each layer; at least two layers."""
        side, strides = max(self.image[:2]), []
        while side > 8:
            strides.append(2)
            side = -(-side // 2)
        return (*strides, *(1,) * (2 - len(strides)))

    @property
    def sizes(self) -> Sizes:
        """The filters of each layer."""
        inputs = (self.image[2], *(self.channels,) * (len(self.strides) - 1))
        return tuple((3, 3, i, self.channels) for i in inputs)

    @property
    def features(self) -> int:
        """Numbers in a row of features."""
        height, width = self.image[:2]
        for stride in self.strides:
            height, width = -(-height // stride), -(-width // stride)
        return height * width * self.channels

    def apply(
        self, layers: Layers, rows: Float[Array, "rows pixels"], count: int | None
    ) -> Float[Array, "rows features"]:
        """The features of pictures; with `count` only the first rows teach."""
        # Two calls: a convolution has no hand-written way back, so the rows that do not teach are split off.
        if count is not None:
            rest = jax.lax.stop_gradient(self.apply(layers, rows[count:], None))
            return jnp.concatenate([self.apply(layers, rows[:count], None), rest])
        pictures = rows.reshape(-1, *self.image)
        for (filters, bias), stride in zip(layers, self.strides, strict=True):
            pictures = jax.lax.conv_general_dilated(
                pictures, filters, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            pictures = jax.nn.relu(pictures + bias)
        return pictures.reshape(len(rows), self.features)


@dataclass(frozen=True)
class Headed:
    """A function of observations with `outputs` numbers for each of `heads` heads."""

    inputs: int
    heads: int
    outputs: int
    width: int
    depth: int
    kind: Literal["heads", "one-hot"]
    conv: Convolution | None = None
    """What turns pictures into the inputs."""

    @property
    def sizes(self) -> Sizes:
        """Its layers: the convolution's, then dense ones; heads share all but the last, or the head is told by a one-hot input."""
        wide = self.kind == "heads"
        hidden = (self.width,) * self.depth
        ends = (self.inputs + (0 if wide else self.heads), self.outputs * (self.heads if wide else 1))
        dense = tuple(zip((ends[0], *hidden), (*hidden, ends[1]), strict=True))
        return dense if self.conv is None else (*self.conv.sizes, *dense)

    def _dense(self, layers: Layers, rows: Array, count: int | None) -> tuple[Layers, Array]:
        """The dense layers and what they get: the rows, or the features of pictures."""
        if self.conv is None:
            return layers, rows
        first = len(self.conv.sizes)
        return layers[first:], self.conv.apply(layers[:first], rows, count)

    def every(
        self, layers: Layers, rows: Float[Array, "rows seen"], count: int | None = None
    ) -> Float[Array, "rows heads outputs"]:
        """All heads for each row; with `count` only the first rows teach."""
        layers, rows = self._dense(layers, rows, count)
        stack = through if count is None else partial(taught, count=count)
        # [B, H * outputs] seen as [B, H, outputs]: head h has the columns from h * outputs on.
        if self.kind == "heads":
            return stack(layers, rows).reshape(len(rows), self.heads, self.outputs)
        # A one-hot input only selects a row of the first weights, so the observation's share is computed once for all
        # heads and the head's row is added: [B, 1, width] + [H, width].
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
            return picked(self.every(layers, rows, count), heads)
        layers, rows = self._dense(layers, rows, count)
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
            # r rows, h heads, w width, o outputs. Each entry has its own inputs (TD3: the head's own action), so it
            # needs one head only, not all of them.
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
        shares = weights[self.inputs :] if heads is None else weights[self.inputs :][heads]
        first = rows @ weights[: self.inputs] + shares + bias
        return through(layers[1:], jax.nn.relu(first))


def picked(
    values: Float[Array, "rows heads outputs"], heads: Int[Array, "rows some"]
) -> Float[Array, "rows some outputs"]:
    """Of all heads the few that each row asks for."""
    return jnp.take_along_axis(values, heads[..., None], axis=1)


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
    conv: Convolution | None = None
    """What turns pictures into the inputs."""

    @property
    def _first(self) -> int:
        """Where the dense layers begin."""
        return 0 if self.conv is None else len(self.conv.sizes)

    @property
    def _code(self) -> int:
        """Where the two layers of the code begin."""
        return self._first + self.depth - self.late

    @property
    def behind(self) -> int:
        """Where the layers behind the factor begin."""
        return self._code + 2

    @property
    def sizes(self) -> Sizes:
        """The convolution's layers, the trunk's, the two of the code, those behind the factor, the last one."""
        pictures = () if self.conv is None else self.conv.sizes
        plain = tuple(pairwise((self.inputs, *(self.width,) * self.depth, self.outputs)))
        code = ((self.codes, self.code_width), (self.code_width, self.width))
        early = self.depth - self.late
        return (*pictures, *plain[:early], *code, *plain[early:])

    def trunk(
        self, layers: Layers, rows: Float[Array, "*rows inputs"], count: int | None = None
    ) -> Float[Array, "*rows width"]:
        """The features of observations; with `count` only the first rows teach."""
        trunk = layers[self._first : self._code]
        if self.conv is not None:
            rows = self.conv.apply(layers[: self._first], rows, count)
        if count is not None:
            return jax.nn.relu(taught(trunk, rows, count))
        return through(trunk, rows, last=False)

    def factor(self, layers: Layers, codes: Float[Array, "*contexts codes"]) -> Float[Array, "*contexts width"]:
        """The factor of contexts, around 1 at the start."""
        # Around 1, so that at first all contexts see the trunk's features as they are.
        return 1.0 + through(layers[self._code : self.behind], codes)

    def join(
        self, layers: Layers, features: Float[Array, "*#rows width"], factors: Float[Array, "*#rows width"]
    ) -> Float[Array, "*all outputs"]:
        """The values of features under factors; either may have an axis of 1 where the other has more."""
        return through(layers[self.behind :], features * factors)

    def every(
        self, layers: Layers, features: Float[Array, "rows width"], factors: Float[Array, "contexts width"]
    ) -> Float[Array, "rows contexts outputs"]:
        """The values of all rows under all factors: one matrix product, as if each context had a head."""
        if self.late:
            return self.join(layers, features[:, None], factors)
        weights, bias = layers[-1]
        # (features * factor) W equals features (factor * W): the factor goes into the weights, [width, contexts *
        # outputs]. Layers behind the factor forbid this, since a ReLU lies in between.
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
    alpha: float | Float[Array, ""],
    polyak: float,
    go: Bool[Array, ""],
    follow: Bool[Array, ""] | bool = True,
) -> TrainedWeights:
    """One step of Adam where `go` holds, and one of the target where `follow` does too."""
    # Where `go` is false all rates are 0 and every array stays as it is, also under vmap.
    updates = trained.updates + go.astype(jnp.int32)
    # Adam's correction divides by 1 - beta ** count, which must not be 0 before the first update.
    count = jnp.maximum(updates, 1).astype(jnp.float32)
    some = awaited(go.astype(jnp.float32), gradient)
    first, second = some * (1 - BETA_1), some * (1 - BETA_2)
    rate = some * alpha / (1 - BETA_1**count)
    scale = 1 / (1 - BETA_2**count)
    pull = jnp.where(jnp.logical_and(go, follow), polyak, 0.0)
    mean = jax.tree.map(lambda m, g: m + first * (g - m), trained.mean, gradient)
    square = jax.tree.map(lambda v, g: v + second * (g * g - v), trained.square, gradient)
    weights = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v * scale) + TINY), trained.weights, mean, square)
    # Known while tracing (TD3's phase): the pass over the target is then left out of the program.
    if follow is False:
        return TrainedWeights(weights, mean, square, trained.target, updates)
    target = jax.tree.map(lambda t, w: t + pull * (w - t), trained.target, weights)
    return TrainedWeights(weights, mean, square, target, updates)


def awaited(number: Float[Array, ""], gradient: Layers) -> Float[Array, ""]:
    """The same number, known only when the whole way back is done."""
    # The gradient of the first layer comes last. With this, XLA sees that nobody reads the old weights any more when the
    # new ones are written, and writes them in place; otherwise it copies all but the first layer in every step.
    return number + 0.0 * gradient[0][1].ravel()[0]


def weighted(weight: Array, loss: Array) -> Float[Array, ""]:
    """The mean of losses by their weights; 0 where all weights are."""
    # With TD3's critics the loss has an axis more than the weights: the sum of both critics' means.
    return jnp.sum(weight * loss) / jnp.maximum(jnp.sum(weight), 1.0)


def l1_beyond_one(error: Float[Array, "*rows"]) -> Float[Array, "*rows"]:
    """Huber's loss: half the square up to 1, linear beyond."""
    size = jnp.abs(error)
    return jnp.where(size < 1.0, 0.5 * error * error, size - 0.5)
