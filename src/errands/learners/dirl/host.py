"""Lanes in environments on the host: the same jobs as on the device, each environment put where attempts begin."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from errands.learners.deep.agent import AgentState, DeepAgent, Position, WorldStep
from errands.learners.deep.device import CHUNK
from errands.learners.deep.host import phased
from errands.learners.deep.host_envs import host_envs_of
from errands.learners.deep.machine import machine_arrays
from errands.learners.dirl import lanes
from errands.learners.dirl.config import DeepDiRLConfig
from errands.learners.dirl.deep import AWAY, THERE, LanePool, Meaning, edge_agent, weights_of
from errands.learners.dirl.graph import AbstractEdge, AbstractGraph
from errands.learners.dirl.learner import Attempts, Done, EdgeJob, Starts
from errands.learners.dirl.stepped import put, stacked, taken
from errands.tasks.task import Task

# No training and no rollouts: such a lane is never live.
NOTHING = EdgeJob(-1, AbstractEdge(0, 0, "", ""), Starts(np.zeros((0, 0), np.uint8), np.zeros(0)), 0, 0, 0, 0)
"""The job of a lane that has none."""


class HostState(NamedTuple):
    """What lanes on the host keep on the device."""

    minds: AgentState
    places: Position
    buffer: Float[Array, "capacity lanes row"]


@partial(jax.jit, static_argnums=0)
def _idle(agent: DeepAgent, seen: Array) -> HostState:
    count = len(seen)
    minds = jax.vmap(lambda _: agent.init(jax.random.PRNGKey(0)))(jnp.arange(count))
    zeros = [jnp.zeros(count, jnp.int32) for _ in range(3)]
    return HostState(minds, Position(seen, *zeros), jnp.zeros((agent.config.capacity, count, agent.shape.width)))


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _begin(agent: DeepAgent, crew: HostState, lane: Array, key: Array, seen: Array) -> HostState:
    fresh = (agent.init(key), Position(seen, *(jnp.int32(0) for _ in range(3))))
    # The buffer is not cleared: rows are drawn only from places that the job's own steps have filled.
    minds, places = jax.tree.map(lambda old, new: old.at[lane].set(new), (crew.minds, crew.places), fresh)
    return HostState(minds, places, crew.buffer)


@partial(jax.jit, static_argnums=0)
def _randoms(agent: DeepAgent, keys: Array, step: Array) -> tuple[Array, Array]:
    return lanes.randoms(agent, keys, step)


def _moment(now: Array, i: Array, uniforms: Array, normals: Array) -> lanes.LaneStep:
    """Step i of the chunk; `now` is each lane's step and whether it is one of training."""
    return lanes.LaneStep(i, now[:, 0], now[:, 1] > 0, uniforms[i], normals[i])


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _learn(agent: DeepAgent, crew: HostState, now: Array, i: Array, uniforms: Array, normals: Array) -> HostState:
    """One update of the lanes in training."""
    minds, _ = lanes.think(agent, *crew, _moment(now, i, uniforms, normals))
    return crew._replace(minds=minds)


@partial(jax.jit, static_argnums=0)
def _choose(agent: DeepAgent, crew: HostState, now: Array, i: Array, uniforms: Array, normals: Array) -> Array:
    acting = lanes.view(agent, crew.minds, crew.places)
    return lanes.choose(agent, crew.minds, crew.places, acting, _moment(now, i, uniforms, normals))


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _turn(
    agent: DeepAgent, crew: HostState, actions: Array, answer: Array, now: Array, i: Array, uniforms: Array, normals: Array
) -> tuple[HostState, Array]:
    """Take note of what the environments answered at step i of the chunk, and choose anew."""
    # The columns of `answer` (see `_answer`): observation, the one to go on from, fate, over, signals. One array,
    # because each transfer to the device has a price of its own.
    n = agent.shape.observation
    seen, fresh, fate, over, signals = jnp.split(answer, (n, 2 * n, 2 * n + 1, 2 * n + 2), axis=1)
    # That the world ended is already part of the fate.
    never = jnp.zeros(len(answer), jnp.bool_)
    outcome = WorldStep(seen, fate[:, 0].astype(jnp.int32), never, over[:, 0] > 0, signals)
    # `now` was read after the step; its row belongs at the number before.
    step = now[:, 0] - 1
    _, rows, machine_step = jax.vmap(agent.record)(crew.minds, crew.places, actions, outcome, step)
    places = jax.vmap(agent.next_position)(crew.places, machine_step, seen, fresh)
    buffer = crew.buffer.at[step % agent.config.capacity, jnp.arange(len(step))].set(rows)
    crew = HostState(crew.minds, places, buffer)
    # The action chosen after a chunk's last step is not used: the next chunk begins by choosing with its own numbers.
    return crew, _choose(agent, crew, now, jnp.minimum(i + 1, CHUNK - 1), uniforms, normals)


