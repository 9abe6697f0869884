"""PPO: some passes over what many copies of a world did move a policy, clipped, along advantages of the machine's rewards."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from errands.learners.engines.batched import init_normal, lambda_returns, normed
from errands.learners.engines.copies import Copies, Rollout, team_of_copies
from errands.learners.engines.deep.agent import ActingAgent, SingleHead
from errands.learners.engines.deep.agents import row_shape
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import MachineArrays
from errands.learners.engines.deep.network import Layers, TrainedWeights
from errands.learners.ppo.settings import PPOConfig

# Letters in shapes: T steps, E environments, U machine states, A actions. All is about one seed.
LONGEST = 0.5
"""The length to which a gradient is cut."""


@dataclass(frozen=True)
class PolicyAndValue:
    """A network whose input is observation and machine state, and whose outputs tell how actions are drawn, and a value."""

    inputs: int
    states: int
    actions: int
    continuous: bool
    config: PPOConfig

    @property
    def discrete(self) -> bool:
        """Whether its actions are choices."""
        return not self.continuous

    def init(self, key: Array) -> Layers:
        """Fresh weights; at first all actions are about as likely."""
        hidden, last = (self.config.width,) * self.config.depth, self.actions * (1 + self.continuous) + 1
        return init_normal(key, (self.inputs + self.states, *hidden, last))

    def code(self, state: Int[Array, "*rows"]) -> Float[Array, "*rows U"]:
        """What tells the network the machine state."""
        return jax.nn.one_hot(state, self.states)

    def outputs(
        self, layers: Layers, seen: Float[Array, "*rows inputs"], state: Int[Array, "*rows"]
    ) -> tuple[Float[Array, "*rows told"], Float[Array, "*rows"]]:
        """The logits of choices, or means and logarithms of deviations of numbers; and the value."""
        out = normed(layers, jnp.concatenate([seen, self.code(state)], axis=-1))
        return out[..., :-1], out[..., -1]

    def drawn(self, told: Float[Array, "*rows told"], uniforms: Float[Array, "*rows draws"]) -> Float[Array, "*rows action"]:
        """Actions of these uniform numbers."""
        if self.continuous:
            mean, log = self._normal(told)
            return mean + jnp.exp(log) * jax.scipy.special.ndtri(jnp.clip(uniforms, 1e-6, 1 - 1e-6))
        below = jnp.cumsum(jax.nn.softmax(told), axis=-1) < uniforms
        return jnp.minimum(below.sum(axis=-1, keepdims=True), self.actions - 1).astype(jnp.float32)

    def likelihood(
        self, told: Float[Array, "*rows told"], action: Float[Array, "*rows action"]
    ) -> tuple[Float[Array, "*rows"], Float[Array, "*rows"]]:
        """The logarithm of how likely an action is, and the entropy of all."""
        if self.continuous:
            mean, log = self._normal(told)
            likely = -0.5 * jnp.square((action - mean) / jnp.exp(log)) - log - 0.5 * jnp.log(2 * jnp.pi)
            return likely.sum(axis=-1), (log + 0.5 * jnp.log(2 * jnp.pi * jnp.e)).sum(axis=-1)
        chances = jax.nn.log_softmax(told)
        taken = jnp.take_along_axis(chances, action.astype(jnp.int32), axis=-1)[..., 0]
        return taken, -jnp.sum(jnp.exp(chances) * chances, axis=-1)

    def _normal(self, told: Array) -> tuple[Array, Array]:
        """Means, and logarithms of deviations: at first that of 0.6, for actions between -1 and 1."""
        mean, log = jnp.split(told, 2, axis=-1)
        return mean, jnp.clip(log - 0.5, -4.0, 1.0)

    def view(self, trained: Layers, now: Float[Array, " inputs"], code: Array) -> Float[Array, "1 told"]:
        """What one observation is acted on with."""
        return normed(trained, jnp.concatenate([now, code]))[None, :-1]

    def greedy(self, acting: Float[Array, " told"]) -> Float[Array, " action"]:
        """The likeliest action."""
        if self.continuous:
            return jnp.clip(acting[: self.actions], -1.0, 1.0)
        return jnp.argmax(acting).astype(jnp.float32)[None]


@dataclass(frozen=True, eq=False)
class PPO(Copies):
    """PPO on a task."""

    config: PPOConfig

    @property
    def draws(self) -> int:
        """One for a choice, else one for each number."""
        return self.policy.actions if self.policy.continuous else 1

    @classmethod
    def acting(cls, machine: MachineArrays, spaces: Spaces, config: PPOConfig) -> ActingAgent:
        """The policy acts."""
        low = PolicyAndValue(spaces.observation, len(machine.rm), spaces.actions, spaces.continuous, config)
        return ActingAgent(machine, low, SingleHead(), low, row_shape(spaces), config)

    @property
    def policy(self) -> PolicyAndValue:
        """What is learnt."""
        return cast(PolicyAndValue, self.agent.low)

    def act(
        self, layers: Layers, seen: Float[Array, "E inputs"], state: Int[Array, " E"], uniforms: Float[Array, "E draws"]
    ) -> Float[Array, "E action"]:
        """Actions drawn from the policy."""
        return self.policy.drawn(self.policy.outputs(layers, seen, state)[0], uniforms)

    def returns(self, layers: Layers, rollout: Rollout) -> Float[Array, "T E"]:
        """The return of each step along what was done, by the lambda of the advantages."""
        pay = jnp.asarray(self.pays, jnp.float32)[rollout.state, rollout.label]
        reward = pay[..., 0] + jnp.sum(pay[..., 1:] * rollout.signals, axis=-1)
        reached = jnp.asarray(self.machine.table.next)[rollout.state, rollout.label]
        goes_on = self.config.gamma * (jnp.asarray(self.machine.running)[reached] & ~rollout.ends)
        later = self.policy.outputs(layers, rollout.following, reached)[1]
        kept = jnp.concatenate([~rollout.over[:-1], jnp.zeros_like(rollout.over[:1])])
        return lambda_returns(reward[..., None], goes_on[..., None], later[..., None], kept[..., None], self.config.trace)[..., 0]

    def study(self, trained: TrainedWeights, rollout: Rollout, number: Array, key: Array) -> TrainedWeights:
        """Some passes, which move the policy from where it stood in the rollout."""
        told, value = self.policy.outputs(trained.weights, rollout.observation, rollout.state)
        before, _ = self.policy.likelihood(told, rollout.action)
        goal = self.returns(trained.weights, rollout)
        parts = (rollout.observation, rollout.state, rollout.action, before, goal - value, goal)
        for epoch in range(self.config.epochs):
            trained = self.passed(self.loss, trained, parts, number, jax.random.fold_in(key, epoch), LONGEST)
        return trained

    def loss(
        self, layers: Layers, seen: Float[Array, "B inputs"], state: Array, action: Array, before: Array, gained: Array, goal: Array
    ) -> Float[Array, ""]:
        """The clipped surrogate, the squared error of values, and what entropy earns."""
        told, value = self.policy.outputs(layers, seen, state)
        likely, entropy = self.policy.likelihood(told, action)
        ratio = jnp.exp(likely - before)
        scaled = (gained - gained.mean()) / (gained.std() + 1e-8)
        gain = jnp.minimum(ratio * scaled, jnp.clip(ratio, 1 - self.config.clip, 1 + self.config.clip) * scaled)
        return jnp.mean(0.5 * jnp.square(value - goal) - gain - self.config.entropy * entropy)


team = partial(team_of_copies, PPO)
