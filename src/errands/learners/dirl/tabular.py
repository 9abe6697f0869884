"""Edges learnt by the same compiled Q-learning as QRM, on a machine of three states: on the way, there, elsewhere."""

from __future__ import annotations

import numpy as np

from errands.errors import TaskError
from errands.kernels.dirl import MISSED, attempt_edge
from errands.kernels.qrm import ACTION, FIELDS, Rates, begin, qrm_loop
from errands.learners.dirl.config import DiRLConfig
from errands.learners.dirl.edge import Attempts, Done, Job, Learnt, Starts
from errands.learners.dirl.graph import AbstractEdge, AbstractGraph
from errands.tables import FAILURE, RUNNING, SUCCESS, Ints, MachineTable, WorldTable
from errands.tasks.task import Task

AWAY, THERE, ELSEWHERE = range(3)


class TabularEdges:
    """Edge learners of a finite world; a world state is its number, a learnt policy an action per world state."""

    def __init__(self, task: Task, graph: AbstractGraph, config: DiRLConfig) -> None:
        if task.finite is None:
            raise TaskError(
                f"dirl starts attempts where earlier ones ended, and the world of '{task.name}' publishes no tables "
                "to be put into a state; use learner 'qrm' or 'crm'"
            )
        self.graph, self.config = graph, config
        self.labels = task.finite.labels
        table = task.finite.table
        # A step with which the world itself ends the episode gets a label of its own, so that machines can tell.
        self.world = table._replace(label=table.label + len(self.labels) * table.ends.astype(np.int32))
        self._reached: tuple[int, Ints] | None = None

    def starts(self) -> Starts:
        """Where episodes of the task start."""
        return Starts(self.world.starts, self.world.start_cumulative)

    def solve(self, job: Job) -> Done:
        """Q-learning, then greedy attempts."""
        rng = job.rng()
        learnt = self.learn(job.edge, job.starts, job.training, rng)
        return Done(learnt, self.attempt(job.edge, learnt, job.starts, job.rollouts, job.most, rng))

    def learn(self, edge: AbstractEdge, starts: Starts, steps: int, rng: np.random.Generator) -> Learnt:
        """The greedy policy after exactly `steps` steps of Q-learning from nothing."""
        world, machine, config = self._from(starts), self.machine(edge), self.config
        states, actions, _ = world.next.shape
        q = np.full((states, actions, 1), config.q_init)
        where = np.zeros(FIELDS, np.int64)
        where[ACTION] = -1
        begin(world, machine, where, rng)
        rates = Rates(config.alpha, config.gamma, config.epsilon, config.edge_limit)
        qrm_loop(world, machine, q, where, rates, steps, rng)
        learnt: Learnt = q[:, :, 0].argmax(axis=1).astype(np.int8)
        return learnt

    def attempt(
        self, edge: AbstractEdge, learnt: Learnt, starts: Starts, count: int, most: int, rng: np.random.Generator
    ) -> Attempts:
        """Greedy attempts at the edge."""
        ends = np.full(count, MISSED, np.int32)
        limit = self.config.edge_limit
        made, steps = attempt_edge(self._from(starts), self.machine(edge), learnt, limit, most, ends, rng)
        return Attempts(int(made), int(steps), ends[:made][ends[:made] != MISSED])

    def _from(self, starts: Starts) -> WorldTable:
        return self.world._replace(starts=starts.rows, start_cumulative=starts.cumulative)

    def machine(self, edge: AbstractEdge) -> MachineTable:
        """The machine of an edge over the world's labels and again over the same with which the world ends."""
        reached = self._targets(edge.source)
        fate = np.where(reached == edge.target, THERE, np.where(reached == edge.source, AWAY, ELSEWHERE))
        ended = np.where((fate == THERE) & self.graph.final(edge.target), THERE, ELSEWHERE)
        following = np.array([np.concatenate([fate, ended])] * 3, np.int32)
        following[THERE:] = np.array([[THERE], [ELSEWHERE]])
        reward = np.zeros(following.shape)
        reward[AWAY] = following[AWAY] == THERE
        status = np.array([RUNNING, SUCCESS, FAILURE], np.int8)
        return MachineTable(AWAY, following, reward, np.full(following.shape, -1, np.int32), status)

    def _targets(self, source: int) -> Ints:
        """The vertex to which each label leads from a vertex, -1 for a failure; the last answer is remembered."""
        if self._reached is None or self._reached[0] != source:
            stepper, state = self.graph.stepper, self.graph.vertices[source]
            found = [self.graph.number.get(stepper.step(state, label).state, -1) for label in self.labels]
            self._reached = source, np.array(found, np.int32)
        return self._reached[1]
