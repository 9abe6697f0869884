"""The Markov chain that a policy makes of a finite task, solved exactly: group by group, the last groups first."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError
from errands.kernels.absorption import eliminate
from errands.machines.stepping import State
from errands.oracle.policy import Policy
from errands.oracle.product import DUST
from errands.oracle.stepping import Pair
from errands.tables import RUNNING, SUCCESS
from errands.tasks.task import Task

MOST_NODES, LARGEST_GROUP = 2_000_000, 4_000
DONE, FAILED = -1, -2
Node = tuple[int, State, Hashable]


class Edge(NamedTuple):
    """One way on: its probability, the node reached (or DONE, or FAILED), the reward."""

    chance: float
    target: int
    reward: float


@dataclass(frozen=True)
class Chain:
    """All situations that a policy can get into, with the ways on from each."""

    starts: tuple[tuple[int, float], ...]
    ways: list[list[Edge]]


class Solved(NamedTuple):
    """What the chain comes to from its starts: probabilities of success, failure and never ending; steps; return."""

    success: float
    failure: float
    never: float
    length: float
    discounted: float


def build(policy: Policy, task: Task) -> Chain:
    """Follow the policy through every outcome; a node is (world state, machine state, the policy's memory)."""
    pair = Pair(task)
    table = pair.table
    shares = np.diff(table.cumulative, axis=2, prepend=0.0)
    number: dict[Node, int] = {}
    nodes: list[Node] = []

    def at(node: Node) -> int:
        if node not in number:
            if len(nodes) == MOST_NODES:
                raise TaskError(f"the policy gets into more than {MOST_NODES:,} situations; evaluate it by episodes")
            number[node] = len(nodes)
            nodes.append(node)
        return number[node]

    first = np.diff(table.start_cumulative, prepend=0.0)
    start = pair.stepper.start
    starts = tuple((at((int(s), start, None)), float(p)) for s, p in zip(table.starts, first, strict=True) if p > DUST)
    ways: list[list[Edge]] = []
    while len(ways) < len(nodes):
        s, state, memory = nodes[len(ways)]
        action, memory = policy.act(s, state, memory)
        edges = []
        for outcome in np.flatnonzero(shares[s, action] > DUST):
            landing = pair.step(s, state, action, int(outcome))
            ended = DONE if landing.status == SUCCESS else FAILED
            target = at((landing.world_state, landing.machine_state, memory)) if landing.status == RUNNING else ended
            edges.append(Edge(float(shares[s, action, outcome]), target, landing.reward))
        ways.append(edges)
    return Chain(starts, ways)


def groups(ways: list[list[Edge]]) -> Iterator[list[int]]:
    """The strongly connected groups of nodes, each after all those that it leads to (Tarjan's algorithm)."""
    index, low, held = [-1] * len(ways), [0] * len(ways), [False] * len(ways)
    waiting: list[int] = []
    count = 0
    for root in range(len(ways)):
        work = [(root, 0)] if index[root] < 0 else []
        while work:
            node, i = work.pop()
            if i == 0:
                index[node] = low[node] = count
                held[node] = True
                waiting.append(node)
                count += 1
            else:
                low[node] = min(low[node], low[ways[node][i - 1].target])
            while i < len(ways[node]):
                target = ways[node][i].target
                i += 1
                if target >= 0 and index[target] < 0:
                    work += [(node, i), (target, 0)]
                    break
                if target >= 0 and held[target]:
                    low[node] = min(low[node], index[target])
            else:
                if low[node] == index[node]:
                    yield _unwound(waiting, held, node)


def _unwound(waiting: list[int], held: list[bool], node: int) -> list[int]:
    group = [waiting.pop()]
    while group[-1] != node:
        group.append(waiting.pop())
    for member in group:
        held[member] = False
    return group


def solve(chain: Chain, gamma: float) -> Solved:
    """Solve every group after those that it leads to; exact to rounding, nothing is sampled or iterated."""
    values = np.zeros((len(chain.ways), 5))
    for group in groups(chain.ways):
        if len(group) > LARGEST_GROUP:
            raise TaskError(
                f"the policy goes to and fro between {len(group):,} situations, and at most {LARGEST_GROUP:,} are "
                "solved exactly; evaluate it by episodes"
            )
        values[group] = _solve_group(chain.ways, group, values, gamma)
    total = np.zeros(5)
    for node, share in chain.starts:
        total += share * values[node]
    success, failure, never, length, discounted = map(float, total)
    return Solved(success, failure, never, float("inf") if never > 0 else length, discounted)


def _solve_group(
    ways: list[list[Edge]], group: list[int], values: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]:
    """The columns success, failure, never, length, discounted of a group whose exits are solved."""
    place = {node: i for i, node in enumerate(group)}
    size = len(group)
    inner, leaving, right, paid = np.zeros((size, size)), np.zeros(size), np.zeros((size, 4)), np.zeros(size)
    right[:, 3] = 1.0
    for i, node in enumerate(group):
        for chance, target, reward in ways[node]:
            paid[i] += chance * reward
            if target in place:
                inner[i, place[target]] += chance
                continue
            leaving[i] += chance
            if target >= 0:
                right[i] += chance * values[target, :4]
                paid[i] += gamma * chance * values[target, 4]
            else:
                right[i, 0 if target == DONE else 1] += chance
    discounted = np.linalg.solve(np.eye(size) - gamma * inner, paid) if inner.any() else paid
    if not leaving.any():
        right[:] = (0.0, 0.0, 1.0, 0.0)
    elif inner.any():
        right = eliminate(inner, leaving, right)
    return np.column_stack([right, discounted])
