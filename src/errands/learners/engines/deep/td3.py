"""TD3 for any set of heads: an actor and two critics, the critics side by side (Section 5)."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from errands.learners.engines.deep import network as nn
from errands.learners.engines.deep.batch import Batch, within
from errands.learners.engines.deep.config import DeepConfig

TARGET_NOISE, NOISE_CLIP, POLICY_DELAY = 0.2, 0.5, 2
"""Deviation of the noise on target actions, where it is cut off, updates of the critics to one of the actor: as in TD3's paper."""


class ActorCritic(NamedTuple):
    """The weights of the actor, and of both critics stacked on a first axis."""

    actor: nn.TrainedWeights
    critics: nn.TrainedWeights


class Moving:
    """What value learners of actions that are numbers share: an actor, critics, and how the actor explores."""

    actor: nn.Headed | nn.Factored
    critic: nn.Headed | nn.Factored
    config: DeepConfig
    discrete = False

    @property
    def action_width(self) -> int:
        """Numbers in an action."""
        return self.actor.outputs

    @property
    def normals(self) -> int:
        """Normal numbers per step: one action, and one per row for the targets."""
        return self.action_width * (1 + self.config.batch)

    def init(self, key: Array) -> ActorCritic:
        """Fresh weights."""
        first, second = jax.random.split(key)
        critics = jax.vmap(lambda one: nn.init_layers(one, self.critic.sizes))(jax.random.split(second))
        return ActorCritic(nn.fresh(nn.init_layers(first, self.actor.sizes)), nn.fresh(critics))

    def act(
        self, acting: Float[Array, " actions"], uniforms: Array, normals: Array, epsilon: Array, go: Bool[Array, ""]
    ) -> Float[Array, " actions"]:
        """The actor's action with noise; uniform before the first update, and now and then."""
        go = go & (uniforms[0] >= self.config.random_actions)
        return noisy(acting, normals, self.config.action_noise, go)

    def greedy(self, acting: Float[Array, " actions"]) -> Float[Array, " actions"]:
        """The actor's action."""
        return acting


@dataclass(frozen=True)
class TD3(Moving):
    """Actions in [-1, 1] for each head; pure functions of what is handed in."""

    actor: nn.Headed
    critic: nn.Headed
    config: DeepConfig
    phase: int | None = None
    """Updates since the actor's last, where the caller knows; a GPU then need not ask the host in between."""

    @staticmethod
    def of(inputs: int, heads: int, actions: int, config: DeepConfig) -> TD3:
        """The learner for observations of this length and this many heads and numbers in an action."""
        kind: Literal["heads", "one-hot"] = "one-hot" if config.network == "one-hot" else "heads"
        shape = (config.width, config.depth, kind)
        return TD3(nn.Headed(inputs, heads, actions, *shape), nn.Headed(inputs + actions, heads, 1, *shape), config)

    def _actions(
        self, layers: nn.Layers, rows: Float[Array, "rows inputs"], heads: Int[Array, "rows heads"] | None = None
    ) -> Float[Array, "rows heads actions"]:
        return jnp.tanh(self.actor.some(layers, rows, heads))

    def _judge(
        self,
        critics: nn.Layers,
        rows: Float[Array, "rows inputs"],
        actions: Float[Array, "rows heads actions"],
        heads: Int[Array, "rows heads"] | None = None,
    ) -> Float[Array, "critics rows heads"]:
        """Every critic on each head's own action."""
        # [B, H, inputs + actions]: every head judges its own action, so nothing of the first layer can be shared.
        wide = jnp.broadcast_to(rows[:, None], (*actions.shape[:2], rows.shape[1]))
        joined = jnp.concatenate([wide, actions], axis=2)
        return jax.vmap(self.critic.own, in_axes=(0, None, None))(critics, joined, heads)[..., 0]

    def learn(
        self,
        trained: ActorCritic,
        now: Float[Array, " inputs"],
        batch: Batch,
        normals: Float[Array, " normals"],
        step: Int[Array, ""],
    ) -> tuple[ActorCritic, Float[Array, "heads actions"]]:
        """One update of the critics, every second step one of the actor, and the actions for `now`."""
        # Normals: the first `action_width` are for acting, then one action's worth per row of the batch.
        acting = self._actions(trained.actor.weights, now[None])[0]
        goal = self._goal(trained, batch, normals[self.action_width :].reshape(self.config.batch, self.action_width))
        losses = partial(self._critic_loss, batch=batch, goal=goal), partial(self._actor_loss, batch=batch)
        return improved(trained, *losses, self.config, step, self.phase), acting

    def _goal(
        self, trained: ActorCritic, batch: Batch, normals: Float[Array, "batch actions"]
    ) -> Float[Array, "rows taught"]:
        c = self.config
        noise = jnp.clip(normals * TARGET_NOISE, -NOISE_CLIP, NOISE_CLIP)
        # Extra rows have no noise of their own: resize repeats the first ones. Their targets are fixed, so it has no
        # effect. The same noise for all heads of a row.
        noise = jnp.resize(noise, (len(batch.following), self.action_width))[:, None]
        # As in DDQN: all heads, of which `follow` picks below, or just those that follow.
        ahead = None if batch.heads is None else batch.follow
        actions = jnp.clip(self._actions(trained.actor.target, batch.following, ahead) + noise, -1.0, 1.0)
        value = self._judge(trained.critics.target, batch.following, actions, ahead).min(axis=0)
        if batch.heads is None and batch.follow is not None:
            value = jnp.take_along_axis(value, batch.follow, axis=1)
        return within(batch.bounds, batch.reward + c.gamma * batch.goes_on * value)

    def _critic_loss(self, critics: nn.Layers, batch: Batch, goal: Float[Array, "rows taught"]) -> Float[Array, ""]:
        rows = jnp.concatenate([batch.observations, batch.actions], axis=1)
        # [2, B, H]: the stored action is the same for all heads, so unlike in `_judge` the trunk is computed once per row.
        q = jax.vmap(self.critic.some, in_axes=(0, None, None))(critics, rows, batch.heads)[..., 0]
        return nn.weighted(batch.weight, jnp.square(q - goal))

    def _actor_loss(self, layers: nn.Layers, critic: nn.Layers, batch: Batch) -> Float[Array, ""]:
        raw = self.actor.some(layers, batch.observations, batch.heads)
        # `critic` has the axis of critics too, of length 1.
        q = self._judge(critic, batch.observations, jnp.tanh(raw), batch.heads)[0]
        return actor_loss(batch.weight, q, raw, self.config)

    def view(self, trained: ActorCritic, now: Float[Array, " inputs"], code: Array) -> Float[Array, "heads actions"]:
        """The actions of one observation."""
        return self._actions(trained.actor.weights, now[None])[0]


