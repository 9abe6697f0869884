"""PQN's loop: many copies of a world step on the device, and one pass over what they did teaches every machine state."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from errands.errors import TaskError
from errands.learners.engines.batched import either, followed, init_normal, ladder, lambda_returns, normed, one_pass
from errands.learners.engines.deep.agent import ActingAgent, AgentState, HighLevel
from errands.learners.engines.deep.batch import RowShape
from errands.learners.engines.deep.device import DeviceWorld, begun, device_world
from errands.learners.engines.deep.machine import MachineArrays, machine_arrays
from errands.learners.engines.deep.network import Layers, TrainedWeights, fresh
from errands.learners.engines.deep.team import OnDevice, keys_of
from errands.learners.pqn.settings import PQNConfig
from errands.learners.schedule import Schedule
from errands.tables import RUNNING, SUCCESS
from errands.tasks.task import Task

# Letters in shapes: T steps, E environments, U machine states, A actions. All but the team is about one seed.
UNIFORMS = 6
"""Uniform numbers of a step: whether to explore, what to do then, two for the world, two for the machine state of an episode."""


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


class Standing(NamedTuple):
    """Where the copies of a seed stand in their tasks, [environments] each."""

    state: Int[Array, " E"]
    """The machine state."""
    time: Int[Array, " E"]


class TeamOfCopies(NamedTuple):
    """Many seeds side by side; every array but the step has a seed axis."""

    agent_states: AgentState
    """The averaged weights, by which evaluations act."""
    training: tuple[Layers, Layers, Layers, Int[Array, " seeds"]]
    """Weights, Adam's two moments, and updates so far."""
    positions: Standing
    worlds: Any
    keys: Array
    step: Int[Array, ""]


class Rollout(NamedTuple):
    """What the copies did, [steps, environments] each."""

    observation: Float[Array, "T E inputs"]
    action: Int[Array, "T E"]
    state: Int[Array, "T E"]
    """The machine state that was acted in."""
    label: Int[Array, "T E"]
    ends: Array
    """Whether the world ended the episode."""
    over: Array
    """Whether the copy began anew after the step."""
    signals: Float[Array, "T E signals"]
    following: Float[Array, "T E inputs"]


class Lanes(NamedTuple):
    """Copies of a world between two steps."""

    worlds: Any
    places: Standing


@dataclass(frozen=True, eq=False)
class Copies:
    """PQN on a task: its copies' steps, what they teach, and the machine as tables; pure functions."""

    agent: ActingAgent
    world: DeviceWorld
    values: StateValues
    config: PQNConfig

    @property
    def machine(self) -> MachineArrays:
        """The machine."""
        return self.agent.machine

    def first(self, key: Array) -> tuple[Layers, Lanes]:
        """Fresh weights and copies at the start of an episode."""
        # A number that no pass ever has.
        first, second = jax.random.split(jax.random.fold_in(key, 2**31 - 1))
        worlds = jax.vmap(self.world.start)(jax.random.uniform(second, (self.config.envs,)))
        zero = jnp.zeros(self.config.envs, jnp.int32)
        return self.values.init(first), Lanes(worlds, Standing(zero, zero))

    def begin(self, uniforms: Float[Array, "E 2"]) -> Int[Array, " E"]:
        """The machine state in which an episode begins: the initial one, or any in which the task goes on."""
        # Where boxes vanish the world would not fit a machine state that it was not led to.
        if self.machine.task.vanishing:
            return jnp.zeros(len(uniforms), jnp.int32)
        running = jnp.flatnonzero(jnp.asarray(self.machine.running), size=int(self.machine.running.sum()))
        other = running[jnp.floor(uniforms[:, 1] * len(running)).astype(jnp.int32)]
        return jnp.where(uniforms[:, 0] < self.config.elsewhere, other, 0).astype(jnp.int32)

    def step(self, layers: Layers, lanes: Lanes, uniforms: Float[Array, "E 6"]) -> tuple[Lanes, Rollout]:
        """A step of every copy."""
        c, (worlds, (state, time)) = self.config, lanes
        seen = jax.vmap(self.world.observe)(worlds)
        own = jnp.take_along_axis(self.values.values(layers, seen), state[:, None, None], axis=1)[:, 0]
        explores = uniforms[:, 0] < ladder(c.epsilon_low, c.epsilon_high, c.envs)
        other = jnp.floor(uniforms[:, 1] * self.values.actions).astype(jnp.int32)
        action = jnp.where(explores, other, jnp.argmax(own, axis=1)).astype(jnp.int32)
        after, label, ends, signals = jax.vmap(self.world.step)(worlds, action[:, None].astype(jnp.float32), uniforms[:, 2])
        following = jax.vmap(self.world.observe)(after)
        table = self.machine.table
        reached = jnp.asarray(table.next)[state, label]
        status, late = jnp.asarray(table.status)[reached], time + 1 >= min(c.cut, self.machine.limit)
        # A copy that roams takes on another machine state where it has succeeded, and its world goes on.
        roams = (jnp.arange(c.envs) < c.roam * c.envs) & (status == SUCCESS) & ~ends
        over = ((status != RUNNING) & ~roams) | ends | late
        fresh = jax.vmap(partial(begun, self.world))(after, uniforms[:, 3])
        drawn = self.begin(uniforms[:, 4:])
        places = Standing(jnp.where(over | roams, drawn, reached), jnp.where(over, 0, time + 1))
        rollout = Rollout(seen, action, state, label, ends, over, signals, following)
        return Lanes(either(over, fresh, after), places), rollout

    def returns(self, layers: Layers, rollout: Rollout) -> Float[Array, "T E U"]:
        """For every machine state the return of each step along what was done, cut where another action looks better to it."""
        table, pays = self.machine.table, self.machine.pays
        follow = jnp.asarray(table.next.T)[rollout.label]
        # [L, U, 1 + signals]: what a step with a label pays in a machine state.
        pay = jnp.asarray(pays.swapaxes(0, 1), jnp.float32)[rollout.label]
        reward = pay[..., 0] + jnp.einsum("teus,tes->teu", pay[..., 1:], rollout.signals)
        goes_on = self.config.gamma * (jnp.asarray(self.machine.running)[follow] & ~rollout.ends[..., None])
        best, kept = followed(self.values.values(layers, rollout.following), rollout.action, rollout.over)
        return lambda_returns(reward, goes_on, best, kept, self.config.trace, follow)

    def loss(
        self, layers: Layers, seen: Float[Array, "B inputs"], action: Array, state: Array, goal: Float[Array, "B U"]
    ) -> Float[Array, ""]:
        """The mean squared error over the machine states that learn from a step."""
        taken = jax.nn.one_hot(action, self.values.actions)[:, None]
        error = jnp.square(jnp.sum(self.values.values(layers, seen) * taken, axis=-1) - goal)
        running = self.machine.running
        if not self.machine.task.vanishing:
            return jnp.sum(error * jnp.asarray(running, jnp.float32)) / (len(error) * int(running.sum()))
        # As with CRM a state in which a box still waits must not learn from a world in which it is gone.
        alive = jnp.asarray(self.machine.reachable & running, jnp.float32)[state]
        return jnp.sum(error * alive) / jnp.sum(alive)

    def iterate(self, number: Array, key: Array, trained: TrainedWeights, lanes: Lanes) -> tuple[TrainedWeights, Lanes]:
        """A rollout of every copy, and one pass over it."""
        c = self.config
        # Chance depends on the seed and the number of the pass alone: stopping, or resuming, changes nothing.
        first, second = jax.random.split(jax.random.fold_in(key, number))
        uniforms = jax.random.uniform(first, (c.rollout, c.envs, UNIFORMS))
        lanes, rollout = jax.lax.scan(partial(self.step, trained.weights), lanes, uniforms)
        goal = self.returns(trained.weights, rollout)
        parts = (rollout.observation, rollout.action, rollout.state, goal)
        rows = tuple(part.reshape(-1, *part.shape[2:]) for part in parts)
        alpha = Schedule.of(c.alpha, "alpha").at((number * c.step_multiple).astype(jnp.float32), jnp.clip)
        return one_pass(self.loss, trained, rows, second, c.minibatches, alpha, c.average)[0], lanes


