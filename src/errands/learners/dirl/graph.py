"""What DiRL searches and how: the abstract graph of a machine (Section 5), and Dijkstra over edges learnt when they are needed."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from errands.features import TRUE, conjunction, literal
from errands.machines.graph import Edge, MachineGraph, Node
from errands.machines.numeric import NumericRM
from errands.machines.stepping import Move, State, Stepper, objective_of
from errands.machines.unfolding import AgendaRM, unfold_agenda
from errands.tables import FAILURE, RUNNING, SUCCESS

MAX_VERTICES = 200_000


@dataclass(frozen=True)
class AbstractEdge:
    """From a vertex to another: what must become true, and what must not meanwhile."""

    source: int
    target: int
    goal: str
    avoid: str
    """The features that fail the task on the way; empty where none does."""

    def __str__(self) -> str:
        return f"{self.goal} avoiding {self.avoid}" if self.avoid else self.goal


@dataclass(frozen=True)
class AbstractGraph:
    """The agenda machine without its failures: a vertex per state, an edge per pair of states that a step joins."""

    agenda: AgendaRM = field(repr=False)
    vertices: tuple[State, ...]
    """The states that are no failure, breadth first; the initial one is vertex 0."""
    names: tuple[str, ...]
    edges: tuple[AbstractEdge, ...]
    """By source, in the order in which the machine declares its subtasks."""

    @property
    def stepper(self) -> Stepper:
        """The machine in stepping form."""
        return self.agenda.stepper

    @cached_property
    def number(self) -> Mapping[State, int]:
        """The vertex of each agenda state that is no failure."""
        return {state: i for i, state in enumerate(self.vertices)}

    @cached_property
    def leaving(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the edges out of each vertex."""
        by_source: list[list[int]] = [[] for _ in self.vertices]
        for number, edge in enumerate(self.edges):
            by_source[edge.source].append(number)
        return tuple(map(tuple, by_source))

    def final(self, vertex: int) -> bool:
        """Whether the task is done in a vertex."""
        return self.stepper.status[self.vertices[vertex][0]] == SUCCESS


def abstract_graph(machine: NumericRM, budget: int = MAX_VERTICES) -> AbstractGraph:
    """The abstract graph of any numeric machine; refused where it would have more vertices than the budget."""
    agenda = unfold_agenda(machine, budget)
    status = agenda.stepper.status
    alive = [i for i, (u, _) in enumerate(agenda.states) if status[u] != FAILURE]
    vertices = tuple(agenda.states[i] for i in alive)
    number = {state: i for i, state in enumerate(vertices)}
    edges = [edge for i, state in enumerate(vertices) for edge in _edges(agenda.stepper, i, state, number)]
    return AbstractGraph(agenda, vertices, tuple(str(agenda.labels[i]) for i in alive), tuple(edges))


def _edges(stepper: Stepper, source: int, state: State, number: dict[State, int]) -> list[AbstractEdge]:
    # Dictionaries as sets that keep their order, which is that of the machine's subtasks.
    goals: dict[int, dict[str, None]] = {}
    avoided: dict[str, None] = {}
    for move in stepper.moves(state):
        if stepper.status[move.target[0]] == FAILURE:
            # A guard that is always true says nothing; then it is the completed subtask that fails the task.
            avoided[_wanted(stepper, move) if move.guard == TRUE else str(move.guard)] = None
        elif move.target != state:
            goals.setdefault(number[move.target], {})[_wanted(stepper, move)] = None
    avoid = " | ".join(avoided)
    return [AbstractEdge(source, target, " | ".join(texts), avoid) for target, texts in goals.items()]


def _wanted(stepper: Stepper, move: Move) -> str:
    """What must become true for a move."""
    subtasks = map(literal, stepper.named(move.completed))
    return objective_of(conjunction([*subtasks, move.guard]))


def picture(graph: AbstractGraph) -> MachineGraph:
    """The graph as boxes and arrows; an arrow pays 1, the reward that the learner of an edge gets at its goal."""
    nodes = tuple(Node(name, SUCCESS if graph.final(i) else RUNNING, i == 0) for i, name in enumerate(graph.names))
    arrows = tuple(Edge(e.source, e.target, str(e), "1") for e in graph.edges)
    return MachineGraph("abstract graph", nodes, arrows)


