"""DiRL: Dijkstra's search over an abstract graph, each edge learnt once, on its own, when the search needs it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError, TaskError
from errands.kernels.q_learning import FIELDS, Rates, qrm_loop
from errands.kernels.stepping import ACTION
from errands.learners.base import (
    MAX_COUNT,
    Form,
    Learner,
    Saved,
    SavedArray,
    State,
    StateArray,
    checked,
    kept,
    require,
    stacked,
)
from errands.learners.dirl.graph import AbstractEdge, AbstractGraph, Search, abstract_graph
from errands.learners.dirl.kernel import MISSED, attempt_edge
from errands.learners.dirl.settings import DiRLConfig, SearchConfig
from errands.learners.schedule import Schedule
from errands.oracle.episode import play
from errands.policies.tables import MachinePolicy, MachineStates
from errands.tables import (
    FAILURE,
    RUNNING,
    SUCCESS,
    Evaluation,
    Floats,
    Ints,
    MachineTable,
    RandomGenerator,
    WorldTable,
)
from errands.tasks.task import Task

Rows = NDArray[Any]
"""World states, one a row: numbers of a finite world, or all that a continuous world's future depends on."""
Learnt = NDArray[Any]
"""What an edge learner remembers of its policy: an action per world state, or the weights of a network."""


class Starts(NamedTuple):
    """The world states in which attempts at an edge begin, and their cumulative probabilities.

    Where there are none, attempts begin as episodes of the world do.
    """

    rows: Rows
    cumulative: Floats

    def drawn(self, rng: np.random.Generator) -> Any:
        """One of them; None where there are none."""
        if not len(self.rows):
            return None
        place = int(np.searchsorted(self.cumulative, rng.random(), side="right"))
        return self.rows[min(place, len(self.rows) - 1)]


class Attempts(NamedTuple):
    """What attempts at an edge came to: how many were made in how many steps, and where the successful ones ended."""

    number: int
    steps: int
    ends: Rows


class EdgeJob(NamedTuple):
    """An edge to be learnt from nothing: where attempts begin, and how much may be spent."""

    number: int
    edge: AbstractEdge
    starts: Starts
    training: int
    """Steps of training, exactly."""
    rollouts: int
    """Greedy attempts afterwards, at most."""
    most: int
    """Steps that these may take together; one that this cuts short was not made."""
    seed: int

    def rng(self) -> np.random.Generator:
        """All random numbers of the edge come from here."""
        return RandomGenerator(self.seed, self.number)


class Done(NamedTuple):
    """What became of a job."""

    learnt: Learnt
    attempts: Attempts


class EdgeLearner(ABC):
    """Learns edges one by one, each from nothing."""

    def starts(self) -> Starts:
        """The first starts of all: where there are no rows, attempts begin as episodes of the task do."""
        return Starts(np.zeros((0, 0)), np.zeros(0))

    @abstractmethod
    def form(self) -> Form:
        """What `learnt` ("good" rows) and `rows` ("rows" rows) are when saved."""

    def check(self, rows: Rows) -> None:  # noqa: B027 (numbers of states in tables, and on the device, are looked at by form)
        """Raise anything about rows that have the form but are no states of this world."""

    @abstractmethod
    def solve(self, job: EdgeJob) -> Done:
        """Train with a reward at the goal, ending up elsewhere being the end of an attempt, then try the policy out."""


@dataclass(frozen=True)
class EdgeResult:
    """What was spent on an edge and how often it succeeded."""

    edge: int
    training_steps: int
    rollout_steps: int
    attempts: int
    successes: int

    @property
    def probability(self) -> float:
        """The estimated probability of success; 0 where no attempt was made."""
        return self.successes / self.attempts if self.attempts else 0.0


def gathered(ends: Rows) -> Starts:
    """The states in which attempts ended as starts of the next ones, each as likely as it was frequent."""
    rows, counts = np.unique(ends, axis=0, return_counts=True)
    cumulative = np.cumsum(counts) / counts.sum()
    # Rounding must leave no gap above the last one.
    cumulative[-1] = 1.0
    return Starts(rows, cumulative)


