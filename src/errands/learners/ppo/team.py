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
    """A network whose input is observation and machine state, and whose outputs are the logits of actions and a value."""

    inputs: int
    states: int
    actions: int
    config: PPOConfig
    discrete = True

    def init(self, key: Array) -> Layers:
        """Fresh weights; at first all actions are about as likely."""
        return init_normal(key, (self.inputs + self.states, *(self.config.width,) * self.config.depth, self.actions + 1))

    def code(self, state: Int[Array, "*rows"]) -> Float[Array, "*rows U"]:
        """What tells the network the machine state."""
        return jax.nn.one_hot(state, self.states)

    def outputs(
        self, layers: Layers, seen: Float[Array, "*rows inputs"], state: Int[Array, "*rows"]
    ) -> tuple[Float[Array, "*rows A"], Float[Array, "*rows"]]:
        """The logarithms of the actions' probabilities, and the value."""
        out = normed(layers, jnp.concatenate([seen, self.code(state)], axis=-1))
        return jax.nn.log_softmax(out[..., :-1]), out[..., -1]

    def view(self, trained: Layers, now: Float[Array, " inputs"], code: Array) -> Float[Array, "1 A"]:
        """The logits of one observation."""
        return normed(trained, jnp.concatenate([now, code]))[None, :-1]

    def greedy(self, acting: Float[Array, " A"]) -> Float[Array, " action"]:
        """The likeliest action."""
        return jnp.argmax(acting).astype(jnp.float32)[None]


@dataclass(frozen=True, eq=False)
class PPO(Copies):
    """PPO on a task."""

    config: PPOConfig
    draws = 1

    @classmethod
    def acting(cls, machine: MachineArrays, spaces: Spaces, config: PPOConfig) -> ActingAgent:
        """The policy acts."""
        low = PolicyAndValue(spaces.observation, len(machine.rm), spaces.actions, config)
        return ActingAgent(machine, low, SingleHead(), low, row_shape(spaces), config)

    @property
    def policy(self) -> PolicyAndValue:
        """What is learnt."""
        return cast(PolicyAndValue, self.agent.low)

    def act(
        self, layers: Layers, seen: Float[Array, "E inputs"], state: Int[Array, " E"], uniforms: Float[Array, "E draws"]
    ) -> Float[Array, "E action"]:
        """Actions drawn from the policy."""
        chances, _ = self.policy.outputs(layers, seen, state)
        below = jnp.cumsum(jnp.exp(chances), axis=-1) < uniforms
        return jnp.minimum(below.sum(axis=-1, keepdims=True), self.policy.actions - 1).astype(jnp.float32)

    def returns(self, layers: Layers, rollout: Rollout) -> Float[Array, "T E"]:
        """The return of each step along what was done, by the lambda of the advantages."""
        pay = jnp.asarray(self.machine.pays, jnp.float32)[rollout.state, rollout.label]
        reward = pay[..., 0] + jnp.sum(pay[..., 1:] * rollout.signals, axis=-1)
        reached = jnp.asarray(self.machine.table.next)[rollout.state, rollout.label]
        goes_on = self.config.gamma * (jnp.asarray(self.machine.running)[reached] & ~rollout.ends)
        later = self.policy.outputs(layers, rollout.following, reached)[1]
        kept = jnp.concatenate([~rollout.over[:-1], jnp.zeros_like(rollout.over[:1])])
        return lambda_returns(reward[..., None], goes_on[..., None], later[..., None], kept[..., None], self.config.trace)[..., 0]

    def study(self, trained: TrainedWeights, rollout: Rollout, number: Array, key: Array) -> TrainedWeights:
        """Some passes, which move the policy from where it stood in the rollout."""
        chances, value = self.policy.outputs(trained.weights, rollout.observation, rollout.state)
        goal = self.returns(trained.weights, rollout)
        parts = (rollout.observation, rollout.state, rollout.action, _taken(chances, rollout.action), goal - value, goal)
        for epoch in range(self.config.epochs):
            trained = self.passed(self.loss, trained, parts, number, jax.random.fold_in(key, epoch), LONGEST)
        return trained

    def loss(
        self, layers: Layers, seen: Float[Array, "B inputs"], state: Array, action: Array, before: Array, gained: Array, goal: Array
    ) -> Float[Array, ""]:
        """The clipped surrogate, the squared error of values, and what entropy earns."""
        chances, value = self.policy.outputs(layers, seen, state)
        ratio = jnp.exp(_taken(chances, action) - before)
        scaled = (gained - gained.mean()) / (gained.std() + 1e-8)
        gain = jnp.minimum(ratio * scaled, jnp.clip(ratio, 1 - self.config.clip, 1 + self.config.clip) * scaled)
        entropy = -jnp.sum(jnp.exp(chances) * chances, axis=-1)
        return jnp.mean(0.5 * jnp.square(value - goal) - gain - self.config.entropy * entropy)


def _taken(chances: Float[Array, "*rows A"], action: Float[Array, "*rows 1"]) -> Float[Array, "*rows"]:
    """The entries of the actions that were taken."""
    return jnp.take_along_axis(chances, action.astype(jnp.int32), axis=-1)[..., 0]


team = partial(team_of_copies, PPO)
