"""What methods share that step many copies of a world on the device and learn from what these just did: rollouts and teams."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from errands.learners.engines.batched import either, one_pass
from errands.learners.engines.deep.agent import ActingAgent, AgentState
from errands.learners.engines.deep.config import CopiesConfig
from errands.learners.engines.deep.device import DeviceWorld, begun, device_world
from errands.learners.engines.deep.host_envs import Spaces, host_envs_of
from errands.learners.engines.deep.machine import MachineArrays, machine_arrays
from errands.learners.engines.deep.network import Layers, TrainedWeights, fresh
from errands.learners.engines.deep.team import OnDevice, Team, keys_of
from errands.learners.engines.ways import Ways
from errands.learners.schedule import Schedule
from errands.tables import RUNNING, SUCCESS, Floats
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
    ways: Ways | None
    """None where a method does not come back to them."""


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
    ways: Ways | None
    keys: Array
    step: Int[Array, ""]


@dataclass(frozen=True, eq=False)
class Copies(ABC):
    """A method on a task: what copies of its world do, what that teaches, and the machine as tables; pure functions."""

    agent: ActingAgent
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
    def revisits(self) -> float:
        """The share of episodes that follow the shortest way found so far, up to somewhere on it."""
        return 0.0

    @property
    def machine(self) -> MachineArrays:
        """The machine."""
        return self.agent.machine

    @cached_property
    def pays(self) -> Floats:
        """[U, L, 1 + signals] what a step pays, as a share of the largest constant reward, so that a value is near 1."""
        return self.machine.pays / (np.abs(self.machine.pays[..., 0]).max() or 1.0)

    @property
    def longest(self) -> int:
        """Steps after which an episode of training is cut off."""
        return min(self.config.cut, self.machine.limit)

    def begin(self, uniforms: Float[Array, "E 2"]) -> Int[Array, " E"]:
        """The machine state in which an episode begins: the initial one, or any in which the task goes on."""
        # Where boxes vanish the world would not fit a machine state that it was not led to.
        if self.machine.task.vanishing:
            return jnp.zeros(len(uniforms), jnp.int32)
        running = jnp.flatnonzero(jnp.asarray(self.machine.running), size=int(self.machine.running.sum()))
        other = running[jnp.floor(uniforms[:, 1] * len(running)).astype(jnp.int32)]
        return jnp.where(uniforms[:, 0] < self.config.elsewhere, other, 0).astype(jnp.int32)

    def passed(
        self, loss: Any, trained: TrainedWeights, parts: tuple[Array, ...], number: Array, key: Array, longest: float = 10.0
    ) -> TrainedWeights:
        """The weights after one pass over what the copies did, [steps, environments, ...] each."""
        c, rows = self.config, tuple(part.reshape(-1, *part.shape[2:]) for part in parts)
        alpha = Schedule.of(c.alpha, "alpha").at((number * c.step_multiple).astype(jnp.float32), jnp.clip)
        return one_pass(loss, trained, rows, key, c.minibatches, alpha, c.average, longest)[0]


@dataclass(frozen=True, eq=False)
class OnDeviceCopies:
    """The loop of a method in a world that lives on the device."""

    copies: Copies
    world: DeviceWorld

    def first(self, key: Array) -> tuple[Layers, Lanes]:
        """Fresh weights and copies at the start of an episode."""
        envs = self.copies.config.envs
        # A number that no pass ever has.
        first, second = jax.random.split(jax.random.fold_in(key, 2**31 - 1))
        worlds, zero = jax.vmap(self.world.start)(jax.random.uniform(second, (envs,))), jnp.zeros(envs, jnp.int32)
        ways = Ways.none(envs, self.copies.longest) if self.copies.revisits else None
        return self.copies.agent.low.init(first), Lanes(worlds, Standing(zero, zero), ways)

    def step(self, layers: Layers, lanes: Lanes, uniforms: Float[Array, "E draws"]) -> tuple[Lanes, Rollout]:
        """A step of every copy."""
        copies, (worlds, (state, time), ways) = self.copies, lanes
        seen = jax.vmap(self.world.observe)(worlds)
        mine, other, more = jnp.split(uniforms, [copies.draws, copies.draws + 4], axis=1)
        action = copies.act(layers, seen, state, mine)
        if ways is not None:
            action = ways.action(action, time)
        after, label, ends, signals = jax.vmap(self.world.step)(worlds, action, other[:, 0])
        following = jax.vmap(self.world.observe)(after)
        reached = jnp.asarray(copies.machine.table.next)[state, label]
        status = jnp.asarray(copies.machine.table.status)[reached]
        over = (status != RUNNING) | ends | (time + 1 >= copies.longest)
        fresh = jax.vmap(partial(begun, self.world))(after, other[:, 1])
        drawn = copies.begin(other[:, 2:])
        if ways is not None:
            ways, back = ways.after(action, time, over, status == SUCCESS, copies.revisits, more)
            drawn = jnp.where(back, 0, drawn)
            ways = ways._replace(whole=jnp.where(over, drawn == 0, ways.whole))
        places = Standing(jnp.where(over, drawn, reached), jnp.where(over, 0, time + 1))
        rollout = Rollout(seen, action, state, label, ends, over, signals, following)
        return Lanes(either(over, fresh, after), places, ways), rollout

    def iterate(self, number: Array, key: Array, trained: TrainedWeights, lanes: Lanes) -> tuple[TrainedWeights, Lanes]:
        """A rollout of every copy, and what it teaches."""
        c = self.copies.config
        # Chance depends on the seed and the number of the pass alone: stopping, or resuming, changes nothing.
        first, second = jax.random.split(jax.random.fold_in(key, number))
        # Those of the action, two for the world, two for the machine state of an episode, two for the way that it follows.
        draws = self.copies.draws + (6 if self.copies.revisits else 4)
        uniforms = jax.random.uniform(first, (c.rollout, c.envs, draws))
        lanes, rollout = jax.lax.scan(partial(self.step, trained.weights), lanes, uniforms)
        return self.copies.study(trained, rollout, number, second), lanes


class CopiesTeam(OnDevice):
    """Seeds of a method, each with many copies of a world that lives on the device."""

    def __init__(self, copies: Copies, world: DeviceWorld, seeds: tuple[int, ...]) -> None:
        super().__init__(copies.agent, seeds)
        self.copies, self.world, self.loop = copies, world, loop_of(copies, world)
        with self.on_device():
            self._state = _first(self.loop, keys_of(seeds))

    def advance(self, count: int) -> None:
        """Take `count` training steps with every seed."""
        (where,) = self._state.step.devices()
        passes = jnp.int32(count // self.copies.config.step_multiple)
        self._state = _advance(self.loop, where.platform != "cpu", self._state, passes)


@partial(jax.jit, static_argnums=0)
def _first(loop: OnDeviceCopies, keys: Array) -> TeamOfCopies:
    layers, (worlds, places, ways) = jax.vmap(loop.first)(keys)
    trained = jax.vmap(fresh)(layers)
    training = (trained.weights, trained.mean, trained.square, trained.updates)
    return TeamOfCopies(AgentState(trained.target, ()), training, places, worlds, ways, keys, jnp.int32(0))


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=2)
def _advance(loop: OnDeviceCopies, together: bool, team: TeamOfCopies, passes: Int[Array, ""]) -> TeamOfCopies:
    multiple = loop.copies.config.step_multiple
    number = team.step // multiple

    def one(seed: tuple[Array, Layers, Any, Lanes]) -> tuple[TrainedWeights, Lanes]:
        key, average, (weights, mean, square, updates), lanes = seed
        first = TrainedWeights(weights, mean, square, average, updates), lanes
        trained: tuple[TrainedWeights, Lanes] = jax.lax.fori_loop(
            0, passes, lambda i, now: loop.iterate(number + i, key, *now), first
        )
        return trained

    seeds = (team.keys, team.agent_states.trained, team.training, Lanes(team.worlds, team.positions, team.ways))
    # One after the other a processor is twice as quick, whose products of stacked matrices are slow.
    trained, (worlds, places, ways) = jax.vmap(one)(seeds) if together else jax.lax.map(one, seeds)
    training = (trained.weights, trained.mean, trained.square, trained.updates)
    step = team.step + passes * multiple
    return TeamOfCopies(AgentState(trained.target, ()), training, places, worlds, ways, team.keys, step)


# Static arguments of compiled functions, compared by identity: asked again they are the same ones, so nothing is compiled twice.
@lru_cache(maxsize=16)
def loop_of(copies: Copies, world: DeviceWorld) -> OnDeviceCopies:
    """The loop of a method in a world."""
    return OnDeviceCopies(copies, world)


@lru_cache(maxsize=16)
def copies_of(method: type[Copies], machine: MachineArrays, spaces: Spaces, config: CopiesConfig) -> Copies:
    """A method on a task."""
    return method(method.acting(machine, spaces, config), config)


def team_of_copies(method: type[Copies], task: Task, learner: str, config: CopiesConfig, seeds: tuple[int, ...]) -> Team:
    """The team of these seeds: on the device where the world lives there, else stepped on the host."""
    machine = machine_arrays(task)
    world = device_world(machine)
    if world is None:
        # Here, because that module imports this one.
        from errands.learners.engines.host_copies import HostCopiesTeam

        envs = host_envs_of(machine, seeds, config.envs)
        return HostCopiesTeam(copies_of(method, machine, envs.senses.spaces, config), envs, seeds)
    spaces = Spaces(world.observation, world.actions, world.continuous, world.signals)
    return CopiesTeam(copies_of(method, machine, spaces, config), world, seeds)
