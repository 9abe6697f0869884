"""Edges learnt with networks: each is the one seed of a team in the loops of all deep learners, then tried out."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from errands.errors import ErrandsError, TaskError
from errands.learners.base import Form, SavedArray, stacked
from errands.learners.dirl.graph import AbstractEdge
from errands.learners.dirl.tabular import AWAY, THERE, Attempts, Done, EdgeJob, EdgeLearner, Learnt, Rows
from errands.learners.engines.deep.agent import AgentState, DeepAgent
from errands.learners.engines.deep.device import CHUNK, DeviceWorld, greedy_episode
from errands.learners.engines.deep.host import HostTeam, decide_all
from errands.learners.engines.deep.host_envs import HostEnvs, HostStep, Senses
from errands.learners.engines.deep.network import TrainedWeights
from errands.learners.engines.deep.td3 import ActorCritic
from errands.learners.engines.deep.team import DeviceTeam, Team, chosen_device
from errands.tables import Ints, RandomGenerator
from errands.tasks.task import Task
from errands.worlds.saving import Restorable, from_json, to_json

ENDS = "states of the world in which attempts ended, end to end"
MAX_FLOAT = float(np.finfo(np.float32).max)


class Meaning(NamedTuple):
    """What the labels of the world mean to one edge: all that differs between the machines of two edges."""

    fate: Ints
    """[2 labels] away, there or elsewhere; the second half is for steps with which the world itself ends."""
    pay: NDArray[np.float32]
    """[labels, signals] what each signal is multiplied with while on the way."""


class DeepEdges(EdgeLearner):
    """Learns the edges of a task one by one."""

    rows: SavedArray
    """What the states are in which attempts ended."""

    def __init__(self, agent: DeepAgent, meaning: Callable[[AbstractEdge], Meaning]) -> None:
        self.agent, self.meaning = agent, meaning

    @abstractmethod
    def begin(self, job: EdgeJob, key: NDArray[np.uint32]) -> Team:
        """A team of the job alone before its first step."""

    @abstractmethod
    def try_out(self, job: EdgeJob, key: NDArray[np.uint32], states: AgentState) -> Attempts:
        """What greedy attempts with this knowledge come to."""

    def solve(self, job: EdgeJob) -> Done:
        """Train for exactly the steps of the job, then try out."""
        key = job.rng().integers(0, 2**32, 2, dtype=np.uint32)
        with jax.default_device(chosen_device(self.agent.config.platform)):
            team = self.begin(job, key)
            while team.step < job.training:
                team.advance(min(CHUNK, job.training - team.step))
            states = team.agent_states
            return Done(weights_of(self.agent, states.trained), self.try_out(job, key, states))

    def form(self) -> Form:
        """What is saved of edges: weights, and states as numbers or as JSON."""
        like: Any = jax.eval_shape(self.agent.low.init, jax.random.PRNGKey(0))
        count = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(acting_part(like).weights))
        weights = SavedArray("float32", ("good", count), "weights of each edge's network", -MAX_FLOAT, MAX_FLOAT)
        return {"learnt": weights, "rows": self.rows}


def acting_part(trained: Any) -> TrainedWeights:
    """The part of what is trained that acts."""
    return trained.actor if isinstance(trained, ActorCritic) else trained


def weights_of(agent: DeepAgent, trained: Any) -> Learnt:
    """The weights with which the only seed acts greedily, as one row."""
    row: Learnt = np.asarray(ravel_pytree(jax.tree.map(lambda leaf: leaf[0], acting_part(trained).weights))[0])
    return row


@lru_cache(maxsize=16)
def states_of(world: DeviceWorld) -> tuple[Array, Callable[[Array], Any]]:
    """A state of a world as a row of numbers, and what makes rows states; asked again the same, so that nothing compiles twice."""
    row, state = ravel_pytree(world.start(jnp.float32(0)))
    return row, state


class EdgeOrder(NamedTuple):
    """An edge on the device: what labels mean to it, and where attempts at it begin."""

    fate: Int[Array, " labels"]
    pay: Float[Array, "labels signals"]
    rows: Array
    """[rows, numbers] the world states in which attempts begin."""
    cumulative: Float[Array, " rows"]
    """Their cumulative probabilities; below 0 where attempts begin as episodes of the world do."""


class EdgeState(NamedTuple):
    """A state of the world, and the edge that is attempted in it."""

    inner: Any
    order: EdgeOrder


@lru_cache(maxsize=16)
def edge_world(world: DeviceWorld) -> DeviceWorld:
    """A world as edges see it: the edge is a part of its state, so that edges differ in data only, not in compiled code."""
    _, state_of = states_of(world)

    def start(uniform: Array) -> EdgeState:
        raise TypeError("attempts at an edge begin as its order says")

    def restart(state: EdgeState, uniform: Array) -> EdgeState:
        order = state.order
        place = jnp.minimum(jnp.searchsorted(order.cumulative, uniform, side="right"), len(order.cumulative) - 1)
        # Edges run under vmap: both starts are computed and one is selected.
        drawn, own = state_of(order.rows[place]), world.start(uniform)
        return EdgeState(jax.tree.map(lambda a, b: jnp.where(order.cumulative[0] < 0, a, b), own, drawn), order)

    def step(state: EdgeState, action: Array, uniform: Array) -> tuple[EdgeState, Array, Array, Array]:
        inner, label, ends, signals = world.step(state.inner, action, uniform)
        order = state.order
        fate = order.fate[label + jnp.where(ends, len(order.fate) // 2, 0)]
        # That the world ended is a part of the fate.
        return EdgeState(inner, order), fate, jnp.bool_(False), order.pay[label] * signals

    def observe(state: EdgeState) -> Array:
        return world.observe(state.inner)

    spaces = (world.observation, world.actions, world.continuous, world.signals, world.limit)
    return DeviceWorld(*spaces, start, step, observe, restart)


class DeviceEdges(DeepEdges):
    """Edges in a world that lives on the device; all attempts are made at once."""

    def __init__(self, agent: DeepAgent, meaning: Callable[[AbstractEdge], Meaning], world: DeviceWorld) -> None:
        super().__init__(agent, meaning)
        config: Any = agent.config
        self.world, self.inner, self.rollouts = edge_world(world), world, config.rollouts
        row, _ = states_of(world)
        self.rows = SavedArray(np.dtype(row.dtype).name, ("rows", len(row)), ENDS, -MAX_FLOAT, MAX_FLOAT)

    def begin(self, job: EdgeJob, key: NDArray[np.uint32]) -> Team:
        """A team of the job, where its attempts begin."""
        return DeviceTeam(self.agent, self.world, (job.seed,), jnp.array(key[None]), self._order(job))

    def _order(self, job: EdgeJob) -> EdgeState:
        """[1] the edge, in a state that no attempt begins in."""
        known = len(job.starts.rows)
        row, _ = states_of(self.inner)
        rows = np.zeros((self.rollouts, len(row)), row.dtype)
        # Unused places hold 2, which no random number reaches. A first entry of -1: attempts begin as episodes do.
        # The rows are enough, since each rollout of the edge before has left one at most.
        cumulative = np.full(self.rollouts, 2.0 if known else -1.0, np.float32)
        if known:
            rows[:known], cumulative[:known] = job.starts.rows, job.starts.cumulative
        order = EdgeOrder(*(jnp.asarray(part[None]) for part in (*self.meaning(job.edge), rows, cumulative)))
        return EdgeState(jax.tree.map(lambda leaf: leaf[None], self.inner.start(jnp.float32(0))), order)

    def try_out(self, job: EdgeJob, key: NDArray[np.uint32], states: AgentState) -> Attempts:
        """Attempts in their order, as many as the steps of the job allow."""
        tried = _try_out(self.agent, self.world, self.rollouts, states, self._order(job), jnp.array(key[None]))
        return counted(job, *(np.asarray(part)[0] for part in tried))


def counted(job: EdgeJob, lengths: Ints, won: NDArray[np.bool_], rows: NDArray[Any]) -> Attempts:
    """What attempts of these lengths come to: one that the job's steps cut short was not made, those behind it never begun."""
    steps = np.cumsum(lengths[: job.rollouts])
    number = int((steps <= job.most).sum())
    return Attempts(number, min(int(steps[-1]), job.most), rows[:number][won[:number]])


