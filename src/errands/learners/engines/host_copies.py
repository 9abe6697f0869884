"""Methods of many copies in environments that are stepped on the host: rollouts there, and what they teach on the device."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from errands.errors import ConfigError
from errands.learners.engines.copies import Copies, Rollout
from errands.learners.engines.deep.agent import ActingAgent, AgentState
from errands.learners.engines.deep.host import OnHost
from errands.learners.engines.deep.host_envs import HostEnvs, Spaces
from errands.learners.engines.deep.network import Layers, TrainedWeights, fresh
from errands.learners.engines.deep.standardised import Scale, Scaled, Standard
from errands.learners.engines.deep.team import keys_of


class HostCopies(NamedTuple):
    """Many seeds side by side; every array but the step has a seed axis. Machine states and times are the environments'."""

    agent_states: AgentState
    """The averaged weights, by which evaluations act, and the scale of observations."""
    training: tuple[Layers, Layers, Layers, Int[Array, " seeds"]]
    """Weights, Adam's two moments, and updates so far."""
    rows: Float[Array, "seeds envs inputs"]
    """What the environments show."""
    keys: Array
    step: Int[Array, ""]


# A static argument of compiled functions: asked again it is the same one.
@lru_cache(maxsize=16)
def standardised(copies: Copies, spaces: Spaces) -> ActingAgent:
    """What acts, behind a scale of its observations, by their numbers or by the channels of pictures."""
    return replace(copies.agent, low=Scaled(copies.agent.low, spaces.image[2] if spaces.image else spaces.observation))


class HostCopiesTeam(OnHost):
    """Seeds of a method, each with some environments that are stepped on the host."""

    host_envs: HostEnvs

    def __init__(self, copies: Copies, envs: HostEnvs, seeds: tuple[int, ...]) -> None:
        spaces = envs.senses.spaces
        super().__init__(standardised(copies, spaces), envs, seeds)
        self.copies, self.continuous = copies, spaces.continuous
        if share := copies.revisits:
            where = f"that of '{copies.machine.task.name}' is stepped on the host"
            raise ConfigError(f"revisit is {share}; it needs a world on the device, and {where}")
        envs.limit = copies.longest
        with self.on_device():
            keys = keys_of(seeds)
            rows = jnp.asarray(envs.reset()).reshape(len(seeds), copies.config.envs, -1)
            self._state: HostCopies = _first(self.agent, keys, rows)

    @property
    def state(self) -> HostCopies:
        """Every array."""
        return self._state

    def put(self, state: Any) -> None:
        """Take these arrays."""
        self._state = state

    def advance(self, count: int) -> None:
        """Take `count` training steps with every seed."""
        with self.on_device():
            for _ in range(count // self.copies.config.step_multiple):
                (where,) = self._state.step.devices()
                rollout, rows = self._rollout()
                self._state = _studied(self.copies, where.platform != "cpu", self._state._replace(rows=rows), rollout)

    def _rollout(self) -> tuple[Rollout, Array]:
        """What the environments did in the next steps, [seeds, steps, environments, ...] each, and what they show then."""
        lanes, now, envs = (len(self.seeds), self.copies.config.envs), self._state, self.host_envs
        scale, rows, steps = now.agent_states.trained.scale, np.asarray(now.rows), list[tuple[Any, ...]]()
        uniforms, begins = _chances(self.copies, now.keys, now.step)
        for mine, begin in zip(uniforms, np.asarray(begins), strict=True):
            state = envs.state.reshape(lanes)
            action = np.asarray(_acted(self.copies, now.training[0], scale, rows, state, mine))
            pushed = action.reshape(-1, action.shape[-1])
            answer = envs.step(np.clip(pushed, -1.0, 1.0) if self.continuous else pushed)
            # An episode that is over has begun anew, and may do so in another machine state than the first.
            over = envs.time == 0
            envs.state[over] = begin.ravel()[over]
            parts = answer.label, answer.ends, over, answer.signals, answer.observation
            label, ends, over, signals, following = (part.reshape(*lanes, *part.shape[1:]) for part in parts)
            steps.append((rows, action, state, label, ends, over, signals, following))
            rows = answer.fresh.reshape(rows.shape)
        return Rollout(*(jnp.asarray(np.stack(part, axis=1)) for part in zip(*steps, strict=True))), jnp.asarray(rows)


@partial(jax.jit, static_argnums=0)
def _first(agent: ActingAgent, keys: Array, rows: Array) -> HostCopies:
    def of(key: Array) -> tuple[Standard, Any]:
        standard: Standard = agent.low.init(jax.random.fold_in(key, 2**31 - 1))
        trained = fresh(standard.own)
        return Standard(trained.target, standard.scale), (trained.weights, trained.mean, trained.square, trained.updates)

    standard, training = jax.vmap(of)(keys)
    return HostCopies(AgentState(standard, ()), training, rows, keys, jnp.int32(0))


@partial(jax.jit, static_argnums=0)
def _chances(copies: Copies, keys: Array, step: Array) -> tuple[list[Array], Array]:
    """The uniform numbers of actions in each step of the next rollout, and the machine states in which episodes begin then."""
    c, number = copies.config, step // copies.config.step_multiple

    def of(key: Array) -> tuple[Array, Array]:
        # Chance depends on the seed and the number of the pass alone: stopping, or resuming, changes nothing.
        first, _ = jax.random.split(jax.random.fold_in(key, number))
        uniforms = jax.random.uniform(first, (c.rollout, c.envs, copies.draws + 2))
        return uniforms[..., : copies.draws], jax.vmap(copies.begin)(uniforms[..., copies.draws :])

    uniforms, begins = jax.vmap(of, out_axes=1)(keys)
    return list(uniforms), begins


@partial(jax.jit, static_argnums=0)
def _acted(copies: Copies, weights: Layers, scale: Scale, rows: Array, state: Array, uniforms: Array) -> Array:
    """The actions of all environments."""
    actions: Array = jax.vmap(lambda w, s, seen, *rest: copies.act(w, s.of(seen), *rest))(weights, scale, rows, state, uniforms)
    return actions


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=2)
def _studied(copies: Copies, together: bool, team: HostCopies, rollouts: Rollout) -> HostCopies:
    """What the seeds are after learning from their rollouts."""
    number = team.step // copies.config.step_multiple

    def one(seed: tuple[Array, Standard, Any, Rollout]) -> tuple[Standard, Any]:
        key, (average, scale), (weights, mean, square, updates), rollout = seed
        _, second = jax.random.split(jax.random.fold_in(key, number))
        # Seen as it was acted on; the scale then takes the rollout in.
        seen = rollout._replace(observation=scale.of(rollout.observation), following=scale.of(rollout.following))
        trained = copies.study(TrainedWeights(weights, mean, square, average, updates), seen, number, second)
        scale = scale.with_batch(rollout.observation.reshape(-1, rollout.observation.shape[-1]), jnp.bool_(True))
        return Standard(trained.target, scale), (trained.weights, trained.mean, trained.square, trained.updates)

    seeds = (team.keys, team.agent_states.trained, team.training, rollouts)
    standard, training = jax.vmap(one)(seeds) if together else jax.lax.map(one, seeds)
    return HostCopies(AgentState(standard, ()), training, team.rows, team.keys, team.step + copies.config.step_multiple)
