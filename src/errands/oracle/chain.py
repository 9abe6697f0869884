"""The Markov chain that a policy makes of a finite task, solved exactly: group by group, the last groups first."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from errands.errors import TaskError
from errands.kernels.absorption import eliminate, narrow_order, pass_singles, strong_groups, sweep
from errands.machines.numeric import Transition
from errands.machines.stepping import State
from errands.oracle.episode import Pair, Policy
from errands.oracle.product import DUST
from errands.tables import FAILURE, RUNNING, SUCCESS, Floats, Ints
from errands.tasks.task import Task

MOST_NODES = 2_000_000
MOST_WORK, MOST_BAND = 3_000_000_000, 50_000_000
"""Multiplications that one elimination may take (some seconds), and numbers that it may hold."""
AIM = 1e-12
"""What a sweep may still add where a group is too large to be eliminated."""
DONE, FAILED = -1, -2
DISCOUNTED, COLUMNS = 4, 5
"""Columns of values: success, failure, never ending, steps, discounted return."""


class Way(NamedTuple):
    """One way on: its probability, the node reached (or DONE, or FAILED), the reward."""

    chance: float
    target: int
    reward: float


@dataclass(frozen=True)
class Chain:
    """All situations that a policy can get into, with the ways on from each as flat arrays."""

    starts: tuple[tuple[int, float], ...]
    first: Ints
    """[nodes + 1] the edges of node i are first[i] to first[i + 1] - 1."""
    target: Ints
    chance: Floats
    reward: Floats

    def __len__(self) -> int:
        return len(self.first) - 1

    @staticmethod
    def of(starts: Sequence[tuple[int, float]], ways: Iterable[Sequence[Way]]) -> Chain:
        """The chain with these ways on from each node."""
        rows = list(ways)
        first = np.cumsum([0, *map(len, rows)]).astype(np.int32)
        edges = [edge for row in rows for edge in row]
        chance, target, reward = zip(*edges, strict=True) if edges else ((), (), ())
        return Chain(tuple(starts), first, np.array(target, np.int32), np.array(chance), np.array(reward))


class Solved(NamedTuple):
    """What the chain comes to from its starts: probabilities of success, failure and never ending; steps; return."""

    success: float
    failure: float
    never: float
    length: float
    discounted: float
    error: float
    """0 where only rounding errs; else a proved bound for the relative error of steps and the error of the others."""


def build(policy: Policy, task: Task, most: int = MOST_NODES) -> Chain:
    """Follow the policy through every outcome; a node is a world state with a context (machine state, memory)."""
    pair = Pair(task)
    table, stepper, names = pair.table, pair.stepper, pair.world.signals
    states, labels = pair.world.states, pair.world.labels
    # A context is a machine state with the policy's memory; 0 is that of the start, so start nodes are world states.
    contexts: dict[tuple[State, Hashable], int] = {(stepper.start, None): 0}
    listed: list[tuple[State, Hashable]] = [(stepper.start, None)]
    machine: dict[tuple[State, int], tuple[State, int, Transition | None]] = {}
    shares = np.diff(table.start_cumulative, prepend=0.0)
    nodes = [int(s) for s, p in zip(table.starts, shares, strict=True) if p > DUST]  # context * states + world state
    number = {node: i for i, node in enumerate(nodes)}
    starts = tuple((number[int(s)], float(p)) for s, p in zip(table.starts, shares, strict=True) if p > DUST)
    first, target, chance, reward = [0], list[int](), list[float](), list[float]()
    for node in nodes:  # grows while it is gone through
        context, s = divmod(node, states)
        state, memory = listed[context]
        action, memory = policy.act(s, state, memory)
        where, before = (s, action), 0.0
        ends = table.ends[where].tolist()
        rows = zip(
            table.next[where].tolist(), table.label[where].tolist(), table.cumulative[where].tolist(), strict=True
        )
        for o, (there, label, cumulated) in enumerate(rows):
            share, before = cumulated - before, cumulated
            if share <= DUST:
                continue
            known = machine.get((state, label))
            if known is None:
                step = stepper.step(state, labels[label])
                known = machine[state, label] = (step.state, stepper.status[step.state[0]], step.transition)
            after, status, transition = known
            # The world ended while the machine still runs: nothing can be completed any more.
            if status == RUNNING and ends[o]:
                status = FAILURE
            paid = 0.0
            if transition is not None:
                paid, signal = transition.reward.lowered(names)
                if signal >= 0:
                    paid *= float(table.signal[(signal, *where, o)])
            if status == RUNNING:
                there += states * _numbered((after, memory), contexts, listed)
                if there not in number:
                    if len(nodes) == most:
                        raise TaskError(f"the policy gets into more than {most:,} situations; evaluate it by episodes")
                    number[there] = len(nodes)
                    nodes.append(there)
                target.append(number[there])
            else:
                target.append(DONE if status == SUCCESS else FAILED)
            chance.append(share)
            reward.append(paid)
        first.append(len(target))
    arrays = (np.array(first, np.int32), np.array(target, np.int32), np.array(chance), np.array(reward))
    return Chain(starts, *arrays)


def _numbered(
    context: tuple[State, Hashable],
    contexts: dict[tuple[State, Hashable], int],
    listed: list[tuple[State, Hashable]],
) -> int:
    number = contexts.get(context)
    if number is None:
        number = contexts[context] = len(listed)
        listed.append(context)
    return number


def solve(chain: Chain, gamma: float) -> Solved:
    """Solve every group after those that it leads to; nothing is sampled, and `error` says how exact it is."""
    if (certain := _followed(chain, gamma)) is not None:
        return certain
    values, error = np.zeros((len(chain), COLUMNS)), 0.0
    place = np.full(len(chain), -1, np.int32)
    nodes, begin = strong_groups(chain.first, chain.target)
    k = 0
    # Groups come in an order in which whatever a group leads to stands before it.
    while k < len(begin) - 1:
        k = pass_singles(chain.first, chain.target, chain.chance, chain.reward, nodes, begin, k, values, gamma)
        if k < len(begin) - 1:
            group = nodes[begin[k] : begin[k + 1]]
            place[group] = np.arange(len(group))
            error += _solve_group(chain, group, place, values, gamma)
            place[group] = -1
            k += 1
    total = np.zeros(COLUMNS)
    for node, share in chain.starts:
        total += share * values[node]
    success, failure, never, length, discounted = map(float, total)
    length = float("inf") if never > 0 else length
    return Solved(success=success, failure=failure, never=never, length=length, discounted=discounted, error=error)


def _followed(chain: Chain, gamma: float) -> Solved | None:
    """The chain of a certain world: its one way is followed, which needs no compiled kernel; None for any other chain."""
    if len(chain.starts) != 1 or len(chain.target) != len(chain) or (np.diff(chain.first) != 1).any():
        return None
    node, share = chain.starts[0]
    rewards, passed = [], set[int]()
    while node >= 0 and node not in passed:
        passed.add(node)
        rewards.append(float(chain.reward[node]))
        node = int(chain.target[node])
    if share != 1.0 or (chain.chance != 1.0).any() or (node >= 0 and any(rewards)):
        return None
    discounted = 0.0
    for reward in reversed(rewards):
        discounted = reward + gamma * discounted
    length = float("inf") if node >= 0 else float(len(rewards))
    success, failure, never = float(node == DONE), float(node == FAILED), float(node >= 0)
    return Solved(success=success, failure=failure, never=never, length=length, discounted=discounted, error=0.0)


def _solve_group(chain: Chain, group: Ints, place: Ints, values: Floats, gamma: float) -> float:
    """Write the values of a group of several nodes whose exits are solved; returns a bound of their error beyond rounding."""
    # The edges of the group's nodes as one flat list: `edges` are their indices, `source` the member they belong to.
    counts = chain.first[group + 1] - chain.first[group]
    source = np.repeat(np.arange(len(group)), counts)
    edges = np.repeat(chain.first[group] - np.cumsum(counts) + counts, counts) + np.arange(len(source))
    chance, target = chain.chance[edges], chain.target[edges]
    inside = (target >= 0) & (place[target] >= 0)
    leaving, constant = np.zeros(len(group)), np.zeros((len(group), COLUMNS))
    np.add.at(leaving, source[~inside], chance[~inside])
    on = ~inside & (target >= 0)
    np.add.at(constant, source[on], chance[on, None] * values[target[on]] * [1.0, 1.0, 1.0, 1.0, gamma])
    for end, column in ((DONE, 0), (FAILED, 1)):
        np.add.at(constant[:, column], source[target == end], chance[target == end])
    constant[:, 3] += 1.0
    np.add.at(constant[:, DISCOUNTED], source, chance * chain.reward[edges])
    closed = not leaving.any()
    # A band wide enough for every edge within the group; what leaves the group is already in `constant`.
    moved, reach = narrow_order(chain.first, chain.target, group, place)
    width = 2 * reach + 1
    if len(group) * reach * reach > MOST_WORK or len(group) * width > MOST_BAND:
        return _swept(chain, group, place, values, constant, gamma, closed)
    here, there = moved[source[inside]], moved[place[target[inside]]]
    inner = np.zeros((len(group), width))
    np.add.at(inner, (here, reach + there - here), chance[inside])
    left, right = np.empty(len(group)), np.empty_like(constant)
    left[moved], right[moved] = leaving, constant
    # Discounting by gamma is leaving with probability 1 - gamma wherever one would have stayed.
    discounted = eliminate(gamma * inner, 1.0 - gamma + gamma * left, right[:, DISCOUNTED:].copy())
    solved = np.empty_like(right)
    # From a closed group no way leads out: it never ends, and the undiscounted equations are singular.
    solved[:, :DISCOUNTED] = (0.0, 0.0, 1.0, 0.0) if closed else eliminate(inner, left, right[:, :DISCOUNTED].copy())
    solved[:, DISCOUNTED:] = discounted
    values[group] = solved[moved]
    return 0.0


def _swept(
    chain: Chain, group: Ints, place: Ints, values: Floats, constant: Floats, gamma: float, closed: bool
) -> float:
    """Solve a large group by sweeps from 0 upwards, with an error that is proved.

    Where no sweep adds more than d, values V lie below the solution x, and x - V is at most d times the expected
    steps in the group, which are at most x's column of steps: so x <= V / (1 - d) there, and x <= V + d V / (1 - d)
    of that column elsewhere. Discounted returns are within d / (1 - gamma).
    """
    factor = np.array([1.0, 1.0, 1.0, 1.0, gamma])
    if closed:
        constant[:, :DISCOUNTED], factor[:DISCOUNTED] = (0.0, 0.0, 1.0, 0.0), 0.0
    good, grown = sweep(chain.first, chain.target, chain.chance, group, place, values, constant, factor, AIM)
    if not good:
        raise TaskError(
            f"the policy goes to and fro between {len(group):,} situations for too long to be solved exactly; "
            "evaluate it by episodes"
        )
    most = float(grown.max())
    longest = 1.0 if closed else max(1.0, float(values[group, 3].max()))
    return most * max(longest, 1.0 / (1.0 - gamma)) / (1.0 - most)
