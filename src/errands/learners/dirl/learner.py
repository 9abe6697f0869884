"""DiRL: Dijkstra's search over an abstract graph, each edge learnt once, on its own, when the search needs it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from errands.learners.base import Learner, Saved
from errands.learners.dirl.config import DiRLConfig, SearchConfig
from errands.learners.dirl.edge import Done, EdgeLearner, EdgeResult, Job, Learnt, Starts, gathered, joined
from errands.learners.dirl.graph import AbstractGraph, abstract_graph
from errands.learners.dirl.search import Search
from errands.learners.dirl.tabular import TabularEdges
from errands.learners.tabular.policies import MachinePolicy
from errands.oracle.episode import walk
from errands.tables import Evaluation
from errands.tasks.task import Task


class CompositionalLearner(Learner):
    """The search with any edge learner; `step` counts every interaction of training and of rollouts."""

    config: SearchConfig

    def __init__(self, task: Task, config: SearchConfig, seed: int, graph: AbstractGraph, edges: EdgeLearner) -> None:
        super().__init__(task, config, seed)
        self.graph, self.edges = graph, edges
        self.search = Search(graph)
        self.results: list[EdgeResult] = []
        """The edges learnt so far, in the order in which the search asked for them."""
        self.learnt: dict[int, Learnt] = {}
        """The policies of the edges that succeeded at least once."""
        self.ends: dict[int, Starts] = {}
        """Where attempts at those edges ended."""
        self.evaluated = -1
        """The step of the last evaluation; -1 before the first."""

    @property
    def training_steps(self) -> int:
        """Interactions while training edges: all that published counts report."""
        return sum(result.training_steps for result in self.results)

    @property
    def rollout_steps(self) -> int:
        """Interactions while estimating the probabilities of edges."""
        return sum(result.rollout_steps for result in self.results)

    @property
    def estimate(self) -> float:
        """The estimated probability that the way found succeeds; 0 while there is none."""
        goal = self.search.goal
        return 0.0 if goal is None else math.exp(-self.search.cost[goal])

    @property
    def counts(self) -> Mapping[str, int]:
        """Interactions in training and in rollouts; `step` is their sum."""
        return {"training_steps": self.training_steps, "rollout_steps": self.rollout_steps}

    def predicted(self, steps: int) -> int:
        """The most interactions that a run to `steps` can take, known before it starts."""
        return predicted_steps(self.graph, self.config, steps)

    def stages(self, steps: int) -> Iterator[Evaluation | None]:
        """One complete run within `steps` interactions; only its end is evaluated, since half a way leads nowhere."""
        for _ in self.explore(steps):
            yield None
        if self.evaluated != self.step:
            self.evaluated = self.step
            evaluation = self.measure()
            self.evaluation_steps += evaluation.steps_taken
            yield evaluation

    def train(self, steps: int) -> Iterator[Evaluation]:
        """The evaluation at the end of a complete run."""
        return (evaluation for evaluation in self.stages(steps) if evaluation is not None)

    def advance(self, count: int) -> None:
        """Take at most `count` interactions: fewer when the search ends before."""
        for _ in self.explore(self.step + count):
            pass

    def explore(self, steps: int) -> Iterator[EdgeResult]:
        """Learn edge after edge until the search ends or `steps` interactions were taken; save between any two."""
        while jobs := self.jobs(steps):
            yield self.settle(jobs[0], self.edges.solve(jobs[0]))

    def jobs(self, steps: int) -> list[Job]:
        """The edges to be learnt next that need not wait for each other; none when the run is at its end.

        Edges out of one vertex are independent as long as no budget that one uses up is needed by the others.
        """
        config, left = self.config, steps - self.step
        if left <= 0 or not self.search.pending:
            return []
        if config.edge_steps is None:
            share = left // self.search.left
            training = int(share * config.training_share)
            return [self._job(self.search.pending[0], training, share - training)]
        rollouts = config.rollouts * config.edge_limit
        whole = left // (config.edge_steps + rollouts)
        if whole:
            return [self._job(number, config.edge_steps, rollouts) for number in self.search.pending[:whole]]
        training = min(config.edge_steps, left)
        return [self._job(self.search.pending[0], training, left - training)]

    def _job(self, number: int, training: int, most: int) -> Job:
        edge = self.graph.edges[number]
        arrival = self.search.arrival[edge.source]
        starts = self.edges.starts() if arrival < 0 else self.ends[arrival]
        return Job(number, edge, starts, training, self.config.rollouts, most, self.seed)

    def settle(self, job: Job, done: Done) -> EdgeResult:
        """Take note of an edge that was learnt; edges are settled in the order in which the search asks for them."""
        tried = done.attempts
        if len(tried.ends):
            self.learnt[job.number], self.ends[job.number] = done.learnt, gathered(tried.ends)
        result = EdgeResult(job.number, job.training, tried.steps, tried.made, len(tried.ends))
        self.results.append(result)
        self.step += job.training + tried.steps
        self.search.tell(result.probability)
        return result

    def save(self) -> Saved:
        """What was learnt, edge by edge; the search is run again from it."""
        good = list(self.learnt)
        fields = ("edge", "training_steps", "rollout_steps", "attempts", "successes")
        rows, lengths = joined([self.ends[e].rows for e in good])
        return {
            "counts": np.array([self.step, self.evaluation_steps, self.evaluated], np.int64),
            "results": np.array([[getattr(r, f) for f in fields] for r in self.results], np.int64).reshape(-1, 5),
            "good": np.array(good, np.int64),
            "learnt": np.array([self.learnt[e] for e in good]),
            "rows": rows,
            "cumulative": joined([self.ends[e].cumulative for e in good])[0],
            "lengths": lengths,
        }

    def restore(self, saved: Saved) -> None:
        """Continue after the last edge that `saved` knows."""
        self.step, self.evaluation_steps, self.evaluated = (int(x) for x in saved["counts"])
        self.results = [EdgeResult(*map(int, row)) for row in saved["results"]]
        good = [int(e) for e in saved["good"]]
        self.learnt = dict(zip(good, saved["learnt"], strict=True))
        last = np.cumsum(saved["lengths"])
        parts = [slice(int(b - n), int(b)) for b, n in zip(last, saved["lengths"], strict=True)]
        self.ends = {e: Starts(saved["rows"][p], saved["cumulative"][p]) for e, p in zip(good, parts, strict=True)}
        self.search = Search(self.graph)
        for result in self.results:
            self.search.tell(result.probability)


class DiRL(CompositionalLearner):
    """One seed of DiRL with tabular Q-learning on each edge."""

    config: DiRLConfig

    def __init__(self, task: Task, config: DiRLConfig, seed: int) -> None:
        graph = abstract_graph(task.machine)
        self.tables = TabularEdges(task, graph, config)
        super().__init__(task, config, seed, graph, self.tables)

    def evaluate(self) -> Evaluation:
        """One greedy episode from the start."""
        done = walk(self.policy, self.task, self.seed)
        return Evaluation(self.step, done.length, sum(done.rewards), done.success)

    @property
    def policy(self) -> MachinePolicy:
        """The edges of the way found, one after the other; off that way DiRL has no policy and takes action 0."""
        way = self.search.way()
        index: dict[tuple[int, object], int] = {
            self.graph.vertices[self.graph.edges[e].source]: i for i, e in enumerate(way)
        }
        states = len(self.tables.world.next)
        actions = np.array([self.learnt[e] for e in way], np.int8).reshape(len(way), states)
        return MachinePolicy(actions, index, self.graph.stepper.full, False)


def predicted_steps(graph: AbstractGraph, config: SearchConfig, steps: int) -> int:
    """The most interactions that a run can take: every edge learnt, every rollout in full, within `steps`."""
    if config.edge_steps is None:
        return steps
    return min(steps, len(graph.edges) * (config.edge_steps + config.rollouts * config.edge_limit))
