"""Chains of policies, and what they come to within a limit, by pencil and by matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from errands.errors import TaskError
from errands.oracle.certificate import DONE, FAILED, Chain, solve

LONG = 10_000


class Edge(NamedTuple):
    chance: float
    target: int
    reward: float


def chain_of(starts, ways) -> Chain:
    """The chain with these ways on from each node."""
    first = np.cumsum([0, *map(len, ways)]).astype(np.int32)
    chance, target, reward = zip(*(one for row in ways for one in row), strict=True)
    return Chain(tuple(starts), first, np.array(target, np.int32), np.array(chance), np.array(reward))


def test_a_fair_gambler_is_ruined_as_often_as_the_books_say():
    # From 1 of 4 coins: success 1/4, and 1 * 3 = 3 games.
    ways = [[Edge(0.5, i - 1 if i else FAILED, 0), Edge(0.5, i + 1 if i < 2 else DONE, 1)] for i in range(3)]
    solved = solve(chain_of([(0, 1.0)], ways), 0.5, LONG)
    assert solved.success == pytest.approx(1 / 4)
    assert solved.failure == pytest.approx(3 / 4)
    assert solved.length == pytest.approx(3)
    assert solved.cut == 0
    # In three games: ruined at once or down after up; rich after two ups and one more.
    short = solve(chain_of([(0, 1.0)], ways), 0.5, 3)
    assert (short.success, short.failure, short.cut) == (1 / 8, 1 / 2 + 1 / 8, 1 / 4)
    assert short.length == 1 / 2 * 1 + 1 / 2 * 3


def test_a_loop_runs_into_the_limit_and_its_rewards_are_a_series():
    solved = solve(chain_of([(0, 1.0)], [[Edge(1.0, 1, 1.0)], [Edge(1.0, 0, 0.0)]]), 0.5, 100)
    assert (solved.cut, solved.length) == (1, 100)
    assert solved.discounted == pytest.approx(1 / (1 - 0.25))


def test_a_way_out_of_one_in_ten_to_the_thirty_is_found_all_the_same():
    rare = 1e-30
    solved = solve(chain_of([(0, 1.0)], [[Edge(1.0 - rare, 1, 0), Edge(rare, DONE, 0)], [Edge(1.0, 0, 0)]]), 0.9, 1000)
    assert solved.success == pytest.approx(500 * rare)


def test_a_part_that_never_ends_is_cut_off():
    ways = [[Edge(0.25, DONE, 0), Edge(0.75, 1, 0)], [Edge(1.0, 1, 0)]]
    solved = solve(chain_of([(0, 1.0)], ways), 0.9, 9)
    assert (solved.success, solved.cut, solved.length) == (0.25, 0.75, 0.25 + 0.75 * 9)


def _drunkard(width: int, height: int, seed: int) -> Chain:
    """A drift to the right on a grid with random side steps; the right edge is success, a rare fall is failure."""
    rng = np.random.default_rng(seed)
    ways = []
    for y in range(height):
        for x in range(width):
            aside = [(abs(y - 1), x), (min(y + 1, height - 1), x), (y, max(x - 1, 0))]
            shares = rng.dirichlet([6, 1, 1, 2]) * 0.999
            ahead = y * width + x + 1 if x + 1 < width else DONE
            edges = [Edge(float(shares[0]), ahead, 0.0), Edge(0.001, FAILED, -1.0)]
            edges += [
                Edge(float(p), (v % height) * width + u, 0.25) for p, (v, u) in zip(shares[1:], aside, strict=True)
            ]
            ways.append(edges)
    return chain_of([(0, 0.5), (width, 0.5)], ways)


def _by_linear_algebra(chain: Chain, gamma: float) -> list[float]:
    """Success, length and discounted return from the start, by numpy's general solver."""
    size = len(chain)
    moves, success, paid = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    for i in range(size):
        for e in range(chain.first[i], chain.first[i + 1]):
            paid[i] += chain.chance[e] * chain.reward[e]
            if chain.target[e] >= 0:
                moves[i, chain.target[e]] += chain.chance[e]
            else:
                success[i] += chain.chance[e] * (chain.target[e] == DONE)
    solved = np.linalg.solve(np.eye(size) - moves, np.column_stack([success, np.ones(size)]))
    returns = np.linalg.solve(np.eye(size) - gamma * moves, paid)
    columns = [solved[:, 0], solved[:, 1], returns]
    return [float(sum(p * column[node] for node, p in chain.starts)) for column in columns]


@pytest.mark.parametrize("seed", range(4))
def test_a_long_limit_agrees_with_linear_algebra(seed):
    chain = _drunkard(9, 7, seed)
    solved = solve(chain, 0.9, LONG)
    assert [solved.success, solved.length, solved.discounted] == pytest.approx(
        _by_linear_algebra(chain, 0.9), rel=1e-12
    )
    assert solved.success + solved.failure == pytest.approx(1, abs=1e-14)


def _in_time(node: int, left: int, ways: list[list[Edge]]) -> tuple[float, float, float, float]:
    """Success, failure, steps and return (undiscounted) with so many steps left, by recursion."""
    if node < 0 or left == 0:
        return float(node == DONE), float(node == FAILED), 0.0, 0.0
    ahead = [(way, _in_time(way.target, left - 1, ways)) for way in ways[node]]
    success, failure, steps = (sum(way.chance * rest[i] for way, rest in ahead) for i in range(3))
    return success, failure, 1.0 + steps, sum(way.chance * (way.reward + rest[3]) for way, rest in ahead)


@pytest.mark.parametrize("seed", range(12))
def test_any_limit_agrees_with_a_recursion_over_all_outcomes(seed):
    rng = np.random.default_rng(seed)
    ways = [
        [Edge(float(p), int(rng.integers(-2, 5)), float(rng.integers(-2, 3))) for p in rng.dirichlet([1, 1, 1])] for _ in range(5)
    ]
    limit = int(rng.integers(1, 8))
    solved = solve(chain_of([(0, 0.25), (3, 0.75)], ways), 1.0, limit)
    first, second = _in_time(0, limit, ways), _in_time(3, limit, ways)
    wanted = [0.25 * a + 0.75 * b for a, b in zip(first, second, strict=True)]
    assert [solved.success, solved.failure, solved.length, solved.discounted] == pytest.approx(wanted)
    assert solved.success + solved.failure + solved.cut == pytest.approx(1)


def test_fifty_thousand_situations_are_followed():
    chain = _drunkard(500, 100, 0)
    solved = solve(chain, 0.99, 3_000)
    assert solved.success + solved.failure + solved.cut == pytest.approx(1, abs=1e-9)
    # Wald: the failure is a coin of 0.001 at each step.
    assert solved.failure == pytest.approx(0.001 * solved.length, rel=1e-9)


def test_what_takes_too_long_is_refused_with_a_way_out():
    ways = [[Edge(0.9, 1, 0), Edge(0.1, DONE, 0)], [Edge(1.0, 0, 0)]]
    with pytest.raises(TaskError, match=r"between 2 situations .* evaluate it by episodes"):
        solve(chain_of([(0, 1.0)], ways), 0.9, 1_000, work=20)
