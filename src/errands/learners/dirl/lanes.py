"""Lanes on the device: edges of any searches learnt and tried out side by side, each at its own step of its own job."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from errands.learners.deep.agent import AgentState, DeepAgent, Position, WorldStep
from errands.learners.deep.device import CHUNK, DeviceWorld


@dataclass(frozen=True, eq=False)
class StateRows:
    """Both ways between a world's state and a row of numbers."""

    numbers: int
    dtype: Any
    state: Callable[[Array], Any]

    @staticmethod
    def row(state: Any) -> Array:
        """The numbers of a state."""
        row: Array = ravel_pytree(state)[0]
        return row


@lru_cache(maxsize=16)
def states_of(world: DeviceWorld) -> StateRows:
    """The rows of a world; asked again they are the same, so that nothing is compiled twice."""
    row, state = ravel_pytree(world.start(jnp.float32(0)))
    return StateRows(len(row), row.dtype, state)


class LaneOrder(NamedTuple):
    """What a lane is to do: an edge, where attempts at it begin, and how much may be spent."""

    fate: Int[Array, " labels"]
    pay: Float[Array, "labels signals"]
    rows: Array
    """[rows, numbers] the world states in which attempts begin."""
    cumulative: Float[Array, " rows"]
    """Their cumulative probabilities; below 0 where attempts begin as episodes of the world do."""
    training: Int[Array, ""]
    """Steps of training."""
    rollouts: Int[Array, ""]
    """Greedy attempts afterwards."""
    most: Int[Array, ""]
    """Steps that they may take together."""


class Tally(NamedTuple):
    """What rollouts came to so far."""

    attempts: Int[Array, ""]
    won: Int[Array, ""]
    ends: Array
    """[rows, numbers] the world states in which the first `won` successes ended."""


class Lanes(NamedTuple):
    """Jobs side by side; every array has a lane axis, the buffer its second."""

    minds: AgentState
    places: Position
    worlds: Any
    buffer: Float[Array, "capacity lanes row"]
    keys: Array
    step: Int[Array, " lanes"]
    """Interactions of the job so far; training comes first."""
    order: LaneOrder
    tally: Tally


class LaneStep(NamedTuple):
    """One step of a chunk, as all lanes see it."""

    i: Int[Array, ""]
    """Which step of the chunk."""
    step: Int[Array, " lanes"]
    """Interactions of each job so far."""
    training: Bool[Array, " lanes"]
    uniforms: Float[Array, "lanes count"]
    normals: Array


def training(order: LaneOrder, step: Array) -> Bool[Array, "*lanes"]:
    """Whether the next step is one of training."""
    return step < order.training


def live(order: LaneOrder, step: Array, attempts: Array) -> Bool[Array, "*lanes"]:
    """Whether the job goes on."""
    return (step < order.training) | ((attempts < order.rollouts) & (step - order.training < order.most))


