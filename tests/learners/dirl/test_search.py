"""The search: it finds the most probable way, asks only for what it needs, and ends when nothing leads on."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from errands.learners.dirl.graph import AbstractGraph, Search, abstract_graph
from errands.tasks import load


def searched(graph: AbstractGraph, probability: Callable[[int], float]) -> tuple[Search, list[int]]:
    search, asked = Search(graph), []
    while search.edge is not None:
        asked.append(search.edge)
        assert search.left >= 1
        search.tell(probability(search.edge))
    return search, asked


def best_product(graph: AbstractGraph, probability: list[float], vertex: int = 0) -> float:
    """By trying every way there is."""
    if graph.final(vertex):
        return 1.0
    ways = (probability[e] * best_product(graph, probability, graph.edges[e].target) for e in graph.leaving[vertex])
    return max(ways, default=0.0)


@pytest.mark.parametrize("task", ["delivery-3", "office-3", "visit-4"])
@pytest.mark.parametrize("seed", range(8))
def test_it_finds_the_most_probable_of_all_ways(task: str, seed: int) -> None:
    graph = abstract_graph(load(task).machine)
    rng = np.random.default_rng(seed)
    probability = [float(p) for p in rng.choice([0.0, 0.3, 0.7, 0.9, 1.0], len(graph.edges))]
    search, asked = searched(graph, probability.__getitem__)
    best = best_product(graph, probability)
    assert len(set(asked)) == len(asked)
    assert (search.goal is not None) == (best > 0)
    if search.goal is not None:
        way = search.way()
        assert math.prod(probability[e] for e in way) == pytest.approx(best)
        assert search.cost[search.goal] == pytest.approx(-math.log(best))
        assert graph.edges[way[0]].source == 0
        assert all(graph.edges[a].target == graph.edges[b].source for a, b in pairwise(way))


def test_sure_edges_leave_no_choice_so_every_edge_is_learnt_and_the_declared_order_wins() -> None:
    graph = abstract_graph(load("office-3").machine)
    search, asked = searched(graph, lambda _: 1.0)
    assert sorted(asked) == list(range(len(graph.edges)))
    assert [graph.edges[e].goal for e in search.way()] == ["coffee", "o1", "coffee", "o2", "coffee", "o3"]


def test_edges_into_vertices_that_were_reached_more_surely_are_never_asked_for() -> None:
    graph = abstract_graph(load("delivery-2").machine)
    unlikely = graph.leaving[0][1]
    search, asked = searched(graph, lambda e: 0.1 if e == unlikely else 1.0)
    assert search.goal is not None
    assert len(asked) == 5
    assert all(graph.edges[e].source != graph.edges[unlikely].target for e in asked)


def test_an_edge_that_never_succeeds_is_gone_around() -> None:
    graph = abstract_graph(load("delivery-2").machine)
    dead = graph.leaving[0][0]
    search, _ = searched(graph, lambda e: 0.0 if e == dead else 1.0)
    assert [graph.edges[e].goal for e in search.way()] == ["b2", "s", "b1", "s"]


def test_when_nothing_leads_on_the_search_ends_with_the_farthest_way() -> None:
    graph = abstract_graph(load("delivery-2").machine)
    search, asked = searched(graph, lambda e: 0.0 if graph.edges[e].source else 0.5)
    assert search.goal is None
    assert [graph.edges[e].goal for e in search.way()] == ["b1"]
    assert len(asked) == 4
    nothing, asked = searched(graph, lambda _: 0.0)
    assert (nothing.way(), len(asked)) == ((), 2)


def test_edges_that_no_way_reaches_any_more_are_not_expected() -> None:
    graph = abstract_graph(load("delivery-2").machine)
    search = Search(graph)
    assert search.left == 7
    search.tell(0.0)
    assert search.left == 4
    search.tell(0.0)
    assert (search.left, search.edge) == (0, None)
