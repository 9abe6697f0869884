"""Many subtasks: shortest ways within one stage of a task, and a proved lower bound on every order of its items."""

from __future__ import annotations

import numpy as np

from errands.kernels import jit
from errands.learners.scout.kernel.memory import Known, ScoutMachine
from errands.learners.scout.kernel.plan import FAR
from errands.tables import FAILURE, SUCCESS, Flags, Floats, Ints

# Goals of a search that are no cells; cells are numbered from 0.
SUCCEED = -1
NOWHERE = -2


@jit
def stage_search(
    known: Known, machine: ScoutMachine, entry: Ints, chooser: int, stops: Flags, u: int, s: int, goal: int
) -> tuple[Ints, int, Ints]:
    """Breadth-first search over (numeric state, cell) along usual outcomes, u reading entry[u] all the while.

    [S] steps to enter each cell of `stops` in state `chooser`, steps to success, and the actions to the goal: a cell
    of `stops`, SUCCEED, or NOWHERE for none.
    """
    cells, actions = known.tried.shape
    # A node is u * S + s: numeric state, then cell.
    count = machine.status.shape[0] * cells
    distance = np.full(count, FAR, np.int32)
    parent, via, queue = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    arrive = np.full(cells, FAR, np.int32)
    won = FAR
    origin = u * cells + s
    distance[origin] = 0
    queue[0] = origin
    head, tail = 0, 1
    node, step = -1, -1
    while head < tail and node < 0:
        n = queue[head]
        head += 1
        u, s = n // cells, n % cells
        for a in range(actions):
            if known.tried[s, a] == 0:
                continue
            o = known.mode[s, a]
            there = known.target[s, a, o]
            # Arrival is noted, and the search also goes on through the cell as if nothing was completed there: costs
            # between two items do not depend on which others are left.
            if u == chooser and stops[there] and arrive[there] == FAR:
                arrive[there] = distance[n] + 1
                if there == goal:
                    node, step = n, a
                    break
            t = machine.next[known.label[s, a, o], entry[u]]
            if machine.status[t] == SUCCESS and won == FAR:
                won = distance[n] + 1
                if goal == SUCCEED:
                    node, step = n, a
                    break
            if machine.status[t] == FAILURE or machine.status[t] == SUCCESS or known.ends[s, a, o]:
                continue
            m = t * cells + there
            if distance[m] == FAR:
                distance[m], parent[m], via[m] = distance[n] + 1, n, a
                queue[tail] = m
                tail += 1
    if node < 0:
        return arrive, won, np.empty(0, np.int32)
    way = np.empty(distance[node] + 1, np.int32)
    # The step that reaches the goal has no node of its own; a node at distance d is entered by action d - 1.
    way[-1] = step
    while node != origin:
        way[distance[node] - 1] = via[node]
        node = parent[node]
    return arrive, won, way


@jit
def lightest(first: Floats, weight: Floats, price: Floats, degree: Ints) -> float:
    """The weight of the lightest tree on the root and all items under these prices; `degree` receives its degrees."""
    n = first.shape[0]
    # Prim's algorithm, O(n^2). near[j] is -1 while the root is nearest to j; the root has no price.
    reach, near, joined = first + price, np.full(n, -1, np.int32), np.zeros(n, np.bool_)
    degree[:] = 0
    total = 0.0
    for _ in range(n):
        i = -1
        for j in range(n):
            if not joined[j] and (i < 0 or reach[j] < reach[i]):
                i = j
        joined[i] = True
        total += reach[i]
        degree[i] += 1
        if near[i] >= 0:
            degree[near[i]] += 1
        for j in range(n):
            cost = weight[i, j] + price[i] + price[j]
            if not joined[j] and cost < reach[j]:
                reach[j], near[j] = cost, i
    return total


@jit
def tree_bound(first: Floats, between: Floats, last: Floats, upper: float, rounds: int) -> float:
    """A lower bound on first[a] + between[a, b] + ... + last[z] over all orders, no better than `upper`.

    Why it is one, for any prices p (Held and Karp): let an edge (i, j) cost weight[i, j] + p[i] + p[j] and the edge from
    the start first[i] + p[i]. An order is a tree of n edges from the start through all items; along it every item has
    two edges and so pays its price twice, except the last one z, which pays it once. Hence, with T the lightest tree,

        T <= first[a] + between[a, b] + ... + 2 sum(p) - p[z]
        order's cost = first[a] + between[a, b] + ... + last[z] >= T - 2 sum(p) + p[z] + last[z]
                                                                >= T - 2 sum(p) + min over i of (p[i] + last[i]).

    Prices that raise it: dearer where the tree has more than two edges at an item, cheaper where it has one (a
    subgradient step, its scale halved when five rounds bring nothing). Any prices give a bound, so rounding cannot hurt.
    """
    n = first.shape[0]
    # A tree has no directions; the cheaper one of each pair keeps the bound a lower one.
    weight = np.minimum(between, between.T)
    price, degree = np.zeros(n), np.zeros(n, np.int32)
    for i in range(n):
        least = first[i]
        for j in range(n):
            least = min(least, weight[i, j]) if i != j else least
        # Only a good start: half of the cheapest edge at each item. All prices give a bound.
        price[i] = -0.5 * least
    best, scale, stale = 0.0, 1.0, 0
    for _ in range(rounds):
        bound = lightest(first, weight, price, degree) - 2.0 * price.sum() + (price + last).min()
        # The bound may fall from round to round; the best one so far is as valid as the last.
        if bound > best + 1e-6:
            best, stale = bound, 0
        else:
            stale += 1
            if stale == 5:
                scale, stale = scale / 2.0, 0
        norm = 0.0
        for i in range(n):
            norm += (degree[i] - 2) ** 2
        # A bound that has met the length of a known way cannot be raised any more.
        if norm == 0.0 or best >= upper - 1e-6:
            break
        # Polyak's step: as long as would close the gap to `upper` if the bound grew steadily.
        price += scale * (upper - bound) / norm * (degree - 2)
    return min(best, upper)
