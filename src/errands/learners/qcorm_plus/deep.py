"""Deep QCoRM+: DDQN and TD3 whose values take the agenda as a factor, so that nothing has 2^N parts."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from errands.learners.engines.deep.agent import DeepAgent, SingleHead, ValueLearner
from errands.learners.engines.deep.agents import row_shape, scaled
from errands.learners.engines.deep.batch import within
from errands.learners.engines.deep.ddqn import Choosing, double
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import MachineArrays
from errands.learners.engines.deep.network import (
    Convolution,
    Factored,
    Layers,
    TrainedWeights,
    descend,
    l1_beyond_one,
    weighted,
)
from errands.learners.engines.deep.td3 import (
    NOISE_CLIP,
    TARGET_NOISE,
    ActorCritic,
    Moving,
    actor_loss,
    improved,
)
from errands.learners.qcorm_plus.contexts import ContextBatch, OverContexts
from errands.learners.qcorm_plus.settings import DeepPlusConfig


def _shape(config: DeepPlusConfig) -> tuple[int, int, int, int]:
    return config.width, config.depth, config.code_width, config.late


@dataclass(frozen=True)
class FactoredDDQN(Choosing):
    """Values of discrete actions under a machine state; pure functions of what is handed in."""

    net: Factored
    config: DeepPlusConfig

    @staticmethod
    def of(
        inputs: int, codes: int, actions: int, config: DeepPlusConfig, image: tuple[int, int, int] | None = None
    ) -> FactoredDDQN:
        """The learner for observations and codes of these lengths, or pictures of this shape."""
        conv = Convolution(image) if image and config.network == "conv" else None
        inputs = inputs if conv is None else conv.features
        return FactoredDDQN(Factored(inputs, codes, actions, *_shape(config), conv), config)

    def learn(
        self,
        trained: TrainedWeights,
        now: Float[Array, " inputs"],
        batch: ContextBatch,
        normals: Array,
        step: Int[Array, ""],
    ) -> tuple[TrainedWeights, Float[Array, "1 actions"]]:
        """One update, and the values of the observation that is to be acted on."""
        # [B, X, A]: rows, contexts (machine states that learn from the row), actions. batch.discount contains gamma
        # already.
        later = self._later(trained.target, self.net.trunk(trained.target, batch.following), batch)
        gradient, acting = jax.grad(self._loss, has_aux=True)(trained.weights, later, now, batch)
        c = self.config
        return descend(trained, gradient, c.alpha, c.polyak, step >= c.warmup, c.target_moves(step)), acting

    def _later(self, layers: Layers, features: Array, batch: ContextBatch) -> Float[Array, "rows contexts actions"]:
        """The values of the next observations in the machine states reached."""
        # Either the codes of what each row reaches, or all machine states by one product and then a pick.
        if batch.every is None:
            return self.net.join(layers, features[:, None], self.net.factor(layers, batch.later))
        q = self.net.every(layers, features, self.net.factor(layers, batch.every))
        return jnp.take_along_axis(q, batch.reached[..., None], axis=1)

    def _loss(
        self, layers: Layers, later: Float[Array, "rows contexts actions"], now: Array, batch: ContextBatch
    ) -> tuple[Float[Array, ""], Float[Array, "1 actions"]]:
        net, count = self.net, len(batch.observations)
        # The trunk, which is most of the work, sees each observation once, however many contexts there are.
        features = net.trunk(layers, jnp.concatenate([batch.observations, batch.following, now[None]]), count)
        codes = jnp.concatenate([batch.drawn, batch.own, batch.code[None]])
        drawn, own, here = jnp.split(net.factor(layers, codes), [len(batch.drawn), len(codes) - 1])
        # Drawn contexts are the same for all rows, so they are heads of one product; the row's own differs from row to
        # row. The order, drawn first and own last, is that of `reward`, `discount` and `weight`.
        shared = net.every(layers, features[:count], drawn)
        q = jnp.concatenate([shared, net.join(layers, features[:count], own)[:, None]], axis=1)
        online = self._later(jax.lax.stop_gradient(layers), jax.lax.stop_gradient(features[count:-1]), batch)
        goal = within(batch.bounds, batch.reward + batch.discount * double(online, later))
        taken = jax.nn.one_hot(batch.actions[:, 0].astype(jnp.int32), net.outputs)[:, None]
        error = jnp.sum(q * taken, axis=2) - goal
        return weighted(batch.weight, l1_beyond_one(error)), net.join(layers, features[-1:], here)

    def view(self, trained: TrainedWeights, now: Float[Array, " inputs"], code: Array) -> Float[Array, "1 actions"]:
        """The values of one observation under one code."""
        layers = trained.weights
        return self.net.join(layers, self.net.trunk(layers, now[None]), self.net.factor(layers, code[None]))


@dataclass(frozen=True)
class FactoredTD3(Moving):
    """Actions in [-1, 1] under a machine state; pure functions of what is handed in."""

    actor: Factored
    critic: Factored
    config: DeepPlusConfig
    phase: int | None = None
    """Updates since the actor's last, where the caller knows."""

    @staticmethod
    def of(inputs: int, codes: int, actions: int, config: DeepPlusConfig) -> FactoredTD3:
        """The learner for observations, codes and actions of these lengths."""
        shape = _shape(config)
        return FactoredTD3(
            Factored(inputs, codes, actions, *shape), Factored(inputs + actions, codes, 1, *shape), config
        )

    def _raw(self, layers: Layers, rows: Array, codes: Array) -> Float[Array, "rows contexts actions"]:
        """The actor's outputs, which tanh bends into actions."""
        return self.actor.join(layers, self.actor.trunk(layers, rows)[:, None], self.actor.factor(layers, codes))

    def _actions(self, layers: Layers, rows: Array, codes: Array) -> Float[Array, "rows contexts actions"]:
        return jnp.tanh(self._raw(layers, rows, codes))

    def _judge(
        self, critics: Layers, rows: Array, actions: Array, codes: Array
    ) -> Float[Array, "critics rows contexts"]:
        """Every critic on each context's action, or on one for all contexts of a row."""
        # Where `actions` has one entry on the axis of contexts, `join` spreads it over them after the trunk.
        wide = jnp.broadcast_to(rows[:, None], (*actions.shape[:2], rows.shape[1]))
        joined = jnp.concatenate([wide, actions], axis=2)

        def one(layers: Layers) -> Float[Array, "rows contexts"]:
            features = self.critic.trunk(layers, joined)
            return self.critic.join(layers, features, self.critic.factor(layers, codes))[..., 0]

        return jax.vmap(one)(critics)

    def learn(
        self, trained: ActorCritic, now: Array, batch: ContextBatch, normals: Array, step: Int[Array, ""]
    ) -> tuple[ActorCritic, Float[Array, "1 actions"]]:
        """One update of the critics, every second step one of the actor, and the action for `now`."""
        c = self.config
        # The first normals are for acting. One noise per row, the same in all its contexts.
        goal = self._goal(trained, batch, normals[self.action_width :].reshape(c.batch, 1, self.action_width))
        losses = partial(self._critic_loss, batch=batch, goal=goal), partial(self._actor_loss, batch=batch)
        return improved(trained, *losses, c, step, self.phase), self.view(trained, now, batch.code)

    def _goal(self, trained: ActorCritic, batch: ContextBatch, normals: Array) -> Float[Array, "rows contexts"]:
        noise = jnp.clip(normals * TARGET_NOISE, -NOISE_CLIP, NOISE_CLIP)
        # Here each context has an action of its own, so the critics' trunk is paid for once per context.
        actions = jnp.clip(self._actions(trained.actor.target, batch.following, batch.later) + noise, -1.0, 1.0)
        value = self._judge(trained.critics.target, batch.following, actions, batch.later).min(axis=0)
        return within(batch.bounds, batch.reward + batch.discount * value)

    def _critic_loss(self, critics: Layers, batch: ContextBatch, goal: Array) -> Float[Array, ""]:
        # The action is the stored one whatever the machine state: one row of the trunk serves all of them.
        q = self._judge(critics, batch.observations, batch.actions[:, None], batch.codes)
        return weighted(batch.weight, jnp.square(q - goal))

    def _actor_loss(self, layers: Layers, critic: Layers, batch: ContextBatch) -> Float[Array, ""]:
        # `critic` is the first one alone, still with its axis in front.
        raw = self._raw(layers, batch.observations, batch.codes)
        q = self._judge(critic, batch.observations, jnp.tanh(raw), batch.codes)
        # Without the critic's axis, of which the weights have none.
        return actor_loss(batch.weight, q, raw, self.config)

    def view(self, trained: ActorCritic, now: Float[Array, " inputs"], code: Array) -> Float[Array, "1 actions"]:
        """The action of one observation under one code."""
        return self._actions(trained.actor.weights, now[None], code[None, None])[0]


def agent(learner: str, machine: MachineArrays, config: DeepPlusConfig, spaces: Spaces) -> DeepAgent:
    """The agent: the machine state is an input of the network, so there is a single head and nothing to choose."""
    shape = row_shape(spaces)
    expansion = OverContexts(shape, machine, config)
    codes = expansion.codes.shape[1]
    low: ValueLearner
    if spaces.continuous:
        low = FactoredTD3.of(spaces.observation, codes, spaces.actions, config)
    else:
        low = FactoredDDQN.of(spaces.observation, codes, spaces.actions, config, spaces.image)
    return DeepAgent(machine, scaled(low, config, spaces), SingleHead(), expansion, shape, config)
