"""The device loop: world, buffer and update of many seeds in one compiled loop, and the worlds that can live there."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from errands.learners.engines.deep.agent import ActingAgent, AgentState, DeepAgent, Position, WorldStep
from errands.learners.engines.deep.config import DeepConfig
from errands.learners.engines.deep.machine import MachineArrays
from errands.machines.rewards import Reward
from errands.worlds.batched import DeviceTables


@dataclass(frozen=True, eq=False)
class DeviceWorld:
    """A world as pure functions; `start` and `step` are given one uniform number for what is left to chance."""

    observation: int
    actions: int
    """Discrete actions, or the length of a continuous one."""
    continuous: bool
    signals: int
    limit: int
    start: Callable[[Array], Any]
    step: Callable[[Any, Array, Array], tuple[Any, Array, Array, Array]]
    """(state, action, uniform) -> (state, label, whether the world ends, signals)."""
    observe: Callable[[Any], Array]
    restart: Callable[[Any, Array], Any] | None = None
    """(state, uniform) -> the state in which the next episode begins, where that depends on the present one; else `start`."""


@lru_cache(maxsize=16)
def device_world(machine: MachineArrays) -> DeviceWorld | None:
    """The world of a machine's task on the device; None where it has to be stepped on the host."""
    task = machine.task
    if task.finite is not None:
        first, rewards = len(task.reported), task.machine.compounds
        columns = [*range(first), *(first + rewards.index(reward) for reward in task.machine.functions)]
        table = task.finite.table
        tables = DeviceTables(replace(task.finite, table=table._replace(signal=table.signal[columns])), len(columns))
        sizes = task.finite.states, task.finite.actions

        def move(state: Array, action: Array, uniform: Array) -> tuple[Array, Array, Array, Array]:
            return tables.step(state, action[0].astype(jnp.int32), uniform)

        return DeviceWorld(*sizes, False, tables.reported, task.world.limit, tables.start, move, tables.observe)
    world = task.batched
    if world is None:
        return None
    # A label is the bit pattern of the features, in the machine's order; those that it does not look at weigh nothing.
    looked = task.machine.features
    weights = jnp.array([1 << looked.index(name) if name in looked else 0 for name in world.features], jnp.int32)

    functions = task.machine.functions

    def step(state: Any, action: Array, uniform: Array) -> tuple[Any, Array, Array, Array]:
        seen = world.step(state, action[0].astype(jnp.int32), _key(uniform))
        named = dict(zip(task.reported, seen.signals, strict=True)) if functions else {}
        signals = jnp.concatenate([seen.signals, *(jnp.reshape(valued(reward, named), 1) for reward in functions)])
        return seen.state, jnp.sum(weights * seen.features), seen.done, signals

    def start(uniform: Array) -> Any:
        return world.reset(_key(uniform))

    paid = world.signals + len(functions)
    return DeviceWorld(world.inputs, world.actions, False, paid, task.world.limit, start, step, world.observe)


def valued(reward: Reward, signals: Mapping[str, Array]) -> Array:
    """What a function of signals gives: traced where JAX can trace it, else called on the host."""
    mine: dict[str, Any] = {name: signals[name] for name in reward.signals}
    function = reward.function or reward.paid
    try:
        return jnp.asarray(function(mine), jnp.float32)
    except TypeError:  # JAX says by one that a traced value has no number yet, and so do functions of numbers alone

        def called(known: Mapping[str, Any]) -> Any:
            return np.float32(reward.paid({name: float(value) for name, value in known.items()}))

        value: Array = jax.pure_callback(called, jnp.zeros((), jnp.float32), mine, vmap_method="sequential")
        return value


def _key(uniform: Array) -> Array:
    """A random key out of a uniform number."""
    return jax.random.PRNGKey(jax.lax.bitcast_convert_type(uniform, jnp.uint32))


CHUNK = 500
"""Steps whose random numbers are drawn at once."""
MIXED = 100
"""Steps of an environment after which, or with the next chunk, the length of a random action is drawn anew where it is mixed."""


def chunk(config: DeepConfig) -> int:
    """The same in whole rounds, where a seed has several environments."""
    return CHUNK // config.envs * config.envs


# The buffer has steps first and seeds second: what all seeds did in a step is one contiguous block, written at once.
class TeamState(NamedTuple):
    """Many seeds side by side; every array but the step has a seed axis."""

    agent_states: AgentState
    positions: Position
    worlds: Any
    buffer: Float[Array, "capacity seeds row"]
    keys: Array
    step: Int[Array, ""]


def launch(agent: DeepAgent, world: DeviceWorld, keys: Array, before: Any = None) -> TeamState:
    """The state before its first step; with `before`, episodes begin as after these states of the world."""
    agent_states, positions, worlds = _first(agent, world, keys, before)
    buffer = jnp.zeros((agent.config.capacity, len(keys), agent.shape.width))
    return TeamState(agent_states, positions, worlds, buffer, keys, jnp.int32(0))