@partial(jax.jit, static_argnums=(0, 1, 2))
def _try_out(
    agent: DeepAgent, world: DeviceWorld, count: int, states: AgentState, orders: EdgeState, keys: Array
) -> tuple[Array, Array, Array]:
    """[jobs, count] lengths and successes of greedy attempts, and [jobs, count, numbers] the states in which they ended."""

    def attempt(agent_state: AgentState, order: EdgeState, key: Array) -> tuple[Array, Array, Array]:
        assert world.restart is not None  # noqa: S101 (edge_world has one)
        state = world.restart(order, jax.random.uniform(key))
        episode, ended = greedy_episode(agent, world, agent_state, state, jax.random.fold_in(key, 2**31 - 1))
        return episode.length, episode.success, ravel_pytree(ended.inner)[0]

    def of(agent_state: AgentState, order: EdgeState, key: Array) -> tuple[Array, Array, Array]:
        # No job has so many chunks: this key is none of those that training draws from.
        own = jax.random.split(jax.random.fold_in(key, 2**31 - 2), count)
        tried: tuple[Array, Array, Array] = jax.vmap(attempt, in_axes=(None, None, 0))(agent_state, order, own)
        return tried

    tried: tuple[Array, Array, Array] = jax.vmap(of)(states, orders, keys)
    return tried


