"""Many subtasks: shortest ways within one stage of a task, and a proved lower bound on every order of its items."""

from __future__ import annotations

from typing import Any

import numpy as np

from errands.kernels import jit
from errands.kernels.local_search import neighbours
from errands.learners.scout.kernel.plan import FAR
from errands.tables import Floats, Ints

TREES = 5
"""Lightest trees of all edges at most that a bound is looked for with."""
# Goals of a search that are no cells; cells are numbered from 0.
SUCCEED, NOWHERE = -1, -2
BLOCKED, WON = -1, -2
"""Where an action leads that is untried, fails or ends the episode, and one that succeeds."""


@jit
def stage_search(graph: Ints, enter: Ints, count: int, chooser: int, origin: int, goal: int) -> tuple[Ints, int, Ints]:
    """Breadth-first search over the nodes u * S + s (numeric state, then cell) along usual outcomes, nothing being completed.

    `graph` [U * S, A] is the node that an action leads to, WON or BLOCKED; `enter` [S, A] the item's cell that it enters, of
    `count`, or BLOCKED. Steps to enter each of these in state `chooser`, steps to success, and the actions to the goal: one
    of the items' cells, SUCCEED, or NOWHERE for none.
    """
    nodes, actions = graph.shape
    cells = enter.shape[0]
    distance, arrive = np.full(nodes, FAR, np.int32), np.full(count, FAR, np.int32)
    came, queue = np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    won = FAR
    distance[origin] = 0
    queue[0] = origin
    head, tail = 0, 1
    last = -1
    while head < tail and last < 0:
        n = queue[head]
        head += 1
        s, choosing = n % cells, n // cells == chooser
        for a in range(actions):
            # Arrival is noted, and the search also goes on through the cell as if nothing was completed there: costs
            # between two items do not depend on which others are left.
            there = enter[s, a] if choosing else BLOCKED
            if there >= 0 and arrive[there] == FAR:
                arrive[there] = distance[n] + 1
                if there == goal:
                    last = n * actions + a
                    break
            m = graph[n, a]
            if m == WON and won == FAR:
                won = distance[n] + 1
                if goal == SUCCEED:
                    last = n * actions + a
                    break
            if m >= 0 and distance[m] == FAR:
                distance[m], came[m] = distance[n] + 1, n * actions + a
                queue[tail] = m
                tail += 1
    if last < 0:
        return arrive, won, np.empty(0, np.int32)
    way = np.empty(distance[last // actions] + 1, np.int32)
    for i in range(way.shape[0] - 1, -1, -1):
        way[i] = last % actions
        last = came[last // actions]
    return arrive, won, way


@jit
def lightest(first: Floats, between: Floats, price: Floats, parent: Ints) -> float:
    """The weight of the lightest tree on the root 0 and the items 1..n under these prices; what each is joined to in it."""
    n = first.shape[0]
    # Prim's algorithm, O(n^2). A tree has no directions; the cheaper one of each pair keeps the bound a lower one.
    reach, joined = first + price[1:], np.zeros(n, np.bool_)
    parent[:] = 0
    total = 0.0
    for _ in range(n):
        i = -1
        for j in range(n):
            if not joined[j] and (i < 0 or reach[j] < reach[i]):
                i = j
        joined[i] = True
        total += reach[i]
        for j in range(n):
            if not joined[j]:
                cost = min(between[i, j], between[j, i]) + price[i + 1] + price[j + 1]
                if cost < reach[j]:
                    reach[j], parent[j + 1] = cost, i + 1
    return total


@jit
def lightest_of(ends: Ints, cost: Floats, order: Any, leader: Ints, degree: Ints) -> float:
    """The weight of the lightest tree of these edges [2, E], `order` being that of their costs; `degree` receives its degrees."""
    # Kruskal's algorithm.
    for i in range(len(leader)):
        leader[i], degree[i] = i, 0
    total, left = 0.0, len(leader) - 1
    for e in order:
        i, j = ends[0, e], ends[1, e]
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        while leader[j] != j:
            leader[j] = leader[leader[j]]
            j = leader[j]
        if i != j:
            leader[i] = j
            total += cost[e]
            degree[ends[0, e]] += 1
            degree[ends[1, e]] += 1
            left -= 1
            if left == 0:
                break
    return total


def tree_bound(first: Floats, between: Floats, last: Floats, upper: float, rounds: int) -> float:
    """A lower bound on first[a] + between[a, b] + ... + last[z] over all orders, no better than `upper`.

    Why it is one, for any prices p (Held and Karp): let an edge (i, j) cost weight[i, j] + p[i] + p[j] and the edge from
    the start first[i] + p[i]. An order is a tree of n edges from the start through all items; along it every item has
    two edges and so pays its price twice, except the last one z, which pays it once. Hence, with T the lightest tree,

        T <= first[a] + between[a, b] + ... + 2 sum(p) - p[z]
        order's cost = first[a] + between[a, b] + ... + last[z] >= T - 2 sum(p) + p[z] + last[z]
                                                                >= T - 2 sum(p) + min over i of (p[i] + last[i]).

    Prices that raise it: dearer where the tree has more than two edges at an item, cheaper where it has one (a
    subgradient step, its scale halved when five rounds bring nothing). Any prices give a bound, so rounding cannot hurt,
    and they may be looked for among few edges: to near items, and those of the lightest trees of all edges met so far.
    """
    n = len(first)
    items, near = np.arange(1, n + 1), neighbours(between) + 1
    leader, degree, parent = (np.zeros(n + 1, np.int32) for _ in range(3))

    def cost_of(i: Any, j: Any) -> Floats:
        return np.where(i == 0, first[j - 1], np.minimum(between[i - 1, j - 1], between[j - 1, i - 1]))

    def numbered(i: Any, j: Any) -> Any:
        return (np.minimum(i, j) * (n + 1) + np.maximum(i, j)).ravel()

    edges = np.concatenate((items, numbered(items[:, None], near)))
    # Only a good start: half of the cheapest edge at each item. All prices give a bound.
    least = np.minimum(first, cost_of(items[:, None], near).min(axis=1, initial=np.inf))
    price = np.concatenate(([0.0], -0.5 * least))
    best, hoped = 0.0, np.inf
    for _ in range(TREES):
        bound = lightest(first, between, price, parent) - 2.0 * price.sum() + (price[1:] + last).min()
        best = max(best, float(bound))
        # As good as among the few edges, or equal to the length of a known way: it cannot be raised any more.
        if bound >= hoped - 1e-6 or best >= upper - 1e-6:
            break
        edges = np.unique(np.concatenate((edges, numbered(items, parent[1:]))))
        ends = np.array(np.divmod(edges, n + 1), np.int32)
        cost, hoped, scale, stale, now = cost_of(*ends), 0.0, 1.0, 0, price.copy()
        for _ in range(rounds):
            paid = cost + now[ends[0]] + now[ends[1]]
            # A stable sort, so that ties fall alike everywhere.
            tree = lightest_of(ends, paid, np.argsort(paid, kind="stable"), leader, degree)
            bound = tree - 2.0 * now.sum() + (now[1:] + last).min()
            # The bound may fall from round to round; the best one so far is as valid as the last.
            if bound > hoped + 1e-6:
                hoped, stale, price = bound, 0, now.copy()
            else:
                stale += 1
                if stale == 5:
                    scale, stale = scale / 2.0, 0
            excess = degree[1:] - 2.0
            if not excess.any() or hoped >= upper - 1e-6:
                break
            # Polyak's step: as long as would close the gap to `upper` if the bound grew steadily.
            now[1:] += scale * (upper - bound) / (excess**2).sum() * excess
    return min(best, upper)