def joined(groups: Sequence[Rows], form: SavedArray) -> Rows:
    """Groups of rows end to end; rows of text are filled with blanks."""
    if not groups:
        return np.zeros([0 if isinstance(n, str) else n for n in form.shape], form.dtype)
    return stacked(groups) if form.dtype == "uint8" else np.concatenate(groups)


def action_type(actions: int) -> str:
    """The smallest type that holds the number of every action."""
    return "int8" if actions <= 128 else "int32"


AWAY, THERE, ELSEWHERE = range(3)
"""The machine of an edge: on the way, at its goal, anywhere else."""


def fates(reached: Ints, source: int, target: int, final: bool) -> Ints:
    """[2 labels] where each label leads an attempt; the second half is for steps with which the world itself ends."""
    fate = np.where(reached == target, THERE, np.where(reached == source, AWAY, ELSEWHERE))
    # Where the world ends with the step, only the end of the whole task is a success: nothing could follow.
    ended = np.where((fate == THERE) & final, THERE, ELSEWHERE)
    return np.concatenate([fate, ended]).astype(np.int32)


class TabularEdges(EdgeLearner):
    """Edge learners of a finite world; a world state is its number, a learnt policy an action per world state."""

    def __init__(self, task: Task, graph: AbstractGraph, config: DiRLConfig) -> None:
        finite = task.finite
        if finite is None:
            raise TaskError(
                f"dirl starts attempts where earlier ones ended, for which the world of '{task.name}' has no table: its moves are "
                "random, or no state function tells its states apart; use learner 'qrm', 'hrm' or 'qcorm-plus'"
            )
        self.graph, self.config = graph, config
        self.labels, self.states, self.actions = finite.labels, finite.states, finite.actions
        table = finite.table
        # A step with which the world itself ends the episode gets a label of its own, so that machines can tell.
        self.world = table._replace(label=table.label + len(self.labels) * table.ends.astype(np.int32))
        self._reached: tuple[int, Ints] | None = None

    def starts(self) -> Starts:
        """Where episodes of the task start."""
        return Starts(self.world.starts, self.world.start_cumulative)

    def form(self) -> Form:
        """What is saved of edges."""
        about, ended = "the action of each edge in each world state", "the world states in which attempts ended, end to end"
        return {
            "learnt": SavedArray(action_type(self.actions), ("good", self.states), about, into=self.actions),
            "rows": SavedArray("int32", ("rows",), ended, into=self.states),
        }

    def solve(self, job: EdgeJob) -> Done:
        """Q-learning, then greedy attempts."""
        rng = job.rng()
        learnt = self.learn(job.edge, job.starts, job.training, rng)
        return Done(learnt, self.attempt(job.edge, learnt, job.starts, job.rollouts, job.most, rng))

    def learn(self, edge: AbstractEdge, starts: Starts, steps: int, rng: np.random.Generator) -> Learnt:
        """The greedy policy after exactly `steps` steps of Q-learning from nothing."""
        world, machine, config = self._from(starts), self.machine(edge), self.config
        states, actions, _ = world.next.shape
        q = np.full((states, actions, 1), config.q_init)
        position = np.zeros(FIELDS, np.int64)
        position[ACTION] = -1
        rates = Rates(config.alpha, config.gamma, Schedule.of(config.epsilon).line, config.edge_limit)
        for count in (0, steps):  # the first begins an episode
            qrm_loop(world, machine, q, position, rates, 0, count, rng)
        learnt: Learnt = q[:, :, 0].argmax(axis=1).astype(action_type(actions))
        return learnt

    def attempt(
        self, edge: AbstractEdge, learnt: Learnt, starts: Starts, count: int, most: int, rng: np.random.Generator
    ) -> Attempts:
        """Greedy attempts at the edge."""
        # One place an attempt; failed ones keep MISSED and are left out below.
        ends = np.full(count, MISSED, np.int32)
        limit = self.config.edge_limit
        count, steps = attempt_edge(self._from(starts), self.machine(edge), learnt, limit, most, ends, rng)
        return Attempts(int(count), int(steps), ends[:count][ends[:count] != MISSED])

    def _from(self, starts: Starts) -> WorldTable:
        return self.world._replace(starts=starts.rows, start_cumulative=starts.cumulative)

    def machine(self, edge: AbstractEdge) -> MachineTable:
        """The machine of an edge over the world's labels and again over the same with which the world ends."""
        # [3, 2 labels]: goal and elsewhere are never left.
        following = np.array([fates(self._targets(edge.source), edge.source, edge.target, self.graph.final(edge.target))] * 3)
        following[THERE:] = np.array([[THERE], [ELSEWHERE]])
        reward = np.zeros(following.shape)
        reward[AWAY] = following[AWAY] == THERE
        status = np.array([RUNNING, SUCCESS, FAILURE], np.int8)
        return MachineTable(AWAY, following, reward, np.full(following.shape, -1, np.int32), status)

    def _targets(self, source: int) -> Ints:
        """The vertex to which each label leads from a vertex, -1 for a failure; the last answer is remembered."""
        if self._reached is None or self._reached[0] != source:
            stepper, state = self.graph.stepper, self.graph.vertices[source]
            vertices = [self.graph.number.get(stepper.step(state, label).state, -1) for label in self.labels]
            self._reached = source, np.array(vertices, np.int32)
        return self._reached[1]


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
        # Every edge learnt, every rollout in full, within `steps`.
        config, edges = self.config, len(self.graph.edges)
        return steps if config.edge_steps is None else min(steps, edges * (config.edge_steps + config.rollouts * config.edge_limit))

    def stages(self, steps: int) -> Iterator[Evaluation | None]:
        """One complete run within `steps` interactions; only its end is evaluated, since half a way leads nowhere."""
        # The stopwatch runs only while an edge is learnt, not while the caller looks at a stage.
        work, more = self.explore(steps), True
        while more:
            began = self.stopwatch.start(self.step)
            more = next(work, False) is not False
            self.stopwatch.stop(self.step, began)
            if more:
                yield None
        if self.evaluated != self.step:
            self.evaluated = self.step
            evaluation = self.measure()
            self.evaluation_steps += evaluation.steps_taken
            yield evaluation

    def train(self, steps: int) -> Iterator[Evaluation]:
        """The evaluation at the end of a complete run."""
        return (evaluation for evaluation in self.stages(steps) if evaluation is not None)

    def evaluate(self) -> Evaluation:
        """One greedy episode from the start."""
        length, total, success = play(self.policy, self.task, self.seed)
        return Evaluation(self.step, length, round(total, 6), success)

    def advance(self, count: int) -> None:
        """Take at most `count` interactions: fewer when the search ends before."""
        for _ in self.explore(self.step + count):
            pass

    def explore(self, steps: int) -> Iterator[EdgeResult]:
        """Learn edge after edge until the search ends or `steps` interactions were taken; save between any two."""
        while (job := self.job(steps)) is not None:
            yield self.settle(job, self.edges.solve(job))

    def job(self, steps: int) -> EdgeJob | None:
        """The edge to be learnt next, and what may be spent on it; None when the run is at its end."""
        config, left, number = self.config, steps - self.step, self.search.edge
        if left <= 0 or number is None:
            return None
        if config.edge_steps is None:
            # An equal share of what is left now: what edges before did not use goes to those to come.
            share = left // self.search.left
            training, most = int(share * config.training_share), share - int(share * config.training_share)
        else:
            # The last edge gets what remains, training first.
            training = min(config.edge_steps, left)
            most = min(config.rollouts * config.edge_limit, left - training)
        edge = self.graph.edges[number]
        arrival = self.search.arrival[edge.source]
        # Attempts begin where the edge before has succeeded: DiRL needs a world that can be put into a state.
        starts = self.edges.starts() if arrival < 0 else self.ends[arrival]
        return EdgeJob(number, edge, starts, training, config.rollouts, most, self.seed)

    def settle(self, job: EdgeJob, done: Done) -> EdgeResult:
        """Take note of an edge that was learnt; edges are settled in the order in which the search asks for them."""
        tried = done.attempts
        # An edge that never succeeded is on no way; nothing of it is kept but what it cost.
        if len(tried.ends):
            self.learnt[job.number], self.ends[job.number] = done.learnt, gathered(tried.ends)
        result = EdgeResult(job.number, job.training, tried.steps, tried.number, len(tried.ends))
        self.results.append(result)
        self.step += job.training + tried.steps
        self.search.tell(result.probability)
        return result

    def everything(self) -> State:
        """What was learnt, edge by edge; the search is run again from it."""
        good, form = list(self.learnt), self.edges.form()
        counts = np.array([self.step, self.evaluation_steps, self.evaluated], np.int64)
        fields = ("edge", "training_steps", "rollout_steps", "attempts", "successes")
        results = np.array([[getattr(r, f) for f in fields] for r in self.results], np.int64).reshape(-1, 5)
        most = np.array([len(self.graph.edges) - 1, *[MAX_COUNT] * 4])
        # Starts of all good edges end to end; `lengths` cuts them apart again.
        rows = joined([self.ends[e].rows for e in good], form["rows"])
        cumulative = np.concatenate([np.zeros(0), *(self.ends[e].cumulative for e in good)])
        lengths = np.array([len(self.ends[e].rows) for e in good], np.int64)
        return {
            "counts": kept(counts, "steps, steps in evaluations, last evaluation", np.array([0, 0, -1]), MAX_COUNT),
            "results": kept(results, "edge, training, rollout steps, attempts, successes", 0, most, None, "results", 5),
            "good": kept(
                np.array(good, np.int64), "the edges that succeeded at least once", None, None, len(self.graph.edges), "good"
            ),
            "learnt": StateArray(joined([self.learnt[e][None] for e in good], form["learnt"]), form["learnt"]),
            "rows": StateArray(rows, form["rows"]),
            "cumulative": kept(cumulative, "how likely attempts begin in each, summed up edge by edge", 0, 1, None, "rows"),
            "lengths": kept(lengths, "how many rows belong to each edge", 1, MAX_COUNT, None, "good"),
        }

    def restore(self, saved: Saved) -> None:
        """Continue after the last edge that `saved` knows; a StoreError where it has another form or contradicts itself."""
        checked(saved, self.form())
        results = [EdgeResult(*map(int, row)) for row in saved["results"]]
        good, lengths = [int(e) for e in saved["good"]], saved["lengths"]
        # The search is not saved but run again: told the same probabilities, it asks for the same edges.
        search = Search(self.graph)
        for result in results:
            require(search.edge == result.edge, "'results' has edges that the search did not ask for")
            require(result.successes <= result.attempts, "'results' has more successes than attempts")
            search.tell(result.probability)
        require(good == [r.edge for r in results if r.successes], "'good' has other edges than those that succeeded")
        require(lengths.max(initial=0) <= len(saved["rows"]) == lengths.sum(), "'lengths' does not sum to the rows")
        spent = sum(r.training_steps + r.rollout_steps for r in results)
        require(spent == saved["counts"][0], "'counts' has other steps than 'results'")
        try:
            self.edges.check(saved["rows"])
        except Exception as fault:  # noqa: BLE001 (an environment may raise anything about a state that is not its own)
            raise StoreError(f"the saved array 'rows' holds no states of this world ({type(fault).__name__})") from None
        # Only here, after all checks, the learner itself is changed.
        self.step, self.evaluation_steps, self.evaluated = (int(x) for x in saved["counts"])
        self.results, self.search = results, search
        self.learnt = dict(zip(good, saved["learnt"], strict=True))
        parts = [slice(int(b - n), int(b)) for b, n in zip(np.cumsum(lengths), lengths, strict=True)]
        self.ends = {e: Starts(saved["rows"][p], saved["cumulative"][p]) for e, p in zip(good, parts, strict=True)}


class DiRL(CompositionalLearner):
    """One seed of DiRL with tabular Q-learning on each edge."""

    config: DiRLConfig

    def __init__(self, task: Task, config: DiRLConfig, seed: int) -> None:
        graph = abstract_graph(task.machine)
        self.tabular = TabularEdges(task, graph, config)
        super().__init__(task, config, seed, graph, self.tabular)

    @property
    def policy(self) -> MachinePolicy:
        """The edges of the way found, one after the other; off that way DiRL has no policy and takes action 0."""
        way = self.search.way()
        index: dict[tuple[int, object], int] = {
            self.graph.vertices[self.graph.edges[e].source]: i for i, e in enumerate(way)
        }
        actions = np.array([self.learnt[e] for e in way], action_type(self.tabular.actions))
        actions = actions.reshape(len(way), self.tabular.states)
        return MachinePolicy(actions, MachineStates(index, self.graph.stepper.full, False))
