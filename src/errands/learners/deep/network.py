"""Networks as plain lists of layers: a trunk with heads, the paper's one-hot input, the agenda as a factor."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Layer = tuple[Float[Array, "inputs outputs"], Float[Array, " outputs"]]
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

    def every(self, layers: Layers, rows: Float[Array, "rows inputs"]) -> Float[Array, "rows heads outputs"]:
        """All heads for each row."""
        if self.kind == "heads":
            return through(layers, rows).reshape(len(rows), self.heads, self.outputs)
        weights, bias = layers[0]
        first = (rows @ weights[: self.inputs])[:, None] + weights[self.inputs :] + bias
        return through(layers[1:], jax.nn.relu(first))

    def own(self, layers: Layers, rows: Float[Array, "rows heads inputs"]) -> Float[Array, "rows heads outputs"]:
        """For each entry the head of its own place."""
        if self.kind == "heads":
            inner = through(layers[:-1], rows, last=False)
            weights = layers[-1][0].reshape(-1, self.heads, self.outputs)
            bias = layers[-1][1].reshape(self.heads, self.outputs)
            # With one output a sum of products is one pass; a matrix product would turn the rows round first.
            if self.outputs == 1:
                return jnp.sum(inner * weights[..., 0].T, axis=2, keepdims=True) + bias
            return jnp.einsum("rhw,who->rho", inner, weights) + bias
        weights, bias = layers[0]
        first = rows @ weights[: self.inputs] + weights[self.inputs :] + bias
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

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """The trunk's layers, the two of the code, the last one."""
        trunk = tuple(zip((self.inputs, *(self.width,) * (self.depth - 1)), (self.width,) * self.depth, strict=True))
        return (*trunk, (self.codes, self.code_width), (self.code_width, self.width), (self.width, self.outputs))

    def trunk(self, layers: Layers, rows: Float[Array, "*rows inputs"]) -> Float[Array, "*rows width"]:
        """The features of observations."""
        return through(layers[: self.depth], rows, last=False)

    def factor(self, layers: Layers, codes: Float[Array, "*contexts codes"]) -> Float[Array, "*contexts width"]:
        """The factor of contexts, around 1 at the start."""
        return 1.0 + through(layers[self.depth : self.depth + 2], codes)

    def join(
        self, layers: Layers, features: Float[Array, "*rows width"], factors: Float[Array, "*rows width"]
    ) -> Float[Array, "*rows outputs"]:
        """The values of features under factors."""
        weights, bias = layers[-1]
        return (features * factors) @ weights + bias