class Search:
    """Asks for one edge at a time (`edge`) and is told its probability; equal costs are settled by vertex number."""

    def __init__(self, graph: AbstractGraph) -> None:
        self.graph = graph
        self.cost: dict[int, float] = {}
        """-log of the probability of reaching each explored vertex."""
        self.arrival: dict[int, int] = {}
        """The edge by which each explored vertex is best reached; -1 for the initial one."""
        self.left = len(graph.edges)
        """Edges that may still have to be learnt: not yet tried, and out of a vertex to which a way may still lead."""
        self.goal: int | None = None
        """The final vertex that was reached, once one was."""
        # A heap of (cost, vertex, edge of arrival). Costs are -log of probabilities: never negative, as Dijkstra needs.
        self._queue: list[tuple[float, int, int]] = [(0.0, 0, -1)]
        self._pending: list[int] = []
        # Vertices that an edge has reached, which are never lost; for each vertex the edges into it that have not failed.
        self._queued = {0}
        self._ways_in = [0] * len(graph.vertices)
        for edge in graph.edges:
            self._ways_in[edge.target] += 1
        self._explore()

    @property
    def edge(self) -> int | None:
        """The edge to be learnt next; None when the search has ended, with a goal or without."""
        return self._pending[0] if self._pending else None

    def tell(self, probability: float) -> None:
        """The probability that the edge asked for succeeds; 0 where it never did."""
        number = self._pending.pop(0)
        edge = self.graph.edges[number]
        self.left -= 1
        if probability > 0.0:
            # The sum of -log is -log of the product: the cheapest way is the likeliest. Length plays no part.
            cost = self.cost[edge.source] - math.log(probability)
            heapq.heappush(self._queue, (cost, edge.target, number))
            self._queued.add(edge.target)
        else:
            self._lose(edge.target)
        if not self._pending:
            self._explore()

    def _explore(self) -> None:
        """Take vertices from the queue until one has edges to learn, or the task is done in it."""
        while self._queue and not self._pending and self.goal is None:
            cost, vertex, arrival = heapq.heappop(self._queue)
            # A dearer entry for a vertex that was explored by a cheaper one.
            if vertex in self.cost:
                continue
            self.cost[vertex], self.arrival[vertex] = cost, arrival
            if self.graph.final(vertex):
                self.goal = vertex
                return
            leaving = self.graph.leaving[vertex]
            # Explored vertices have their final cost: edges into them are never learnt, and no budget is kept for them.
            self._pending = [e for e in leaving if self.graph.edges[e].target not in self.cost]
            self.left -= len(leaving) - len(self._pending)

    def _lose(self, vertex: int) -> None:
        """One way into a vertex is gone; when it was the last, the edges out of the vertex are gone too."""
        lost = [vertex]
        while lost:
            vertex = lost.pop()
            self._ways_in[vertex] -= 1
            # Vertices out of reach free the shares of their edges, in turn; budgets are shared among `left` edges.
            if self._ways_in[vertex] == 0 and vertex not in self._queued:
                self.left -= len(self.graph.leaving[vertex])
                lost.extend(self.graph.edges[e].target for e in self.graph.leaving[vertex])

    def way(self) -> tuple[int, ...]:
        """The edges from the start to the goal; without one, to the vertex most edges away, the likeliest of those."""
        if self.goal is not None:
            return self._back(self.goal)
        # A failure is an answer too: the policy then does what it can.
        return max((self._back(v) for v in self.cost), key=lambda w: (len(w), -self._cost_of(w)))

    def _cost_of(self, way: tuple[int, ...]) -> float:
        return self.cost[self.graph.edges[way[-1]].target] if way else 0.0

    def _back(self, vertex: int) -> tuple[int, ...]:
        way: list[int] = []
        while self.arrival[vertex] >= 0:
            way.append(self.arrival[vertex])
            vertex = self.graph.edges[way[-1]].source
        return tuple(reversed(way))
