"""PQN: one pass over what many copies of a world did teaches every machine state, by returns along what was done."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from errands.errors import TaskError
from errands.learners.engines.batched import followed, init_normal, ladder, lambda_returns, normed
from errands.learners.engines.copies import Copies, Rollout, team_of_copies
from errands.learners.engines.deep.agent import ActingAgent, HighLevel
from errands.learners.engines.deep.agents import row_shape
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import MachineArrays
from errands.learners.engines.deep.network import Layers, TrainedWeights
from errands.learners.pqn.settings import PQNConfig


# Letters in shapes: T steps, E environments, U machine states, A actions. All is about one seed.
@dataclass(frozen=True)
class StateValues:
    """A row of action values for every machine state, by a network that looks at the observation alone."""

    inputs: int
    states: int
    actions: int
    config: PQNConfig
    discrete = True

    def init(self, key: Array) -> Layers:
        """Fresh weights, whose values are near 0."""
        return init_normal(key, (self.inputs, *(self.config.width,) * self.config.depth, self.states * self.actions))

    def values(self, layers: Layers, rows: Float[Array, "*rows inputs"]) -> Float[Array, "*rows U A"]:
        """The values of observations in all machine states."""
        return normed(layers, rows).reshape(*rows.shape[:-1], self.states, self.actions)

    def view(self, trained: Layers, now: Float[Array, " inputs"], code: Array) -> Float[Array, "U A"]:
        """The values of one observation."""
        return self.values(trained, now)

    def greedy(self, acting: Float[Array, " A"]) -> Float[Array, " action"]:
        """The best action."""
        return jnp.argmax(acting).astype(jnp.float32)[None]


class NoCode:
    """The machine state chooses among the network's outputs, and is no input of it."""

    def code(self, state: Array) -> Array:
        """Nothing."""
        return jnp.zeros(0)


@dataclass(frozen=True, eq=False)
class PQN(Copies):
    """PQN on a task."""

    config: PQNConfig
    draws = 2
    """Whether to explore, and what to do then."""

    @classmethod
    def acting(cls, machine: MachineArrays, spaces: Spaces, config: PQNConfig) -> ActingAgent:
        """The head of the machine state acts."""
        if spaces.continuous:
            raise TaskError(f"learner 'pqn' chooses among actions, and those of '{machine.task.name}' are numbers; use ppo")
        values = StateValues(spaces.observation, len(machine.rm), spaces.actions, config)
        return ActingAgent(machine, values, HighLevel(), NoCode(), row_shape(spaces), config)

    @property
    def values(self) -> StateValues:
        """What is learnt."""
        return cast(StateValues, self.agent.low)

    def act(
        self, layers: Layers, seen: Float[Array, "E inputs"], state: Int[Array, " E"], uniforms: Float[Array, "E 2"]
    ) -> Float[Array, "E 1"]:
        """The best action, or by the epsilon of a copy any."""
        own = jnp.take_along_axis(self.values.values(layers, seen), state[:, None, None], axis=1)[:, 0]
        explores = uniforms[:, 0] < ladder(self.config.epsilon_low, self.config.epsilon_high, self.config.envs)
        other = jnp.floor(uniforms[:, 1] * self.values.actions).astype(jnp.int32)
        return jnp.where(explores, other, jnp.argmax(own, axis=1))[:, None].astype(jnp.float32)

    @property
    def revisits(self) -> float:
        """As set."""
        return self.config.revisit

    def returns(self, layers: Layers, rollout: Rollout) -> Float[Array, "T E U"]:
        """For every machine state the return of each step along what was done, cut where another action looks better to it."""
        follow = jnp.asarray(self.machine.table.next.T)[rollout.label]
        # [L, U, 1 + signals]: what a step with a label pays in a machine state.
        pay = jnp.asarray(self.pays.swapaxes(0, 1), jnp.float32)[rollout.label]
        reward = pay[..., 0] + jnp.einsum("teus,tes->teu", pay[..., 1:], rollout.signals)
        goes_on = self.config.gamma * (jnp.asarray(self.machine.running)[follow] & ~rollout.ends[..., None])
        action = rollout.action[..., 0].astype(jnp.int32)
        best, kept = followed(self.values.values(layers, rollout.following), action, rollout.over)
        return lambda_returns(reward, goes_on, best, kept, self.config.trace, follow)

    def loss(
        self, layers: Layers, seen: Float[Array, "B inputs"], action: Array, state: Array, goal: Float[Array, "B U"]
    ) -> Float[Array, ""]:
        """The mean squared error over the machine states that learn from a step."""
        taken = jax.nn.one_hot(action[:, 0], self.values.actions)[:, None]
        error = jnp.square(jnp.sum(self.values.values(layers, seen) * taken, axis=-1) - goal)
        running = self.machine.running
        if not self.machine.task.vanishing:
            return jnp.sum(error * jnp.asarray(running, jnp.float32)) / (len(error) * int(running.sum()))
        # As with CRM a state in which a box still waits must not learn from a world in which it is gone.
        alive = jnp.asarray(self.machine.reachable & running, jnp.float32)[state]
        return jnp.sum(error * alive) / jnp.sum(alive)

    def study(self, trained: TrainedWeights, rollout: Rollout, number: Array, key: Array) -> TrainedWeights:
        """One pass."""
        goal = self.returns(trained.weights, rollout)
        return self.passed(self.loss, trained, (rollout.observation, rollout.action, rollout.state, goal), number, key)


team = partial(team_of_copies, PQN)