class Lane:
    """The bookkeeping of one lane: how far its job is, and what rollouts came to."""

    def __init__(self, job: EdgeJob, meaning: Meaning) -> None:
        self.job, self.meaning = job, meaning
        # The 1 sets these numbers apart from those of job.rng(), which seeds the device.
        self.rng = np.random.Generator(np.random.PCG64([job.seed, max(job.number, 0), 1]))
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


class HostLanes(LanePool):
    """Lanes in environments that are stepped on the host while the device learns."""

    def __init__(self, task: Task, graph: AbstractGraph, config: DeepDiRLConfig, count: int) -> None:
        self.outside = host_envs_of(machine_arrays(task), tuple(range(count)))
        super().__init__(task, graph, edge_agent(task, config, self.outside.senses.spaces), count)
        self.limit = min(config.edge_limit, self.outside.limit)
        self.outside.resting[:] = True
        self.lanes = [Lane(NOTHING, Meaning(np.zeros(0, np.int32), np.zeros((0, 0), np.float32))) for _ in range(count)]
        self.keys = np.zeros((count, 2), np.uint32)
        with self.place():
            self.crew = _idle(self.agent, jnp.asarray(self.outside.reset()))

    def begin(self, lane: int, job: EdgeJob) -> None:
        """Give a free lane a job."""
        own = self.lanes[lane] = Lane(job, self.meaning(job))
        self.keys[lane] = np.asarray(self.key(job))
        if not len(job.starts.rows):
            self.outside.envs[lane].reset(seed=int(own.rng.integers(2**31)))
        with self.place():
            args = (jnp.int32(lane), jnp.asarray(self.keys[lane]), jnp.asarray(self._restart(lane)))
            self.crew = _begin(self.agent, self.crew, *args)
        self.outside.resting[lane] = False
        self.jobs[lane] = job

    def _restart(self, lane: int) -> NDArray[np.float32]:
        """Put the environment of a lane where attempts begin, and look."""
        own, env = self.lanes[lane], self.outside.envs[lane]
        own.time = 0
        row = own.drawn()
        return self.outside.senses.see(env.reset()[0]) if row is None else put(env, row)

    def advance(self) -> None:
        """A chunk of steps of every job, less when all end before."""
        with self.place():
            randoms = _randoms(self.agent, jnp.asarray(self.keys), jnp.asarray(self._now()[:, 0]))
            now = self._now()
            actions = _choose(self.agent, self.crew, now, jnp.int32(0), *randoms)
            for i in range(CHUNK):
                if self.outside.resting.all():
                    break
                # Sent first and asked last: environments step while the device learns.
                self.outside.send(np.asarray(actions))
                at = jnp.int32(i)
                if now[:, 1].any():
                    agent = phased(self.agent)[i % len(phased(self.agent))]
                    self.crew = _learn(agent, self.crew, now, at, *randoms)
                answer = self._answer()
                now = self._now()
                self.crew, actions = _turn(self.agent, self.crew, actions, answer, now, at, *randoms)

    def _now(self) -> NDArray[np.int32]:
        """[lanes, 2] the step of every lane, and whether it is one of training."""
        return np.array([(own.step, own.training) for own in self.lanes], np.int32)

    def _answer(self) -> NDArray[np.float32]:
        """One step of every lane as one array: what is seen, where the next begins, fate, whether it is over, signals."""
        heard, rests = self.outside.answers(), self.outside.resting
        fresh, flags = heard.observation.copy(), np.zeros((len(rests), 2), np.float32)
        signals = heard.signals.copy()
        for lane in map(int, np.flatnonzero(~rests)):
            own, label = self.lanes[lane], int(heard.label[lane])
            # The second half of `fate` is for steps with which the world ends.
            fate = int(own.meaning.fate[label + len(own.meaning.pay) * bool(heard.ends[lane])])
            signals[lane] *= own.meaning.pay[label]
            over, won = own.take(fate, self.limit)
            # Taken now, before `_restart` moves the environment.
            if won:
                own.ends.append(taken(self.outside.envs[lane], heard.observation[lane]))
            flags[lane] = fate, over
            if not own.live:
                rests[lane] = True
            elif over:
                fresh[lane] = self._restart(lane)
        return np.concatenate([heard.observation, fresh, flags, signals], axis=1, dtype=np.float32)

    def ended(self) -> list[int]:
        """The lanes whose jobs are done."""
        return [lane for lane in self.busy if not self.lanes[lane].live]

    def collect(self, lane: int) -> Done:
        """What became of the job of a lane, which is then free."""
        own, self.jobs[lane] = self.lanes[lane], None
        learnt = weights_of(self.agent, self.crew.minds.trained, lane)
        ends = stacked(own.ends)
        return Done(learnt, Attempts(own.attempts, own.step - own.job.training, ends))
