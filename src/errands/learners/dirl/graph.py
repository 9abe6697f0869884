"""The abstract graph of a machine: what DiRL searches (Section 5: agenda machines as abstract reachability graphs)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from errands.features import TRUE, Boolean, conjunction
from errands.machines.agenda import AgendaRM, unfold_agenda
from errands.machines.graph import Edge, MachineGraph, Node
from errands.machines.numeric import NumericRM
from errands.machines.stepping import Move, State, Stepper, objective_of
from errands.tables import FAILURE, RUNNING, SUCCESS

MOST_VERTICES = 200_000


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
        found: list[list[int]] = [[] for _ in self.vertices]
        for number, edge in enumerate(self.edges):
            found[edge.source].append(number)
        return tuple(map(tuple, found))

    def final(self, vertex: int) -> bool:
        """Whether the task is done in a vertex."""
        return self.stepper.status[self.vertices[vertex][0]] == SUCCESS


def abstract_graph(machine: NumericRM, budget: int = MOST_VERTICES) -> AbstractGraph:
    """The abstract graph of any numeric machine; refused where it would have more vertices than the budget."""
    agenda = unfold_agenda(machine, budget)
    status = agenda.stepper.status
    kept = [i for i, (u, _) in enumerate(agenda.states) if status[u] != FAILURE]
    vertices = tuple(agenda.states[i] for i in kept)
    number = {state: i for i, state in enumerate(vertices)}
    edges = [edge for i, state in enumerate(vertices) for edge in _edges(agenda.stepper, i, state, number)]
    return AbstractGraph(agenda, vertices, tuple(str(agenda.labels[i]) for i in kept), tuple(edges))


def _edges(stepper: Stepper, source: int, state: State, number: dict[State, int]) -> list[AbstractEdge]:
    goals: dict[int, dict[str, None]] = {}
    avoided: dict[str, None] = {}
    for move in stepper.moves(state):
        if stepper.status[move.target[0]] == FAILURE:
            avoided[_wanted(stepper, move) if move.guard == TRUE else str(move.guard)] = None
        elif move.target != state:
            goals.setdefault(number[move.target], {})[_wanted(stepper, move)] = None
    avoid = " | ".join(avoided)
    return [AbstractEdge(source, target, " | ".join(texts), avoid) for target, texts in goals.items()]


def _wanted(stepper: Stepper, move: Move) -> str:
    """What must become true for a move."""
    subtasks = [Boolean(name) for name in stepper.named(move.completed)]
    return objective_of(conjunction([*subtasks, move.guard]))


def picture(graph: AbstractGraph) -> MachineGraph:
    """The graph as boxes and arrows; an arrow pays 1, the reward that the learner of an edge gets at its goal."""
    nodes = tuple(Node(name, SUCCESS if graph.final(i) else RUNNING, i == 0) for i, name in enumerate(graph.names))
    arrows = tuple(Edge(e.source, e.target, str(e), "1") for e in graph.edges)
    return MachineGraph("abstract graph", nodes, arrows)
