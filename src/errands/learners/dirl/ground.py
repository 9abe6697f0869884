"""Where jobs are done: lanes in a world that lives on the device, or in environments on the host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from errands.learners.deep.adam import Trained
from errands.learners.deep.brain import Brain
from errands.learners.deep.machine import labels_of, listed
from errands.learners.deep.methods import Spaces
from errands.learners.deep.td3 import ActorCritic
from errands.learners.deep.team import chosen_device
from errands.learners.deep.worlds import DeviceWorld, device_world
from errands.learners.dirl import lanes
from errands.learners.dirl.brain import Meaning, edge_brain, meaning
from errands.learners.dirl.deep_config import DeepDiRLConfig
from errands.learners.dirl.edge import Attempts, Done, Job, Learnt
from errands.learners.dirl.graph import AbstractGraph
from errands.learners.dirl.states import states_of
from errands.tasks.task import Task


class Ground(ABC):
    """Lanes for jobs of one task; a lane's result depends on its job alone."""

    def __init__(self, task: Task, graph: AbstractGraph, brain: Brain, count: int) -> None:
        self.task, self.graph, self.brain = task, graph, brain
        self.jobs: list[Job | None] = [None] * count
        """The job of each lane; None where it is free."""

    @abstractmethod
    def begin(self, lane: int, job: Job) -> None:
        """Give a free lane a job."""

    @abstractmethod
    def advance(self) -> None:
        """Go on with all jobs for a while."""

    @abstractmethod
    def ended(self) -> list[int]:
        """The lanes whose jobs are done."""

    @abstractmethod
    def collect(self, lane: int) -> Done:
        """What became of the job of a lane, which is then free."""

    def place(self) -> Any:
        """Where arrays are made."""
        return jax.default_device(chosen_device(self.brain.config.platform))

    def meaning(self, job: Job) -> Meaning:
        """What labels mean to the edge of a job."""
        return meaning(self.task, self.graph, job.edge)

    def key(self, job: Job) -> Array:
        """The random numbers of a job."""
        return jnp.asarray(job.rng().integers(0, 2**32, 2, dtype=np.uint32))

    @property
    def busy(self) -> list[int]:
        """The lanes that have a job."""
        return [i for i, job in enumerate(self.jobs) if job is not None]

    @property
    def free(self) -> list[int]:
        """The lanes that have none."""
        return [i for i, job in enumerate(self.jobs) if job is None]


def weights_of(brain: Brain, trained: Any, lane: int) -> Learnt:
    """The weights with which a lane acts greedily, as one row."""
    acting: Trained = trained.actor if isinstance(trained, ActorCritic) else trained
    layers = acting.target if brain.config.greedy == "target" else acting.weights
    row: Learnt = np.asarray(ravel_pytree(jax.tree.map(lambda leaf: leaf[lane], layers))[0])
    return row


class DeviceGround(Ground):
    """Lanes in a world that lives on the device."""

    def __init__(
        self, task: Task, graph: AbstractGraph, config: DeepDiRLConfig, world: DeviceWorld, count: int
    ) -> None:
        spaces = Spaces(world.observation, world.actions, world.continuous, world.signals)
        super().__init__(task, graph, edge_brain(task, config, spaces), count)
        self.world, self.states, self.rows = world, states_of(world), config.rollouts
        with self.place():
            self.lanes = lanes.idle(self.brain, world, self.states, count, self.rows, len(labels_of(task)))

    def begin(self, lane: int, job: Job) -> None:
        """Give a free lane a job."""
        found, known = self.meaning(job), len(job.starts.rows)
        rows = np.zeros((self.rows, self.states.numbers), self.states.dtype)
        cumulative = np.full(self.rows, 2.0 if known else -1.0, np.float32)
        if known:
            rows[:known], cumulative[:known] = job.starts.rows, job.starts.cumulative
        with self.place():
            order = lanes.Order(*map(jnp.asarray, (*found, rows, cumulative)), *map(jnp.int32, job[3:6]))
            args = (jnp.int32(lane), self.key(job), order)
            self.lanes = lanes.begin(self.brain, self.world, self.states, self.lanes, *args)
        self.jobs[lane] = job

    def advance(self) -> None:
        """A chunk of steps of every job."""
        step, jobs = np.asarray(self.lanes.step), self.jobs
        learning = any(job is not None and int(step[i]) < job.training for i, job in enumerate(jobs))
        with self.place():
            self.lanes = lanes.advance(self.brain, self.world, self.states, self.lanes, learning)

    def ended(self) -> list[int]:
        """The lanes whose jobs are done."""
        now = self.lanes
        going = np.asarray(lanes.live(now.order, now.step, now.tally.made))
        return [lane for lane in self.busy if not going[lane]]

    def collect(self, lane: int) -> Done:
        """What became of the job of a lane, which is then free."""
        job, tally = self.jobs[lane], self.lanes.tally
        assert job is not None  # noqa: S101 (only lanes with a job are collected)
        made, won, step = (int(part[lane]) for part in (tally.made, tally.won, self.lanes.step))
        ends = np.asarray(tally.ends[lane, :won])
        self.jobs[lane] = None
        learnt = weights_of(self.brain, self.lanes.minds.trained, lane)
        return Done(learnt, Attempts(made, step - job.training, ends))


def ground_of(task: Task, graph: AbstractGraph, config: DeepDiRLConfig, count: int) -> Ground:
    """The lanes of a task: on the device where its world lives there, else in environments on the host."""
    world = device_world(listed(task))
    if world is not None:
        return DeviceGround(task, graph, config, world, count)
    from errands.learners.dirl.host import HostGround

    return HostGround(task, graph, config, count)
