"""DDQN for any set of heads: acting, online values and next values in one pass, one update (Section 5)."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from errands.learners.deep.batch import Batch, within
from errands.learners.deep.config import DeepConfig
from errands.learners.deep.network import (
    Convolution,
    Headed,
    Layers,
    TrainedWeights,
    descend,
    fresh,
    init_layers,
    l1_beyond_one,
    picked,
    weighted,
)


@dataclass(frozen=True)
class DDQN:
    """Values of discrete actions for each head; pure functions of what is handed in."""

    net: Headed
    config: DeepConfig
    normals = 0

    @staticmethod
    def of(
        inputs: int, heads: int, actions: int, config: DeepConfig, image: tuple[int, int, int] | None = None
    ) -> DDQN:
        """The learner for observations of this length, or pictures of this shape, and this many heads and actions."""
        conv = Convolution(image) if image and config.network == "conv" else None
        kind: Literal["heads", "one-hot"] = "one-hot" if config.network == "one-hot" else "heads"
        inputs = inputs if conv is None else conv.features
        return DDQN(Headed(inputs, heads, actions, config.width, config.depth, kind, conv), config)

    def init(self, key: Array) -> TrainedWeights:
        """Fresh weights; those of several networks are stacked on a first axis."""
        count = self.config.networks
        if count == 1:
            return fresh(init_layers(key, self.net.sizes))
        return fresh(jax.vmap(lambda one: init_layers(one, self.net.sizes))(jax.random.split(key, count)))

    def _each(self, function: Callable[..., Any], layers: Layers, *inputs: Any) -> Any:
        """What a function of the weights gives for each network, behind an axis for them."""
        # One after the other, not vmapped, and joined without jnp.stack: policy files know neither.
        count = self.config.networks
        apart = [layers] if count == 1 else [jax.tree.map(itemgetter(n), layers) for n in range(count)]
        each = [jax.tree.map(lambda part: part[None], function(own, *inputs)) for own in apart]
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *each)

    def learn(
        self,
        trained: TrainedWeights,
        now: Float[Array, " inputs"],
        batch: Batch,
        normals: Float[Array, " normals"],
        step: Int[Array, ""],
    ) -> tuple[TrainedWeights, Float[Array, "heads actions"]]:
        """One update, and the values of the observation that is to be acted on."""
        # Two layouts: all heads of each row, [B, H, A], of which `follow` picks afterwards; or a few per row, and then
        # the network is asked for the heads that follow at once.
        ahead = None if batch.heads is None else batch.follow
        # One network takes chance for skill: the best of its values is the one that was luckiest. Two that were lucky
        # elsewhere seldom agree, so the least of theirs is not too high.
        later = self._each(self.net.some, trained.target, batch.following, ahead).min(axis=0)
        gradient, acting = jax.grad(self._loss, has_aux=True)(trained.weights, later, now, batch)
        return descend(trained, gradient, self.config.alpha, self.config.polyak, step >= self.config.warmup), acting

    def _loss(
        self, layers: Layers, later: Float[Array, "rows taught actions"], now: Float[Array, " inputs"], batch: Batch
    ) -> tuple[Float[Array, ""], Float[Array, "heads actions"]]:
        # The target network's values come in from outside, and the online ones have no gradient: only q of the rows
        # learns.
        q, following, acting = self._each(self._values, layers, now, batch)
        following, acting = following.mean(axis=0), acting.mean(axis=0)
        value = double(jax.lax.stop_gradient(following), later)
        if batch.heads is None and batch.follow is not None:
            value = jnp.take_along_axis(value, batch.follow, axis=1)
        goal = within(batch.bounds, batch.reward + self.config.gamma * batch.goes_on * value)
        taken = batch.actions[:, 0].astype(jnp.int32)
        # A product with one-hot rows instead of a gather, whose way back would be a slow scatter.
        chosen = jnp.sum(q * jax.nn.one_hot(taken, self.net.outputs)[:, None], axis=-1)
        return weighted(batch.weight, l1_beyond_one(chosen - goal)), acting

    def _values(self, layers: Layers, now: Float[Array, " inputs"], batch: Batch) -> tuple[Array, Array, Array]:
        """The values of the observations, of those that follow, and of `now` for all heads."""
        # Three things in one pass, as few kernels as possible; `count` keeps the rows behind it out of the backward
        # pass.
        count = len(batch.observations)
        rows = jnp.concatenate([batch.observations, batch.following, now[None]])
        if batch.heads is None or batch.follow is None:
            q = self.net.every(layers, rows, count)
            return q[:count], q[count : 2 * count], q[-1]
        if self.net.kind == "heads":
            # All heads are there at once anyway; a pass of its own for `now` would read all weights once more.
            q = self.net.every(layers, rows, count)
            return picked(q[:count], batch.heads), picked(q[count : 2 * count], batch.follow), q[-1]
        q = self.net.some(layers, rows[:-1], jnp.concatenate([batch.heads, batch.follow]), count)
        return q[:count], q[count:], self.net.every(layers, now[None])[0]

    def act(
        self,
        acting: Float[Array, " actions"],
        uniforms: Float[Array, " uniforms"],
        normals: Float[Array, " normals"],
        epsilon: Float[Array, ""],
        go: Bool[Array, ""],
    ) -> Float[Array, " action"]:
        """Epsilon-greedy; at random before the first update."""
        return explored(acting, uniforms, epsilon, go)

    def greedy(self, acting: Float[Array, " actions"]) -> Float[Array, " action"]:
        """The best action."""
        return jnp.argmax(acting).astype(jnp.float32)[None]

    def view(self, trained: TrainedWeights, now: Float[Array, " inputs"], code: Array) -> Float[Array, "heads actions"]:
        """The values of one observation."""
        values: Array = self._each(self.net.every, trained.weights, now[None]).mean(axis=0)[0]
        return values

    def worth(
        self, trained: TrainedWeights, now: Array, acting: Float[Array, "heads actions"]
    ) -> Float[Array, " heads"]:
        """What each head expects."""
        return acting.max(axis=1)


def double(online: Float[Array, "*rows actions"], target: Float[Array, "*rows actions"]) -> Float[Array, "*rows"]:
    """Double Q-learning: what the target network says of the action that is best online."""
    # Without argmax and gather this is one elementwise kernel and a maximum; among equal online values the higher
    # target counts.
    return jnp.where(online == online.max(axis=-1, keepdims=True), target, -jnp.inf).max(axis=-1)


def annealed(config: DeepConfig, steps: Int[Array, ""], episodes: Int[Array, ""]) -> Float[Array, ""]:
    """The probability of a random action."""
    # The paper does not say per what epsilon falls; its preset takes episodes.
    count = (steps if config.epsilon_per == "step" else episodes).astype(jnp.float32)
    return jnp.maximum(config.epsilon_end, config.epsilon_start - config.epsilon_step * count)


def explored(acting: Float[Array, " actions"], uniforms: Array, epsilon: Array, go: Array) -> Float[Array, " action"]:
    """The best action, or any with probability epsilon and before the first update."""
    # The first number decides whether, the second what: both are kept for a stretch where explore_steps is above 1.
    other = jnp.floor(uniforms[1] * len(acting))
    return jnp.where((uniforms[0] < epsilon) | ~go, other, jnp.argmax(acting).astype(jnp.float32))[None]
