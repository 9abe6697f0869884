"""What methods share that step many copies of a world on the device and learn from what these just did: rollouts and teams."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from errands.errors import TaskError
from errands.learners.engines.batched import either, one_pass
from errands.learners.engines.deep.agent import ActingAgent, AgentState
from errands.learners.engines.deep.config import CopiesConfig
from errands.learners.engines.deep.device import DeviceWorld, begun, device_world
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import MachineArrays, machine_arrays
from errands.learners.engines.deep.network import Layers, TrainedWeights, fresh
from errands.learners.engines.deep.team import OnDevice, Team, keys_of
from errands.learners.schedule import Schedule
from errands.tables import RUNNING
from errands.tasks.task import Task


# Letters in shapes: T steps, E environments. All but the team is about one seed.
class Standing(NamedTuple):
    """Where the copies of a seed stand in their tasks, [environments] each."""

    state: Int[Array, " E"]
    """The machine state."""
    time: Int[Array, " E"]


class Lanes(NamedTuple):
    """Copies of a world between two steps."""

    worlds: Any
    places: Standing


class Rollout(NamedTuple):
    """What the copies did, [steps, environments] each."""

    observation: Float[Array, "T E inputs"]
    action: Float[Array, "T E action"]
    """Numbers, or one that counts a choice."""
    state: Int[Array, "T E"]
    """The machine state that was acted in."""
    label: Int[Array, "T E"]
    ends: Bool[Array, "T E"]
    """Whether the world ended the episode."""
    over: Bool[Array, "T E"]
    """Whether the copy began anew after the step."""
    signals: Float[Array, "T E signals"]
    following: Float[Array, "T E inputs"]


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


@dataclass(frozen=True, eq=False)
class Copies(ABC):
    """A method on a task: its copies' steps, what they teach, and the machine as tables; pure functions."""

    agent: ActingAgent
    world: DeviceWorld
    config: CopiesConfig

    @classmethod
    @abstractmethod
    def acting(cls, machine: MachineArrays, spaces: Spaces, config: Any) -> ActingAgent:
        """What acts."""

    @property
    @abstractmethod
    def draws(self) -> int:
        """Uniform numbers that an action needs."""

    @abstractmethod
    def act(
        self, layers: Layers, seen: Float[Array, "E inputs"], state: Int[Array, " E"], uniforms: Float[Array, "E draws"]
    ) -> Float[Array, "E action"]:
        """The actions of the copies in training."""

    @abstractmethod
    def study(self, trained: TrainedWeights, rollout: Rollout, number: Array, key: Array) -> TrainedWeights:
        """What the weights become by a rollout."""

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
        return self.agent.low.init(first), Lanes(worlds, Standing(zero, zero))

    def begin(self, uniforms: Float[Array, "E 2"]) -> Int[Array, " E"]:
        """The machine state in which an episode begins: the initial one, or any in which the task goes on."""
        # Where boxes vanish the world would not fit a machine state that it was not led to.
        if self.machine.task.vanishing:
            return jnp.zeros(len(uniforms), jnp.int32)
        running = jnp.flatnonzero(jnp.asarray(self.machine.running), size=int(self.machine.running.sum()))
        other = running[jnp.floor(uniforms[:, 1] * len(running)).astype(jnp.int32)]
        return jnp.where(uniforms[:, 0] < self.config.elsewhere, other, 0).astype(jnp.int32)

    def goes_on(self, status: Int[Array, " E"], ends: Bool[Array, " E"]) -> Bool[Array, " E"]:
        """Whether a copy takes on another machine state, and its world goes on: where its task is over it begins anew."""
        return jnp.zeros_like(ends)

    def step(self, layers: Layers, lanes: Lanes, uniforms: Float[Array, "E draws"]) -> tuple[Lanes, Rollout]:
        """A step of every copy."""
        worlds, (state, time) = lanes
        seen = jax.vmap(self.world.observe)(worlds)
        mine, other = jnp.split(uniforms, [self.draws], axis=1)
        action = self.act(layers, seen, state, mine)
        after, label, ends, signals = jax.vmap(self.world.step)(worlds, action, other[:, 0])
        following = jax.vmap(self.world.observe)(after)
        reached = jnp.asarray(self.machine.table.next)[state, label]
        status = jnp.asarray(self.machine.table.status)[reached]
        roams = self.goes_on(status, ends)
        over = ((status != RUNNING) & ~roams) | ends | (time + 1 >= min(self.config.cut, self.machine.limit))
        fresh = jax.vmap(partial(begun, self.world))(after, other[:, 1])
        places = Standing(jnp.where(over | roams, self.begin(other[:, 2:]), reached), jnp.where(over, 0, time + 1))
        rollout = Rollout(seen, action, state, label, ends, over, signals, following)
        return Lanes(either(over, fresh, after), places), rollout

    def iterate(self, number: Array, key: Array, trained: TrainedWeights, lanes: Lanes) -> tuple[TrainedWeights, Lanes]:
        """A rollout of every copy, and what it teaches."""
        # Chance depends on the seed and the number of the pass alone: stopping, or resuming, changes nothing.
        first, second = jax.random.split(jax.random.fold_in(key, number))
        # Those of the action, two for the world, two for the machine state of an episode.
        uniforms = jax.random.uniform(first, (self.config.rollout, self.config.envs, self.draws + 4))
        lanes, rollout = jax.lax.scan(partial(self.step, trained.weights), lanes, uniforms)
        return self.study(trained, rollout, number, second), lanes

    def passed(
        self, loss: Any, trained: TrainedWeights, parts: tuple[Array, ...], number: Array, key: Array, longest: float = 10.0
    ) -> TrainedWeights:
        """The weights after one pass over what the copies did, [steps, environments, ...] each."""
        c, rows = self.config, tuple(part.reshape(-1, *part.shape[2:]) for part in parts)
        alpha = Schedule.of(c.alpha, "alpha").at((number * c.step_multiple).astype(jnp.float32), jnp.clip)
        return one_pass(loss, trained, rows, key, c.minibatches, alpha, c.average, longest)[0]


class CopiesTeam(OnDevice):
    """Seeds of a method, each with many copies of a world that lives on the device."""

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
def copies_of(method: type[Copies], name: str, machine: MachineArrays, config: CopiesConfig) -> Copies:
    """A method on a task; asked again it is the same one, so that nothing is compiled twice."""
    world, task = device_world(machine), machine.task
    if world is None:
        raise TaskError(f"learner '{name}' needs a world on the device, and that of '{task.name}' is stepped on the host")
    spaces = Spaces(world.observation, world.actions, world.continuous, world.signals)
    return method(method.acting(machine, spaces, config), world, config)


def team_of_copies(method: type[Copies], task: Task, learner: str, config: CopiesConfig, seeds: tuple[int, ...]) -> Team:
    """The team of these seeds."""
    return CopiesTeam(copies_of(method, learner, machine_arrays(task), config), seeds)