@partial(jax.jit, static_argnums=(0, 1))
def _first(agent: DeepAgent, world: DeviceWorld, keys: Array, before: Any) -> tuple[AgentState, Position, Any]:
    def of(key: Array, old: Any) -> tuple[AgentState, Position, Any]:
        # Numbers that no chunk ever has: 2^31 - 1 for the start, those just below for evaluations (DeviceTeam).
        state = begun(world, old, jax.random.uniform(jax.random.fold_in(key, 2**31 - 1)))
        return agent.init(key), Position(world.observe(state), *(jnp.int32(0) for _ in range(3))), state

    agent_states, positions, worlds = jax.vmap(of)(keys, before)
    return agent_states, positions, worlds


def begun(world: DeviceWorld, before: Any, uniform: Array) -> Any:
    """The state in which an episode begins after a state of the world."""
    return world.start(uniform) if world.restart is None else world.restart(before, uniform)


def randoms(agent: DeepAgent, keys: Array, number: Array) -> tuple[Array, Array]:
    """The random numbers of a chunk of steps: uniforms and normals, [chunk, seeds, count]."""
    count, envs, (stretch, mixed) = chunk(agent.config), agent.config.envs, agent.config.exploring
    rounds = jnp.arange(count) // envs

    def of(key: Array) -> tuple[Array, Array]:
        # Chance depends on the seed and the step alone, so that stopping anywhere changes nothing.
        first, second = jax.random.split(jax.random.fold_in(key, number))
        return jax.random.uniform(first, (count, agent.uniforms)), jax.random.normal(second, (count, agent.low.normals))

    uniforms, normals = jax.vmap(of, out_axes=1)(keys)
    if stretch > 1:
        # Steps of a stretch share what decides about exploring: a random action is then kept for all of them. Those of
        # one environment lie `envs` apart.
        def since(key: Array) -> Array:
            return _since(jax.random.fold_in(key, number), stretch, rounds) if mixed else rounds % stretch

        first = jnp.arange(count)[:, None] - envs * jax.vmap(since, out_axes=1)(keys)
        acting = slice(agent.config.batch, agent.config.batch + 2)
        own = jnp.arange(len(keys))
        uniforms = uniforms.at[..., acting].set(uniforms[first, own][..., acting])
        if not agent.low.discrete:
            # Those of the action come first; the others are noise on targets.
            normals = normals.at[..., : agent.shape.action].set(normals[first, own][..., : agent.shape.action])
    return uniforms, normals


