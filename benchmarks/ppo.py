"""PPO on PQN's engine: the agenda state as input and one trunk for policy and values, beside PQN with the same seconds.

    python benchmarks/ppo.py --tasks water-3 water-5 --seeds 5 --seconds 6
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import errands
from errands.learners.engines.batched import either, init_normal, normed, one_pass
from errands.learners.engines.deep.device import begun
from errands.learners.engines.deep.machine import machine_arrays
from errands.learners.pqn.settings import PQNConfig
from errands.learners.pqn.team import Copies, CopiesTeam, Lanes, Rollout, Standing, StateValues, copies_of
from errands.learners.presets import config_of
from errands.learners.schedule import Schedule
from errands.tables import RUNNING

CLIP, ENTROPY, GAE, EPOCHS = 0.2, 0.01, 0.95, 4


@dataclass(frozen=True)
class PolicyAndValue(StateValues):
    """Logits and one value of an observation in a machine state, which is part of the input."""

    def init(self, key: Any) -> Any:
        """Fresh weights."""
        return init_normal(key, (self.inputs + self.states, *(self.config.width,) * self.config.depth, self.actions + 1))

    def outputs(self, layers: Any, rows: Any, state: Any) -> tuple[Any, Any]:
        """Logits and value."""
        out = normed(layers, jnp.concatenate([rows, jax.nn.one_hot(state, self.states)], axis=-1))
        return out[..., :-1], out[..., -1]

    def values(self, layers: Any, rows: Any) -> Any:
        """The logits in every machine state: what greedy episodes go by."""
        wide = jnp.broadcast_to(rows[..., None, :], (*rows.shape[:-1], self.states, self.inputs))
        return self.outputs(layers, wide, jnp.broadcast_to(jnp.arange(self.states), wide.shape[:-1]))[0]


@dataclass(frozen=True, eq=False)
class PPO(Copies):
    """The same copies, with actions drawn from the policy."""

    def step(self, layers: Any, lanes: Lanes, uniforms: Any) -> tuple[Lanes, Any]:
        """A step of every copy."""
        worlds, (state, time) = lanes
        seen = jax.vmap(self.world.observe)(worlds)
        logits, value = self.values.outputs(layers, seen, state)
        below = jnp.cumsum(jax.nn.softmax(logits), axis=-1) < uniforms[:, :1]
        action = jnp.minimum(below.sum(axis=-1), self.values.actions - 1).astype(jnp.int32)
        chance = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], axis=-1)[:, 0]
        after, label, ends, signals = jax.vmap(self.world.step)(worlds, action[:, None].astype(jnp.float32), uniforms[:, 2])
        table = self.machine.table
        reached = jnp.asarray(table.next)[state, label]
        late = time + 1 >= min(self.config.cut, self.machine.limit)
        over = (jnp.asarray(table.status)[reached] != RUNNING) | ends | late
        following = jax.vmap(self.world.observe)(after)
        fresh = jax.vmap(partial(begun, self.world))(after, uniforms[:, 3])
        places = Standing(jnp.where(over, self.begin(uniforms[:, 4:]), reached), jnp.where(over, 0, time + 1))
        rollout = Rollout(seen, action, state, label, ends, over, signals, following)
        return Lanes(either(over, fresh, after), places), (rollout, reached, value, chance)

    def iterate(self, number: Any, key: Any, trained: Any, lanes: Lanes) -> Any:
        """A rollout of every copy, and some passes over it."""
        c = self.config
        first, second = jax.random.split(jax.random.fold_in(key, number))
        uniforms = jax.random.uniform(first, (c.rollout, c.envs, 6))
        lanes, (did, reached, value, chance) = jax.lax.scan(partial(self.step, trained.weights), lanes, uniforms)
        pay = jnp.asarray(self.machine.pays, jnp.float32)[did.state, did.label]
        reward = pay[..., 0] + jnp.sum(pay[..., 1:] * did.signals, axis=-1)
        goes_on = c.gamma * (jnp.asarray(self.machine.running)[reached] & ~did.ends)
        later = self.values.outputs(trained.weights, did.following, reached)[1]
        error = reward + goes_on * later - value

        def back(advantage: Any, now: Any) -> Any:
            difference, further, over = now
            advantage = difference + GAE * further * jnp.where(over, 0.0, advantage)
            return advantage, advantage

        advantage = jax.lax.scan(back, jnp.zeros(c.envs), (error, goes_on, did.over), reverse=True)[1]
        parts = did.observation, did.state, did.action, chance, advantage, advantage + value
        rows = tuple(part.reshape(-1, *part.shape[2:]) for part in parts)
        alpha = Schedule.of(c.alpha, "alpha").at((number * c.step_multiple).astype(jnp.float32), jnp.clip)
        for epoch in range(EPOCHS):
            key = jax.random.fold_in(second, epoch)
            trained = one_pass(self.loss, trained, rows, key, c.minibatches, alpha, c.average, 0.5)[0]
        return trained, lanes

    def loss(self, layers: Any, seen: Any, state: Any, action: Any, before: Any, advantage: Any, goal: Any) -> Any:
        """The clipped surrogate, the squared error of values, and an incentive for entropy."""
        logits, value = self.values.outputs(layers, seen, state)
        chances = jax.nn.log_softmax(logits)
        ratio = jnp.exp(jnp.take_along_axis(chances, action[:, None], axis=-1)[:, 0] - before)
        scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        gain = jnp.minimum(ratio * scaled, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * scaled)
        entropy = -jnp.sum(jnp.exp(chances) * chances, axis=-1)
        return jnp.mean(0.5 * jnp.square(value - goal) - gain - ENTROPY * entropy)


def ppo_of(task: Any, config: PQNConfig) -> PPO:
    """PPO on a task."""
    known = copies_of(machine_arrays(task), config)
    low = PolicyAndValue(known.values.inputs, known.values.states, known.values.actions, config)
    agent = known.agent
    acting = type(agent)(agent.machine, low, agent.high, agent.expansion, agent.shape, config)
    return PPO(acting, known.world, low, config)


def measured(copies: Copies, seed: int, seconds: float) -> tuple[int, bool, int, float]:
    """Steps, success and length after so many seconds of training, compilation left out; when length <= 46 was first seen."""
    every = copies.config.eval_every
    team = CopiesTeam(copies, (seed,))
    team.advance(every)
    team.measure()
    team, spent, first = CopiesTeam(copies, (seed,)), 0.0, float("nan")
    while spent < seconds:
        began = time.perf_counter()
        team.advance(every)
        jax.block_until_ready(team.state.step)
        spent += time.perf_counter() - began
        (now,) = team.measure()
        if now.success and now.episode_length <= 46 and not first >= 0:
            first = spent
    return team.step, bool(now.success), int(now.episode_length), first


def main() -> None:
    """Print a row for each task, method and setting."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", nargs="+", default=["water-3", "water-5"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6.0)
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} at the start; {given.seconds:g} s of training a seed, seeds 0 to {given.seeds - 1}")
    for name in given.tasks:
        task = errands.load(name)
        for method in ("pqn", "ppo"):
            config: Any = config_of("pqn", "tuned", task)
            copies = copies_of(machine_arrays(task), config) if method == "pqn" else ppo_of(task, config)
            rows = [measured(copies, seed, given.seconds) for seed in range(given.seeds)]
            steps, lengths = np.mean([row[0] for row in rows]), [row[2] if row[1] else "-" for row in rows]
            firsts = ", ".join(f"{row[3]:.1f}" for row in rows)
            print(f"{name} {method}: {steps / 1e6:.2f} M steps; at the end {lengths}; <= 46 first after {firsts} s", flush=True)


if __name__ == "__main__":
    main()
