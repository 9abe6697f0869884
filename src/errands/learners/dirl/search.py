"""Dijkstra's search for the most probable way, over edges whose probabilities are learnt when they are needed."""

from __future__ import annotations

import heapq
import math

from errands.learners.dirl.graph import AbstractGraph


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
        self._queue: list[tuple[float, int, int]] = [(0.0, 0, -1)]
        self._pending: list[int] = []
        self._queued = {0}
        self._ways_in = [0] * len(graph.vertices)
        for edge in graph.edges:
            self._ways_in[edge.target] += 1
        self._explore()

    @property
    def pending(self) -> tuple[int, ...]:
        """The edges to be learnt out of the vertex that is being explored, in order."""
        return tuple(self._pending)

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
            if vertex in self.cost:
                continue
            self.cost[vertex], self.arrival[vertex] = cost, arrival
            if self.graph.final(vertex):
                self.goal = vertex
                return
            leaving = self.graph.leaving[vertex]
            self._pending = [e for e in leaving if self.graph.edges[e].target not in self.cost]
            self.left -= len(leaving) - len(self._pending)

    def _lose(self, vertex: int) -> None:
        """One way into a vertex is gone; when it was the last, the edges out of the vertex are gone too."""
        lost = [vertex]
        while lost:
            vertex = lost.pop()
            self._ways_in[vertex] -= 1
            if self._ways_in[vertex] == 0 and vertex not in self._queued:
                self.left -= len(self.graph.leaving[vertex])
                lost.extend(self.graph.edges[e].target for e in self.graph.leaving[vertex])

    def way(self) -> tuple[int, ...]:
        """The edges from the start to the goal; without one, to the vertex most edges away, the likeliest of those."""
        if self.goal is not None:
            return self._back(self.goal)
        return max((self._back(v) for v in self.cost), key=lambda w: (len(w), -self._cost_of(w)))

    def _cost_of(self, way: tuple[int, ...]) -> float:
        return self.cost[self.graph.edges[way[-1]].target] if way else 0.0

    def _back(self, vertex: int) -> tuple[int, ...]:
        way: list[int] = []
        while self.arrival[vertex] >= 0:
            way.append(self.arrival[vertex])
            vertex = self.graph.edges[way[-1]].source
        return tuple(reversed(way))
