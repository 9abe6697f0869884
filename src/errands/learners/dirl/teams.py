"""Edges as seeds of a team: jobs of any searches are trained side by side in the loops of all deep learners, then tried out."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from errands.learners.dirl.graph import AbstractEdge
from errands.learners.dirl.stepped import put, stacked, taken
from errands.learners.dirl.tabular import Attempts, Done, EdgeJob, Learnt, Starts
from errands.learners.engines.deep.agent import AgentState, DeepAgent
from errands.learners.engines.deep.device import CHUNK, DeviceWorld, greedy_episode
from errands.learners.engines.deep.host import HostTeam, decide_all
from errands.learners.engines.deep.host_envs import HostEnvs, HostStep, Senses
from errands.learners.engines.deep.network import TrainedWeights
from errands.learners.engines.deep.td3 import ActorCritic
from errands.learners.engines.deep.team import DeviceTeam, Team, chosen_device
from errands.tables import Ints, RandomGenerator

Keys = NDArray[np.uint32]
"""[jobs, 2] the random keys of jobs; a team is given a copy, since training donates its arrays."""
# The numbers of the three states of an edge's machine, and of the three labels that lead to them.
AWAY, THERE, ELSEWHERE = range(3)
# A job is one seed of a team that lives as long as the longest training of its jobs. No training and no rollouts: such a
# job fills a place on the host.
NOTHING = EdgeJob(0, AbstractEdge(0, 0, "", ""), Starts(np.zeros((0, 0), np.uint8), np.zeros(0)), 0, 0, 0, 0)


class Meaning(NamedTuple):
    """What the labels of the world mean to one edge: all that differs between the machines of two edges."""

    fate: Ints
    """[2 labels] away, there or elsewhere; the second half is for steps with which the world itself ends."""
    pay: NDArray[np.float32]
    """[labels, signals] what each signal is multiplied with while on the way."""


class EdgeTeams(ABC):
    """Teams of `count` jobs of one task; what becomes of a job depends on the job alone."""

    def __init__(self, agent: DeepAgent, meaning: Callable[[AbstractEdge], Meaning], count: int) -> None:
        self.agent, self.meaning, self.count = agent, meaning, count

    @abstractmethod
    def begin(self, jobs: Sequence[EdgeJob], keys: Keys) -> Team:
        """A team of the jobs before their first step."""

    @abstractmethod
    def try_out(self, jobs: Sequence[EdgeJob], keys: Keys, states: AgentState) -> list[Attempts]:
        """What greedy attempts with this knowledge come to."""

    def solve(self, jobs: Sequence[EdgeJob], until: float = float("inf")) -> list[Done] | None:
        """Train `count` jobs at most and try them out; None where the clock, time.perf_counter, reaches `until` in training."""
        # Always so many: another number would be compiled anew.
        everyone = [*jobs, *[self.idle(jobs)] * (self.count - len(jobs))]
        with jax.default_device(chosen_device(self.agent.config.platform)):
            keys = np.array([job.rng().integers(0, 2**32, 2, dtype=np.uint32) for job in everyone])
            states = self._trained(self.begin(everyone, keys), everyone, until)
            if states is None:
                return None
            attempts = self.try_out(everyone, keys, states)
        parts = enumerate(attempts[: len(jobs)])
        return [Done(weights_of(self.agent, states.trained, place), made) for place, made in parts]

    def idle(self, jobs: Sequence[EdgeJob]) -> EdgeJob:
        """What fills a place for which there is no job."""
        return jobs[0]

    def _trained(self, team: Team, jobs: Sequence[EdgeJob], until: float) -> AgentState | None:
        """What every job has learnt in exactly its own steps of training."""
        # Those with fewer steps go along; what they had learnt is put aside when their steps are done.
        states: AgentState | None = None
        training = np.array([job.training for job in jobs])
        for steps in sorted({job.training for job in jobs if job.training}):
            while team.step < steps:
                if time.perf_counter() > until:
                    return None
                team.advance(min(CHUNK, steps - team.step))
            # A copy: training on donates the team's own arrays.
            states = _taken(team.agent_states, states or team.agent_states, jnp.asarray(training >= steps))
        return states


@jax.jit
def _taken(new: AgentState, old: AgentState, which: Array) -> AgentState:
    """The new knowledge of some seeds, the old of the others."""

    def part(a: Array, b: Array) -> Array:
        return jnp.where(which.reshape(-1, *[1] * (a.ndim - 1)), a, b)

    states: AgentState = jax.tree.map(part, new, old)
    return states


def weights_of(agent: DeepAgent, trained: Any, place: int) -> Learnt:
    """The weights with which a job acts greedily, as one row."""
    acting: TrainedWeights = trained.actor if isinstance(trained, ActorCritic) else trained
    row: Learnt = np.asarray(ravel_pytree(jax.tree.map(lambda leaf: leaf[place], acting.weights))[0])
    return row


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
    states = states_of(world)

    def start(uniform: Array) -> EdgeState:
        raise TypeError("attempts at an edge begin as its order says")

    def restart(state: EdgeState, uniform: Array) -> EdgeState:
        order = state.order
        place = jnp.minimum(jnp.searchsorted(order.cumulative, uniform, side="right"), len(order.cumulative) - 1)
        # Edges run under vmap: both starts are computed and one is selected.
        drawn, own = states.state(order.rows[place]), world.start(uniform)
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


class DeviceEdges(EdgeTeams):
    """Jobs in a world that lives on the device; all attempts of all jobs are made at once."""

    def __init__(
        self, agent: DeepAgent, meaning: Callable[[AbstractEdge], Meaning], count: int, world: DeviceWorld
    ) -> None:
        super().__init__(agent, meaning, count)
        config: Any = agent.config
        self.world, self.states, self.rollouts = edge_world(world), states_of(world), config.rollouts
        self.inner = world

    def begin(self, jobs: Sequence[EdgeJob], keys: Keys) -> Team:
        """A team of the jobs, each where its attempts begin."""
        return DeviceTeam(self.agent, self.world, tuple(job.seed for job in jobs), jnp.array(keys), self._orders(jobs))

    def _orders(self, jobs: Sequence[EdgeJob]) -> EdgeState:
        """[jobs] the edges, in a state that no attempt begins in."""
        orders = [self._order(job) for job in jobs]
        order = EdgeOrder(*(jnp.asarray(np.stack(parts)) for parts in zip(*orders, strict=True)))
        nowhere = self.inner.start(jnp.float32(0))
        return EdgeState(jax.tree.map(lambda leaf: jnp.tile(leaf[None], (len(jobs), *[1] * leaf.ndim)), nowhere), order)

    def _order(self, job: EdgeJob) -> tuple[Any, ...]:
        known = len(job.starts.rows)
        rows = np.zeros((self.rollouts, self.states.numbers), self.states.dtype)
        # Unused places hold 2, which no random number reaches. A first entry of -1: attempts begin as episodes do.
        # The rows are enough, since each rollout of the edge before has left one at most.
        cumulative = np.full(self.rollouts, 2.0 if known else -1.0, np.float32)
        if known:
            rows[:known], cumulative[:known] = job.starts.rows, job.starts.cumulative
        return *self.meaning(job.edge), rows, cumulative

    def try_out(self, jobs: Sequence[EdgeJob], keys: Keys, states: AgentState) -> list[Attempts]:
        """Attempts in their order, as many as the steps of the job allow."""
        tried = _try_out(self.agent, self.world, self.rollouts, states, self._orders(jobs), jnp.array(keys))
        made = []
        for job, lengths, won, rows in zip(jobs, *map(np.asarray, tried), strict=True):
            steps = np.cumsum(lengths[: job.rollouts])
            # One that the job's steps cut short was not made; the steps of those behind it were never taken.
            number = int((steps <= job.most).sum())
            made.append(Attempts(number, min(int(steps[-1]), job.most), rows[:number][won[:number]]))
        return made


@partial(jax.jit, static_argnums=(0, 1, 2))
def _try_out(
    agent: DeepAgent, world: DeviceWorld, count: int, states: AgentState, orders: EdgeState, keys: Array
) -> tuple[Array, Array, Array]:
    """[jobs, count] lengths and successes of greedy attempts, and [jobs, count, numbers] the states in which they ended."""

    def attempt(agent_state: AgentState, order: EdgeState, key: Array) -> tuple[Array, Array, Array]:
        assert world.restart is not None  # noqa: S101 (edge_world has one)
        state = world.restart(order, jax.random.uniform(key))
        episode, ended = greedy_episode(agent, world, agent_state, state, jax.random.fold_in(key, 2**31 - 1))
        return episode.length, episode.success, StateRows.row(ended.inner)

    def of(agent_state: AgentState, order: EdgeState, key: Array) -> tuple[Array, Array, Array]:
        # No job has so many chunks: this key is none of those that training draws from.
        own = jax.random.split(jax.random.fold_in(key, 2**31 - 2), count)
        tried: tuple[Array, Array, Array] = jax.vmap(attempt, in_axes=(None, None, 0))(agent_state, order, own)
        return tried

    tried: tuple[Array, Array, Array] = jax.vmap(of)(states, orders, keys)
    return tried


class Attempted:
    """The bookkeeping of one job on the host: how far it is, and what its rollouts came to."""

    def __init__(self, job: EdgeJob, meaning: Meaning) -> None:
        self.job, self.meaning = job, meaning
        # The 1 sets these numbers apart from those of job.rng(), which seeds the device.
        self.rng = RandomGenerator(job.seed, job.number, 1)
        """Where attempts begin; all else is drawn on the device."""
        self.step, self.time, self.attempts = 0, 0, 0
        self.ends: list[NDArray[np.uint8]] = []

    @property
    def training(self) -> bool:
        """Whether the next step is one of training."""
        return self.step < self.job.training

    @property
    def live(self) -> bool:
        """Whether the job goes on."""
        job = self.job
        return self.training or (self.attempts < job.rollouts and self.step - job.training < job.most)

    def drawn(self) -> NDArray[np.uint8] | None:
        """The state in which the next attempt begins; None where it begins as episodes do."""
        rows, cumulative = self.job.starts
        if not len(rows):
            return None
        place = int(np.searchsorted(cumulative, self.rng.random(), side="right"))
        row: NDArray[np.uint8] = rows[min(place, len(rows) - 1)]
        return row

    def take(self, fate: int, limit: int) -> tuple[bool, bool]:
        """One step: whether the attempt is over, and whether it was a rollout that reached the goal."""
        trained = self.training
        self.step += 1
        self.time += 1
        over = fate != AWAY or self.time >= limit
        self.attempts += over and not trained
        # The attempt under way when training ends is given up: rollouts begin where attempts begin.
        return over or self.step == self.job.training, over and not trained and fate == THERE


class EdgeEnvs:
    """Environments of which each attempts an edge of its own, put where attempts begin."""

    def __init__(self, outside: HostEnvs, jobs: Sequence[Attempted], limit: int) -> None:
        self.outside, self.jobs, self.limit = outside, jobs, limit
        self.senses: Senses = outside.senses
        self.rows = np.zeros((len(jobs), self.senses.spaces.observation), np.float32)
        """What every environment shows now."""

    def reset(self) -> NDArray[np.float32]:
        """Begin the first attempts."""
        for place, own in enumerate(self.jobs):
            self.outside.resting[place] = not own.live
            if not len(own.job.starts.rows):
                self.outside.env(place).reset(seed=int(own.rng.integers(2**31)))
            self.rows[place] = self._restarted(place)
        return self.rows

    def _restarted(self, place: int) -> NDArray[np.float32]:
        """Put an environment where attempts begin, and look."""
        own, env = self.jobs[place], self.outside.env(place)
        own.time = 0
        row = own.drawn()
        seen: NDArray[np.float32] = self.senses.see(env.reset()[0]) if row is None else put(env, row)
        self.outside.moved(place)
        return seen

    def send(self, actions: NDArray[np.float32]) -> None:
        """Hand the actions over."""
        self.outside.send(actions)

    def receive(self) -> HostStep:
        """One step of every job that does not rest: its fate for a label, signals as the edge is paid for them."""
        heard, rests = self.outside.answers(), self.outside.resting
        fates, cut = np.zeros(len(rests), np.int32), np.zeros(len(rests), np.bool_)
        signals, self.rows = heard.signals.copy(), heard.observation.copy()
        for place in map(int, np.flatnonzero(~rests)):
            own, label = self.jobs[place], int(heard.label[place])
            # The second half of `fate` is for steps with which the world ends.
            fates[place] = own.meaning.fate[label + len(own.meaning.pay) * bool(heard.ends[place])]
            signals[place] *= own.meaning.pay[label]
            trained = own.training
            over, won = own.take(int(fates[place]), self.limit)
            # Taken now, before the environment is moved.
            if won:
                own.ends.append(taken(self.outside.env(place), heard.observation[place]))
            cut[place] = over
            if over and own.live:
                self.rows[place] = self._restarted(place)
            # Between training and rollouts a job waits for the others.
            rests[place] = not own.live or trained != own.training
        never = np.zeros(len(rests), np.bool_)
        return heard._replace(label=fates, ends=never, truncated=cut, signals=signals, fresh=self.rows)

    def save(self) -> NDArray[np.uint8]:
        """All environments as JSON."""
        return self.outside.save()

    def restore(self, saved: NDArray[np.uint8]) -> None:
        """Continue from what `save` gave."""
        self.outside.restore(saved)


class HostEdges(EdgeTeams):
    """Jobs in environments that are stepped on the host, where every step that is counted is taken and no other."""

    def __init__(
        self, agent: DeepAgent, meaning: Callable[[AbstractEdge], Meaning], count: int, outside: HostEnvs
    ) -> None:
        super().__init__(agent, meaning, count)
        self.outside = outside

    def idle(self, jobs: Sequence[EdgeJob]) -> EdgeJob:
        """Nothing, since environments would have to be stepped for it."""
        return NOTHING

    def begin(self, jobs: Sequence[EdgeJob], keys: Keys) -> Team:
        """A team of the jobs, each environment where attempts begin."""
        none = Meaning(np.zeros(0, np.int32), np.zeros((0, 0), np.float32))
        books = [Attempted(job, none if job is NOTHING else self.meaning(job.edge)) for job in jobs]
        self.envs = EdgeEnvs(self.outside, books, self.agent.machine.limit)
        return HostTeam(self.agent, self.envs, tuple(job.seed for job in jobs), jnp.array(keys))

    def try_out(self, jobs: Sequence[EdgeJob], keys: Keys, states: AgentState) -> list[Attempts]:
        """One attempt after the other in each environment."""
        envs, zeros = self.envs, np.zeros(len(jobs), np.int32)
        rests = self.outside.resting
        rests[:] = [not own.live for own in envs.jobs]
        while not rests.all():
            actions, _ = decide_all(self.agent, states, envs.rows, zeros, zeros, zeros)
            envs.send(np.asarray(actions))
            envs.receive()
        return [Attempts(own.attempts, own.step - own.job.training, stacked(own.ends)) for own in envs.jobs]