def think(agent: DeepAgent, minds: AgentState, places: Position, buffer: Array, now: LaneStep) -> tuple[AgentState, Array]:
    """Every lane draws rows and learns from them where it is in training and past its warm-up.

    What the present observation is acted on with comes for nothing, from before the update.
    """
    # Rows are drawn from the job's own steps; what an earlier job left in the buffer is never read.
    warmup = agent.config.warmup
    drawn, index, extra = jax.vmap(agent.draw)(minds, now.step, now.uniforms)
    rows = buffer[index, jnp.arange(index.shape[0])[:, None]]
    # Lanes are in different steps of their jobs. Value learners use the step to skip the warm-up, which is done below
    # for each lane, and to take turns: these are the same for all lanes, so that skipped work is not done at all.
    study = jax.vmap(agent.learn, in_axes=(0, 0, 0, 0, None, 0, 0))
    studied, acting = study(drawn, places, rows, extra, now.i + warmup, now.uniforms, now.normals)
    go = now.training & (now.step >= warmup)

    def updated(new: Array, old: Array) -> Array:
        return jnp.where(go.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return jax.tree.map(updated, studied, minds), acting


def view(agent: DeepAgent, minds: AgentState, places: Position) -> Array:
    """What the present observation of every lane is acted on with."""

    def of(mind: AgentState, place: Position) -> Array:
        return agent.low.view(mind.trained, place.observation, agent.expansion.code(place.state))

    seen: Array = jax.vmap(of)(minds, places)
    return seen


def choose(agent: DeepAgent, minds: AgentState, places: Position, acting: Array, now: LaneStep) -> Array:
    """The action of every lane: exploring in training, greedy in rollouts."""
    # Rollouts may act with other weights (the target's) than training does.
    settled = acting if agent.config.greedy == "online" else view(agent, jax.vmap(agent.evaluated)(minds), places)

    def of(
        mind: AgentState, place: Position, acting: Array, best: Array, step: Array, on: Array, u: Array, n: Array
    ) -> Array:
        _, tried = agent.choose(mind, place, step, u, n, acting)
        return jnp.where(on, tried, agent.low.greedy(best[0]))

    drawn = (now.step, now.training, now.uniforms, now.normals)
    chosen: Array = jax.vmap(of)(minds, places, acting, settled, *drawn)
    return chosen


def randoms(agent: DeepAgent, keys: Array, step: Array) -> tuple[Array, Array]:
    """The random numbers of each lane's next chunk: [chunk, lanes, count] uniforms and normals."""

    def of(key: Array, chunk: Array) -> tuple[Array, Array]:
        first, second = jax.random.split(jax.random.fold_in(key, chunk))
        return jax.random.uniform(first, (CHUNK, agent.uniforms)), jax.random.normal(second, (CHUNK, agent.low.normals))

    # By the number of the chunk in its job. Jobs begin between chunks, so random numbers depend on the job alone.
    uniforms, normals = jax.vmap(of, out_axes=1)(keys, step // CHUNK)
    return uniforms, normals


@partial(jax.jit, static_argnums=(0, 1, 2, 3, 4, 5))
def idle(agent: DeepAgent, world: DeviceWorld, states: StateRows, count: int, rows: int, labels: int) -> Lanes:
    """Lanes without jobs."""
    order = LaneOrder(
        jnp.zeros(2 * labels, jnp.int32), jnp.zeros((labels, world.signals)),
        jnp.zeros((rows, states.numbers), states.dtype), jnp.full(rows, -1.0), *(jnp.int32(0) for _ in range(3)),
    )  # fmt: skip
    tally = Tally(jnp.int32(0), jnp.int32(0), order.rows)
    state = world.start(jnp.float32(0))
    place = Position(world.observe(state), *(jnp.int32(0) for _ in range(3)))
    key = jax.random.PRNGKey(0)
    one = Lanes(agent.init(key), place, state, jnp.zeros(0), key, jnp.int32(0), order, tally)
    many: Lanes = jax.tree.map(lambda leaf: jnp.tile(leaf[None], (count, *[1] * leaf.ndim)), one)
    return many._replace(buffer=jnp.zeros((agent.config.capacity, count, agent.shape.width)))


@partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=3)
def begin(
    agent: DeepAgent, world: DeviceWorld, states: StateRows, lanes: Lanes, lane: Array, key: Array, order: LaneOrder
) -> Lanes:
    """Give a lane a new job; what it had learnt is forgotten."""
    # No job has so many chunks: this key is none of those that `randoms` makes.
    state = _start(world, states, order, jax.random.uniform(jax.random.fold_in(key, 2**31 - 1)))
    place = Position(world.observe(state), *(jnp.int32(0) for _ in range(3)))
    zero = jnp.int32(0)
    tally = Tally(zero, zero, jnp.zeros_like(order.rows))
    fresh = Lanes(agent.init(key), place, state, zero, key, zero, order, tally)
    # `step` stands in for the buffer, whose lane axis is the second and which is left as it is.
    changed: Lanes = jax.tree.map(lambda old, new: old.at[lane].set(new), lanes._replace(buffer=lanes.step), fresh)
    return changed._replace(buffer=lanes.buffer)


def _start(world: DeviceWorld, states: StateRows, order: LaneOrder, uniform: Array) -> Any:
    """The world state in which an attempt begins."""
    place = jnp.minimum(jnp.searchsorted(order.cumulative, uniform, side="right"), len(order.cumulative) - 1)
    # Lanes run under vmap: both starts are computed and one is selected.
    drawn = states.state(order.rows[place])
    return jax.tree.map(lambda a, b: jnp.where(order.cumulative[0] < 0, a, b), world.start(uniform), drawn)


@partial(jax.jit, static_argnums=(0, 1, 2, 4), donate_argnums=3)
def advance(agent: DeepAgent, world: DeviceWorld, states: StateRows, lanes: Lanes, learning: bool) -> Lanes:
    """A chunk of steps of every lane that has not ended; without `learning` none may be in training."""
    uniforms, normals = randoms(agent, lanes.keys, lanes.step)
    # A step's uniforms: one for each row of the batch, two to choose the action, two for the world (its chance, and
    # where the next attempt begins).
    chance = agent.config.batch + 2

    def body(i: Array, now: Lanes) -> Lanes:
        moment = LaneStep(i, now.step, training(now.order, now.step), uniforms[i], normals[i])
        if learning:
            minds, acting = think(agent, now.minds, now.places, now.buffer, moment)
        else:
            minds, acting = now.minds, view(agent, now.minds, now.places)
        # With the weights from before the update, as `acting` is.
        actions = choose(agent, now.minds, now.places, acting, moment)
        bare = now._replace(minds=minds, buffer=now.step)  # the buffer's lane axis is not the first
        moved, rows = jax.vmap(partial(_move, agent, world, states))(bare, actions, uniforms[i][:, chance : chance + 2])
        buffer = now.buffer
        if learning:
            buffer = buffer.at[now.step % agent.config.capacity, jnp.arange(len(now.step))].set(rows)
        after: Lanes = moved._replace(buffer=buffer)
        return after

    moved: Lanes = jax.lax.fori_loop(0, CHUNK, body, lanes)
    return moved


def _move(
    agent: DeepAgent, world: DeviceWorld, states: StateRows, lane: Lanes, action: Array, chance: Array
) -> tuple[Lanes, Array]:
    """One lane after a step in the world, and the row to remember; nothing is counted once the job has ended."""
    place, step, order, tally = lane.places, lane.step, lane.order, lane.tally
    going, on = live(order, step, tally.attempts), training(order, step)
    state, label, ends, signals = world.step(lane.worlds, action, chance[0])
    observation = world.observe(state)
    fate = order.fate[label + jnp.where(ends, len(order.fate) // 2, 0)]
    config: Any = agent.config
    late = place.time + 1 >= config.edge_limit
    outcome = WorldStep(observation, fate, jnp.bool_(False), late, order.pay[label] * signals)
    _, row, machine_step = agent.record(lane.minds, place, action, outcome, step)
    tried = going & ~on & machine_step.over
    won = tried & machine_step.success
    # A write that only happens on success: else the place lies past the end and is dropped.
    ended = tally.ends.at[jnp.where(won, tally.won, len(tally.ends))].set(states.row(state), mode="drop")
    # The attempt under way when training ends is given up: rollouts begin where attempts begin.
    machine_step = machine_step._replace(over=machine_step.over | (step + 1 == order.training))
    fresh = _start(world, states, order, chance[1])
    state = jax.tree.map(lambda a, b: jnp.where(machine_step.over, a, b), fresh, state)
    place = agent.next_position(place, machine_step, observation, world.observe(fresh))
    tally = Tally(tally.attempts + tried, tally.won + won, ended)
    # A job that has ended is stepped with the others, but its counters stand still.
    return lane._replace(places=place, worlds=state, step=step + going, tally=tally), row