class CopiesTeam(OnDevice):
    """Seeds of PQN, each with many copies of a world that lives on the device."""

    def __init__(self, copies: Copies, seeds: tuple[int, ...]) -> None:
        super().__init__(copies.agent, seeds)
        self.copies, self.world = copies, copies.world
        with self.on_device():
            self._state = _first(copies, keys_of(seeds))

    def advance(self, count: int) -> None:
        """Take `count` training steps with every seed."""
        (where,) = self._state.step.devices()
        passes = jnp.int32(count // self.copies.config.step_multiple)
        self._state = _advance(self.copies, where.platform != "cpu", self._state, passes)


@partial(jax.jit, static_argnums=0)
def _first(copies: Copies, keys: Array) -> TeamOfCopies:
    layers, (worlds, places) = jax.vmap(copies.first)(keys)
    trained = jax.vmap(fresh)(layers)
    training = (trained.weights, trained.mean, trained.square, trained.updates)
    return TeamOfCopies(AgentState(trained.target, ()), training, places, worlds, keys, jnp.int32(0))


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=2)
def _advance(copies: Copies, together: bool, team: TeamOfCopies, passes: Int[Array, ""]) -> TeamOfCopies:
    number = team.step // copies.config.step_multiple

    def one(seed: tuple[Array, Layers, Any, Lanes]) -> tuple[TrainedWeights, Lanes]:
        key, average, (weights, mean, square, updates), lanes = seed
        first = TrainedWeights(weights, mean, square, average, updates), lanes
        trained: tuple[TrainedWeights, Lanes] = jax.lax.fori_loop(
            0, passes, lambda i, now: copies.iterate(number + i, key, *now), first
        )
        return trained

    seeds = (team.keys, team.agent_states.trained, team.training, Lanes(team.worlds, team.positions))
    # One after the other a processor is twice as quick, whose products of stacked matrices are slow.
    trained, (worlds, places) = jax.vmap(one)(seeds) if together else jax.lax.map(one, seeds)
    training = (trained.weights, trained.mean, trained.square, trained.updates)
    step = team.step + passes * copies.config.step_multiple
    return TeamOfCopies(AgentState(trained.target, ()), training, places, worlds, team.keys, step)


@lru_cache(maxsize=16)
def copies_of(machine: MachineArrays, config: PQNConfig) -> Copies:
    """PQN on a task; asked again it is the same one, so that nothing is compiled twice."""
    world, task = device_world(machine), machine.task
    if world is None:
        raise TaskError(f"learner 'pqn' needs a world that lives on the device, and that of '{task.name}' is stepped on the host")
    values = StateValues(world.observation, len(machine.rm), world.actions, config)
    agent = ActingAgent(machine, values, HighLevel(), NoCode(), RowShape(world.observation, 1, world.signals), config)
    return Copies(agent, world, values, config)


def team(task: Task, learner: str, config: PQNConfig, seeds: tuple[int, ...]) -> CopiesTeam:
    """The team of these seeds."""
    return CopiesTeam(copies_of(machine_arrays(task), config), seeds)
