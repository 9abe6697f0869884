"""Where a Markov chain ends: its groups, and their solution by elimination or by sweeps with a proved error.

A chain is two arrays of edges: those of node i are first[i] to first[i + 1] - 1, and target[e] < 0 is an end.
"""

from __future__ import annotations

import numpy as np

from errands.kernels import jit
from errands.tables import Floats, Ints


@jit
def strong_groups(first: Ints, target: Ints) -> tuple[Ints, Ints]:
    """The strongly connected groups of nodes, each after all those that it leads to (Tarjan's algorithm).

    Group k is nodes[begin[k]:begin[k + 1]], the nodes that were met last first.
    """
    size = len(first) - 1
    # index is the order in which nodes were met; low the smallest number known to be reached from a node.
    index = np.full(size, -1, np.int32)
    low = np.zeros(size, np.int32)
    edge = first[:-1].copy()  # the next edge of each node to be looked at
    path = np.empty(size, np.int32)  # nodes under way, from the root
    waiting = np.empty(size, np.int32)  # nodes met whose group is not closed; low < size marks them
    nodes = np.empty(size, np.int32)
    begin = np.zeros(size + 1, np.int32)
    count, depth, held, done, closed = 0, 0, 0, 0, 0
    # No recursion: `path` is the call stack and `edge` where each call goes on: chains can have millions of nodes.
    for root in range(size):
        if index[root] >= 0:
            continue
        path[0], depth = root, 1
        while depth > 0:
            node = path[depth - 1]
            if index[node] < 0:
                index[node] = low[node] = count
                count += 1
                waiting[held] = node
                held += 1
            if edge[node] < first[node + 1]:
                there = target[edge[node]]
                edge[node] += 1
                if there >= 0:
                    if index[there] < 0:
                        path[depth] = there
                        depth += 1
                    # Tarjan takes index[there]; low serves as well: all that is asked is whether it is below index.
                    elif low[there] < size:
                        low[node] = min(low[node], low[there])
                continue
            depth -= 1
            # The head of a group: what was met since and still waits, on top of `waiting`, is the rest of it.
            if low[node] == index[node]:
                while True:
                    held -= 1
                    member = waiting[held]
                    low[member] = size
                    nodes[done] = member
                    done += 1
                    if member == node:
                        break
                closed += 1
                begin[closed] = done
            elif depth > 0:
                low[path[depth - 1]] = min(low[path[depth - 1]], low[node])
    return nodes, begin[: closed + 1]


@jit
def pass_singles(
    first: Ints,
    target: Ints,
    chance: Floats,
    reward: Floats,
    nodes: Ints,
    begin: Ints,
    k: int,
    values: Floats,
    gamma: float,
) -> int:
    """Solve groups of one node from group k on; returns the first one of more nodes, or the number of groups.

    The columns of values are success, failure, never ending, steps and discounted return; target -1 is success.
    """
    # Groups come after all that they lead to, so every value read here is already final.
    while k < len(begin) - 1 and begin[k + 1] - begin[k] == 1:
        node = nodes[begin[k]]
        total = np.zeros(5)
        away, paid = 0.0, 0.0
        for e in range(first[node], first[node + 1]):
            paid += chance[e] * reward[e]
            there = target[e]
            # Staying is left out and made good by dividing by `away`: the chances are then those of leaving.
            if there == node:
                continue
            away += chance[e]
            if there >= 0:
                total[:4] += chance[e] * values[there, :4]
                paid += gamma * chance[e] * values[there, 4]
            else:
                # Ends -1 and -2 are the columns 0 and 1: success and failure.
                total[-1 - there] += chance[e]
        total[3] += 1.0
        if away > 0.0:
            values[node, :4] = total[:4] / away
        else:
            # Never left; its steps stay 0, and the caller calls the length infinite where this column is positive.
            values[node, 2] = 1.0
        # Summed, not subtracted: 1 - gamma * (chance of staying).
        values[node, 4] = paid / (1.0 - gamma + gamma * away)
        k += 1
    return k


