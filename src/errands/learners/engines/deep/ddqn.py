"""DDQN for any set of heads: acting, online values and next values in one pass, one update (Section 5)."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from errands.learners.engines.deep import network as nn
from errands.learners.engines.deep.batch import Batch, within
from errands.learners.engines.deep.config import EPSILON_UNITS, DeepConfig
from errands.learners.schedule import Schedule


class Choosing:
    """What value learners of discrete actions share: a network, and how its values choose."""

    net: nn.Headed | nn.Factored
    discrete = True
    normals = 0

    def init(self, key: Array) -> nn.TrainedWeights:
        """Fresh weights."""
        return nn.fresh(nn.init_layers(key, self.net.sizes))

    def act(
        self, acting: Float[Array, " actions"], uniforms: Array, normals: Array, epsilon: Array, go: Bool[Array, ""]
    ) -> Float[Array, " action"]:
        """Epsilon-greedy; at random before the first update."""
        return explored(acting, uniforms, epsilon, go)

    def greedy(self, acting: Float[Array, " actions"]) -> Float[Array, " action"]:
        """The best action."""
        return jnp.argmax(acting).astype(jnp.float32)[None]


@dataclass(frozen=True)
class DDQN(Choosing):
    """Values of discrete actions for each head; pure functions of what is handed in."""

    net: nn.Headed
    config: DeepConfig

    @staticmethod
    def of(
        inputs: int, heads: int, actions: int, config: DeepConfig, image: tuple[int, int, int] | None = None
    ) -> DDQN:
        """The learner for observations of this length, or pictures of this shape, and this many heads and actions."""
        conv = nn.Convolution(image) if image and config.network == "conv" else None
        kind: Literal["heads", "one-hot"] = "one-hot" if config.network == "one-hot" else "heads"
        inputs = inputs if conv is None else conv.features
        return DDQN(nn.Headed(inputs, heads, actions, config.width, config.depth, kind, conv), config)

    def learn(
        self,
        trained: nn.TrainedWeights,
        now: Float[Array, " inputs"],
        batch: Batch,
        normals: Float[Array, " normals"],
        step: Int[Array, ""],
    ) -> tuple[nn.TrainedWeights, Float[Array, "heads actions"]]:
        """One update, and the values of the observation that is to be acted on."""
        # Two layouts: all heads of each row, [B, H, A], of which `follow` picks afterwards; or a few per row, and then
        # the network is asked for the heads that follow at once.
        ahead = None if batch.heads is None else batch.follow
        later = self.net.some(trained.target, batch.following, ahead)
        gradient, acting = jax.grad(self._loss, has_aux=True)(trained.weights, later, now, batch)
        c = self.config
        return nn.descend(trained, gradient, c.alpha, c.polyak, step >= c.warmup, c.target_moves(step)), acting

    def _loss(
        self, layers: nn.Layers, later: Float[Array, "rows taught actions"], now: Float[Array, " inputs"], batch: Batch
    ) -> tuple[Float[Array, ""], Float[Array, "heads actions"]]:
        # Only q of the rows learns: the target network's values come from outside, the online ones have no gradient.
        q, following, acting = self._values(layers, now, batch)
        value = double(jax.lax.stop_gradient(following), later)
        if batch.heads is None and batch.follow is not None:
            value = jnp.take_along_axis(value, batch.follow, axis=1)
        goal = within(batch.bounds, batch.reward + self.config.gamma * batch.goes_on * value)
        taken = batch.actions[:, 0].astype(jnp.int32)
        # A product with one-hot rows instead of a gather, whose way back would be a slow scatter.
        chosen = jnp.sum(q * jax.nn.one_hot(taken, self.net.outputs)[:, None], axis=-1)
        return nn.weighted(batch.weight, nn.l1_beyond_one(chosen - goal)), acting

    def _values(self, layers: nn.Layers, now: Float[Array, " inputs"], batch: Batch) -> tuple[Array, Array, Array]:
        """The values of the observations, of those that follow, and of `now` for all heads."""
        # Three things in one pass; `count` keeps the rows behind it out of the way back.
        count = len(batch.observations)
        rows = jnp.concatenate([batch.observations, batch.following, now[None]])
        if batch.heads is None or batch.follow is None:
            q = self.net.every(layers, rows, count)
            return q[:count], q[count : 2 * count], q[-1]
        if self.net.kind == "heads":
            # All heads are there at once anyway; a pass of its own for `now` would read all weights once more.
            q = self.net.every(layers, rows, count)
            return nn.picked(q[:count], batch.heads), nn.picked(q[count : 2 * count], batch.follow), q[-1]
        q = self.net.some(layers, rows[:-1], jnp.concatenate([batch.heads, batch.follow]), count)
        return q[:count], q[count:], self.net.every(layers, now[None])[0]

    def view(self, trained: nn.TrainedWeights, now: Float[Array, " inputs"], code: Array) -> Float[Array, "heads actions"]:
        """The values of one observation."""
        values: Array = self.net.every(trained.weights, now[None])[0]
        return values


def double(online: Float[Array, "*rows actions"], target: Float[Array, "*rows actions"]) -> Float[Array, "*rows"]:
    """Double Q-learning: what the target network says of the action that is best online."""
    # One elementwise kernel and a maximum; among equal online values the higher target counts.
    return jnp.where(online == online.max(axis=-1, keepdims=True), target, -jnp.inf).max(axis=-1)


def annealed(config: DeepConfig, steps: Int[Array, ""], episodes: Int[Array, ""]) -> Float[Array, ""]:
    """The probability of a random action."""
    schedule = Schedule.of(config.epsilon, "epsilon", EPSILON_UNITS)
    count = steps if schedule.unit == "steps" else episodes
    return jnp.asarray(schedule.at(count.astype(jnp.float32), jnp.clip), jnp.float32)


def explored(acting: Float[Array, " actions"], uniforms: Array, epsilon: Array, go: Array) -> Float[Array, " action"]:
    """The best action, or any with probability epsilon and before the first update."""
    # The first number decides whether, the second what: both are kept for a stretch where explore_steps is above 1.
    other = jnp.floor(uniforms[1] * len(acting))
    return jnp.where((uniforms[0] < epsilon) | ~go, other, jnp.argmax(acting).astype(jnp.float32))[None]