def _since(key: Array, most: int, rounds: Int[Array, " chunk"]) -> Int[Array, " chunk"]:
    """How many steps ago the stretch of each step began, where every hundred steps have stretches of their own length."""
    # 1, 2, 4 ... steps, up to `most`, each as likely as the others; a hundred steps end with whatever stretch is under way.
    # The key's first two children are those of `randoms`.
    lengths = 2 ** jax.random.randint(jax.random.fold_in(key, 2), (CHUNK // MIXED,), 0, most.bit_length())
    return rounds % MIXED % lengths[rounds // MIXED]


def advance(agent: DeepAgent, world: DeviceWorld, state: TeamState, stop: Array | None = None) -> TeamState:
    """Train to step `stop` in the chunk of the next step; without it, through a whole chunk from its beginning."""
    # The state is donated: its buffer is written in place, and the caller must not use the old one again.
    (where,) = state.step.devices()
    advanced: TeamState = _compiled(where.platform)(agent, world, state, stop)
    return advanced


@cache
def _compiled(platform: str) -> Any:
    compiled = partial(jax.jit, _advance, static_argnums=(0, 1), donate_argnums=2)
    told = options(platform)
    return compiled(compiler_options=told) if told else compiled()


SIDE_BY_SIDE = {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"}
"""Kernels of a step that do not need each other run at the same time: the same bytes, a quarter sooner (docs/methods/deep.md)."""


def options(platform: str) -> dict[str, str]:
    """What XLA is told when it compiles for a kind of device; nothing where this JAX does not know the option."""
    if platform != "gpu":
        return {}
    try:
        jax.jit(jnp.negative, compiler_options=SIDE_BY_SIDE).lower(0.0).compile()
    except (TypeError, RuntimeError):  # no options at all in old versions; no such option
        return {}
    return SIDE_BY_SIDE


def _advance(agent: DeepAgent, world: DeviceWorld, state: TeamState, stop: Array | None) -> TeamState:
    # Learning comes before moving, so step t learns from rows of steps before t, as in the host loop.
    number = state.step // CHUNK
    uniforms, normals = randoms(agent, state.keys, number)
    chance = agent.config.batch + 2

    def one(state: AgentState, at: Position, inner: Any, rows: Array, extra: Any, step: Array, u: Array, z: Array) -> Any:
        """One seed's step: it learns from rows, acts by the values from before, and moves."""
        state, acting = agent.learn(state, at, rows, extra, step, u, z)
        state, action = agent.choose(state, at, step, u, z, acting)
        inner, label, ends, signals = world.step(inner, action, u[chance])
        observation = world.observe(inner)
        # Before the reset: the row must hold the observation in which the step ended, not the first of a new episode.
        outcome = WorldStep(observation, label, ends, jnp.bool_(False), signals)
        state, row, progress = agent.record(state, at, action, outcome, step)
        fresh = begun(world, inner, u[chance + 1])
        inner = jax.tree.map(lambda a, b: jnp.where(progress.over, a, b), fresh, inner)
        return state, agent.next_position(at, progress, observation, world.observe(fresh)), inner, row

    def body(now: TeamState) -> TeamState:
        i = now.step - number * CHUNK
        u, z = uniforms[i], normals[i]
        states, index, extra = jax.vmap(agent.draw, in_axes=(0, None, 0))(now.agent_states, now.step, u)
        # index is [seeds, rows]: every seed reads its own column of the buffer.
        drawn = now.buffer[index, jnp.arange(index.shape[0])[:, None]]
        step = jax.vmap(one, in_axes=(0, 0, 0, 0, 0, None, 0, 0))
        states, positions, worlds, rows = step(states, now.positions, now.worlds, drawn, extra, now.step, u, z)
        buffer = jax.lax.dynamic_update_slice(now.buffer, rows[None], (now.step % agent.config.capacity, 0, 0))
        return TeamState(states, positions, worlds, buffer, now.keys, now.step + 1)

    if stop is None:
        # A known number of turns: a GPU then need not ask the host before each whether to go on.
        whole: TeamState = jax.lax.fori_loop(0, CHUNK, lambda _, now: body(now), state)
        return whole
    part: TeamState = jax.lax.while_loop(lambda now: now.step < stop, body, state)
    return part


class GreedyEpisode(NamedTuple):
    """One greedy episode."""

    length: Int[Array, ""]
    total: Float[Array, ""]
    success: Array
    order: Int[Array, " completed"]
    """Objectives as they were completed, -1 behind the last."""


class _Walk(NamedTuple):
    state: Any
    machine: Array
    time: Array
    over: Array
    held: Array
    since: Array
    episode: GreedyEpisode
    completed: Array


@partial(jax.jit, static_argnums=(0, 1))
def greedy_episodes(agent: ActingAgent, world: DeviceWorld, agent_states: AgentState, keys: Array) -> GreedyEpisode:
    """One greedy episode of every seed."""

    def of(agent_state: AgentState, key: Array) -> GreedyEpisode:
        return greedy_episode(agent, world, agent_state, world.start(jax.random.uniform(key)), key)[0]

    return jax.vmap(of)(agent_states, keys)


def greedy_episode(
    agent: ActingAgent, world: DeviceWorld, agent_state: AgentState, first_state: Any, key: Array
) -> tuple[GreedyEpisode, Any]:
    """One greedy episode of one seed from a state of the world, and the state in which it ended."""
    # The same room as the bandit's; under vmap seeds that are over wait unchanged for the last one.
    room = 4 * len(agent.machine.objectives) + 4

    def body(at: _Walk) -> _Walk:
        observation = world.observe(at.state)
        acting = agent.low.view(agent_state.trained, observation, agent.expansion.code(at.machine))
        head = agent.high.best(agent_state.high, at.held, at.since, at.machine, observation)
        chance = jax.random.uniform(jax.random.fold_in(key, at.time))
        state, label, ends, signals = world.step(at.state, agent.low.greedy(acting[head]), chance)
        outcome = WorldStep(world.observe(state), label, ends, jnp.bool_(False), signals)
        progress = agent.machine_step(at.machine, at.time + 1, outcome)
        order, count = at.episode.order, at.completed
        for completed in progress.completed:
            order = order.at[jnp.where(completed >= 0, count, room)].set(completed, mode="drop")
            count = count + (completed >= 0)
        episode = GreedyEpisode(at.time + 1, at.episode.total + progress.reward, progress.success, order)
        # Steps of the head in this machine state; DeepPolicy.act and the host loop count alike.
        same = progress.reached == at.machine
        since = jnp.where(same, jnp.where(head == at.held, at.since, 0) + 1, 0)
        return _Walk(state, progress.reached, at.time + 1, progress.over, head, since, episode, count)

    zero = jnp.int32(0)
    first = GreedyEpisode(zero, jnp.float32(0), jnp.bool_(False), jnp.full(room, -1, jnp.int32))
    start = _Walk(first_state, zero, zero, jnp.bool_(False), zero, zero, first, zero)
    ended = jax.lax.while_loop(lambda at: ~at.over, body, start)
    return ended.episode, ended.state