def recorded(env: gym.Env[Any, Any], seen: Any) -> NDArray[np.uint8]:
    """The state of an environment and what is seen in it, as JSON."""
    return np.frombuffer(json.dumps(to_json({"seen": seen, "state": env.save()})).encode(), np.uint8)  # type: ignore[attr-defined]


def put(env: gym.Env[Any, Any], row: NDArray[np.uint8]) -> Any:
    """Put an environment into a recorded state; what is seen there."""
    saved = from_json(json.loads(bytes(row)))
    env.restore(saved["state"])  # type: ignore[attr-defined]
    return saved["seen"]


def check_restorable(task: Task) -> None:
    """Refuse a world whose environment cannot be put into a state, in a sentence."""
    env = task.world.env()
    reason = "it has no save() and restore()"
    try:
        if isinstance(env, Restorable):
            env.reset(seed=0)
            # There and back once: methods may exist and yet refuse, or give what cannot be written as JSON.
            put(env, recorded(env, 0))
            return
    except (ErrandsError, TypeError, ValueError, AttributeError) as fault:
        reason = str(fault)
    finally:
        env.close()
    raise TaskError(
        f"dirl starts attempts where earlier ones ended, and the environment of '{task.name}' cannot be put into a "
        f"state ({reason}); use learner 'qrm', 'hrm' or 'qcorm-plus'"
    )