def improved(
    trained: ActorCritic,
    critic_loss: Callable[[nn.Layers], Array],
    actor_loss: Callable[[nn.Layers, nn.Layers], Array],
    config: DeepConfig,
    step: Int[Array, ""],
    phase: int | None,
) -> ActorCritic:
    """One update of the critics, and every second step one of the actor, whose loss is by the first critic."""
    go = step >= config.warmup
    # Actor and both targets move together, every second update, as in Stable-Baselines3 (the paper is silent).
    both = step // config.learn_every % POLICY_DELAY == 0 if phase is None else phase == 0
    gradient = jax.grad(critic_loss)(trained.critics.weights)
    # Critics first: the actor climbs the updated ones.
    moves = config.target_moves(step)
    critics = nn.descend(trained.critics, gradient, config.alpha, config.polyak, go, both & moves)

    def improve(actor: nn.TrainedWeights) -> nn.TrainedWeights:
        """The actor after its update."""
        first = jax.tree.map(lambda part: part[:1], critics.weights)
        return nn.descend(actor, jax.grad(actor_loss)(actor.weights, first), config.alpha, config.polyak, go, moves)

    # With a known phase there is no condition left in the program.
    if isinstance(both, bool):
        return ActorCritic(improve(trained.actor) if both else trained.actor, critics)
    return ActorCritic(jax.lax.cond(both, improve, lambda actor: actor, trained.actor), critics)


def actor_loss(weight: Array, q: Array, raw: Float[Array, "rows taught actions"], config: DeepConfig) -> Float[Array, ""]:
    """Less what the critic expects, and what the actor's outputs cost before they are bent into [-1, 1]."""
    # Adam moves as far on noise as on what is worth learning: while nothing is paid yet an actor drifts to the bounds,
    # where tanh has no slope to bring it back. The cost has one everywhere.
    loss = -nn.weighted(weight, q)
    cost = config.action_cost
    return loss + cost * nn.weighted(weight, jnp.square(raw).sum(axis=-1)) if cost else loss


def noisy(acting: Float[Array, " actions"], normals: Array, size: float, go: Array) -> Float[Array, " actions"]:
    """An action with normal noise; a uniform one before the first update."""
    # erf(x / sqrt 2) turns a normal number into a uniform one between -1 and 1, so no other numbers are needed.
    own = normals[: len(acting)]
    return jnp.where(go, jnp.clip(acting + size * own, -1.0, 1.0), jax.lax.erf(own * 0.5**0.5))