@jit
def narrow_order(first: Ints, target: Ints, members: Ints, place: Ints) -> tuple[Ints, int]:
    """An order of a group in which edges reach a short way only, and how far: breadth first, from end to end.

    `place` is the index in `members` of each of the chain's nodes, -1 outside; returns the new place of each index.
    Elimination costs the square of the reach, and on a grid the reach is about two sides.
    """
    size = len(members)
    # First the number of edges of each node, then where they begin, then the edges: rows without lists.
    begin = np.zeros(size + 1, np.int64)  # edges within the group, in both directions
    for node in members:
        for e in range(first[node], first[node + 1]):
            if target[e] >= 0 and target[e] != node and place[target[e]] >= 0:
                begin[place[node] + 1] += 1
                begin[place[target[e]] + 1] += 1
    begin = np.cumsum(begin)
    fill = begin[:-1].copy()
    near = np.empty(begin[-1], np.int32)
    for node in members:
        for e in range(first[node], first[node + 1]):
            if target[e] >= 0 and target[e] != node and place[target[e]] >= 0:
                i, j = place[node], place[target[e]]
                near[fill[i]], near[fill[j]] = j, i
                fill[i] += 1
                fill[j] += 1
    # The group is strongly connected, so each search meets all of it and order[size - 1] is a node furthest away.
    order = np.zeros(size, np.int32)
    for _ in range(3):  # from anywhere, from the far end of that, and once more
        seen = np.zeros(size, np.bool_)
        order[0] = order[size - 1]
        seen[order[0]] = True
        head, tail = 0, 1
        while head < tail:
            i = order[head]
            head += 1
            for e in range(begin[i], begin[i + 1]):
                if not seen[near[e]]:
                    seen[near[e]] = True
                    order[tail] = near[e]
                    tail += 1
    moved = np.empty(size, np.int32)
    for n in range(size):
        moved[order[n]] = n
    # An edge joins nodes of one breadth-first layer or of two neighbouring ones, which keeps the reach small.
    reach = 0
    for i in range(size):
        for e in range(begin[i], begin[i + 1]):
            reach = max(reach, abs(moved[i] - moved[near[e]]))
    return moved, reach


@jit
def eliminate(inner: Floats, leaving: Floats, right: Floats) -> Floats:
    """Solve x = inner x + right for a group of states that is left with probabilities `leaving`; overwrites its input.

    The elimination of Grassmann, Taksar and Heyman: 1 - inner[n, n] is summed from what leaves n, never subtracted,
    so that chances of 1e-30 are as exact as others. inner is a band [n, 2 reach + 1]: the chance of going from i to j
    stands in [i, reach + j - i], and elimination fills nothing outside the band. right and the result are [n, columns].
    """
    size, columns = right.shape
    reach = inner.shape[1] // 2
    # Take the states out from the last to the first: what went through n goes straight on to lower numbers.
    for n in range(size - 1, -1, -1):
        low = max(0, n - reach)
        away = leaving[n]
        for j in range(low, n):
            away += inner[n, reach + j - n]
        leaving[n] /= away
        for j in range(low, n):
            inner[n, reach + j - n] /= away
        for c in range(columns):
            right[n, c] /= away
        # i and j both lie within `reach` below n, so their distance fits the band. Self loops are written, never read.
        for i in range(low, n):
            share = inner[i, reach + n - i]
            if share > 0.0:
                leaving[i] += share * leaving[n]
                for j in range(low, n):
                    inner[i, reach + j - i] += share * inner[n, reach + j - n]
                for c in range(columns):
                    right[i, c] += share * right[n, c]
    # Now each state depends on lower numbers only: put them in, from the first on.
    for n in range(size):
        for j in range(max(0, n - reach), n):
            for c in range(columns):
                right[n, c] += inner[n, reach + j - n] * right[j, c]
    return right


@jit
def sweep(
    first: Ints,
    target: Ints,
    chance: Floats,
    group: Ints,
    place: Ints,
    values: Floats,
    constant: Floats,
    factor: Floats,
    aim: float,
) -> tuple[bool, Floats]:
    """Raise values[group] from 0 to x = factor P x + constant until no sweep adds more than `aim`, or rounding.

    P are the chances within the group, whose nodes have a place >= 0. Returns whether that was reached within some
    thousand million additions, and by how much each column grew in the last sweep: as values only grow, none of
    factor P values + constant is further above values than that.
    """
    columns = values.shape[1]
    edges = 0
    for node in group:
        values[node] = 0.0
        edges += first[node + 1] - first[node]
    grown = np.zeros(columns)
    for _ in range(2_000_000_000 // (edges * columns) + 1):
        grown[:] = 0.0
        largest = 0.0
        # Values are replaced at once (Gauss-Seidel): later nodes of the same sweep already see them.
        for i in range(len(group)):
            node = group[i]
            for c in range(columns):
                total = constant[i, c]
                for e in range(first[node], first[node + 1]):
                    if target[e] >= 0 and place[target[e]] >= 0:
                        total += factor[c] * chance[e] * values[target[e], c]
                grown[c] = max(grown[c], abs(total - values[node, c]))
                largest = max(largest, abs(total))
                values[node, c] = total
        # Below 1e-15 of the largest value a sweep moves rounding errors only, and might do so for ever.
        if grown.max() <= max(aim, 1e-15 * largest):
            return True, grown
    return False, grown