class EdgeEnv:
    """An environment in which an edge is attempted, put where attempts begin."""

    def __init__(self, outside: HostEnvs, job: EdgeJob, meaning: Meaning, limit: int) -> None:
        self.outside, self.job, self.meaning, self.limit = outside, job, meaning, limit
        self.senses: Senses = outside.senses
        self.rows = np.zeros((1, self.senses.spaces.observation), np.float32)
        """What the environment shows now."""
        # The 1 sets these numbers apart from those of job.rng(), which seeds the device.
        self.rng = RandomGenerator(job.seed, job.number, 1)
        """Where attempts begin; all else is drawn on the device."""
        self.step, self.time, self.attempts = 0, 0, 0
        self.ends: list[NDArray[np.uint8]] = []

    @property
    def live(self) -> bool:
        """Whether the job goes on."""
        job = self.job
        return self.step < job.training or (self.attempts < job.rollouts and self.step - job.training < job.most)

    def reset(self) -> NDArray[np.float32]:
        """Begin the first attempt."""
        if not len(self.job.starts.rows):
            self.outside.env(0).reset(seed=int(self.rng.integers(2**31)))
        return self._restarted()

    def _restarted(self) -> NDArray[np.float32]:
        """Put the environment where attempts begin, and look."""
        env, self.time = self.outside.env(0), 0
        row = self.job.starts.drawn(self.rng)
        self.rows = np.array([self.senses.see(env.reset()[0]) if row is None else put(env, row)], np.float32)
        self.outside.moved(0)
        return self.rows

    def send(self, actions: NDArray[np.float32]) -> None:
        """Hand the action over."""
        self.outside.send(actions)

    def receive(self) -> HostStep:
        """One step: its fate for a label, signals as the edge is paid for them."""
        seen, training = self.outside.answers(), self.step < self.job.training
        label, self.rows = int(seen.label[0]), seen.observation.copy()
        # The second half of `fate` is for steps with which the world ends.
        fate = self.meaning.fate[label + len(self.meaning.pay) * bool(seen.ends[0])]
        self.step, self.time = self.step + 1, self.time + 1
        over = bool(fate != AWAY) or self.time >= self.limit
        if over and not training:
            self.attempts += 1
            if fate == THERE:  # taken now, before the environment is moved
                self.ends.append(recorded(self.outside.env(0), seen.observation[0]))
        # The attempt under way when training ends is given up: rollouts begin where attempts begin.
        over = over or self.step == self.job.training
        if over and self.live:
            self._restarted()
        fates, signals = np.array([fate], np.int32), seen.signals * self.meaning.pay[label]
        return seen._replace(label=fates, ends=np.array([False]), truncated=np.array([over]), signals=signals, fresh=self.rows)

    def save(self) -> NDArray[np.uint8]:
        """The environment as JSON."""
        return self.outside.save()

    def restore(self, saved: NDArray[np.uint8]) -> None:
        """Continue from what `save` gave."""
        self.outside.restore(saved)


class HostEdges(DeepEdges):
    """Edges in an environment that is stepped on the host, where every step that is counted is taken and no other."""

    rows = SavedArray("uint8", ("rows", "width"), f"{ENDS}, as JSON")

    def __init__(self, agent: DeepAgent, meaning: Callable[[AbstractEdge], Meaning], outside: HostEnvs, task: Task) -> None:
        super().__init__(agent, meaning)
        check_restorable(task)
        self.outside, self.task = outside, task

    def check(self, rows: Rows) -> None:
        """Raise what the environment raises about states that are not its own."""
        env = self.task.world.env()
        env.reset(seed=0)
        for row in rows:
            put(env, row)
        env.close()

    def begin(self, job: EdgeJob, key: NDArray[np.uint32]) -> Team:
        """A team of the job, its environment where attempts begin."""
        self.env = EdgeEnv(self.outside, job, self.meaning(job.edge), self.agent.machine.limit)
        return HostTeam(self.agent, self.env, (job.seed,), jnp.array(key[None]))

    def try_out(self, job: EdgeJob, key: NDArray[np.uint32], states: AgentState) -> Attempts:
        """One attempt after the other."""
        env, zeros = self.env, np.zeros(1, np.int32)
        while env.live:
            env.send(np.asarray(decide_all(self.agent, states, env.rows, zeros, zeros, zeros)[0]))
            env.receive()
        return Attempts(env.attempts, env.step - job.training, stacked([row[None] for row in env.ends]))
