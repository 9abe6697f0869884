"""Chains of policies: groups in order, and their solution by pencil."""

from __future__ import annotations

import numpy as np
import pytest

from errands.errors import TaskError
from errands.kernels.absorption import strong_groups
from errands.oracle import chain as chains
from errands.oracle.chain import DONE, FAILED, Chain, Way, solve


def test_groups_come_after_those_that_they_lead_to():
    ways = [
        [Way(1.0, 1, 0)],
        [Way(0.5, 2, 0), Way(0.5, 3, 0)],
        [Way(1.0, 1, 0)],
        [Way(1.0, DONE, 0)],
    ]
    chain = Chain.of([(0, 1.0)], ways)
    nodes, begin = strong_groups(chain.first, chain.target)
    groups = [sorted(nodes[begin[k] : begin[k + 1]].tolist()) for k in range(len(begin) - 1)]
    assert groups == [[3], [1, 2], [0]]


def test_a_fair_gambler_is_ruined_as_often_as_the_books_say():
    # From 1 of 4 coins: success 1/4, and 1 * 3 = 3 games.
    ways = [[Way(0.5, i - 1 if i else FAILED, 0), Way(0.5, i + 1 if i < 2 else DONE, 1)] for i in range(3)]
    solved = solve(Chain.of([(0, 1.0)], ways), 0.5)
    assert solved.success == pytest.approx(1 / 4)
    assert solved.failure == pytest.approx(3 / 4)
    assert solved.length == pytest.approx(3)
    assert solved.never == 0


def test_a_loop_never_ends_and_its_rewards_are_a_series():
    solved = solve(Chain.of([(0, 1.0)], [[Way(1.0, 1, 1.0)], [Way(1.0, 0, 0.0)]]), 0.5)
    assert solved.never == 1
    assert solved.length == float("inf")
    assert solved.discounted == pytest.approx(1 / (1 - 0.25))


def test_a_way_out_of_one_in_ten_to_the_thirty_is_found_all_the_same():
    rare = 1e-30
    solved = solve(Chain.of([(0, 1.0)], [[Way(1.0 - rare, 1, 0), Way(rare, DONE, 0)], [Way(1.0, 0, 0)]]), 0.9)
    assert solved.success == pytest.approx(1.0)
    assert solved.length == pytest.approx(2e30)


def test_a_part_that_never_ends_makes_the_length_infinite():
    ways = [[Way(0.25, DONE, 0), Way(0.75, 1, 0)], [Way(1.0, 1, 0)]]
    solved = solve(Chain.of([(0, 1.0)], ways), 0.9)
    assert (solved.success, solved.never, solved.length) == (0.25, 0.75, float("inf"))


def _drunkard(width: int, height: int, seed: int) -> Chain:
    """A drift to the right on a grid with random side steps; the right edge is success, a rare fall is failure."""
    rng = np.random.default_rng(seed)
    ways = []
    for y in range(height):
        for x in range(width):
            aside = [(abs(y - 1), x), (min(y + 1, height - 1), x), (y, max(x - 1, 0))]
            shares = rng.dirichlet([6, 1, 1, 2]) * 0.999
            ahead = y * width + x + 1 if x + 1 < width else DONE
            edges = [Way(float(shares[0]), ahead, 0.0), Way(0.001, FAILED, -1.0)]
            edges += [
                Way(float(p), (v % height) * width + u, 0.25) for p, (v, u) in zip(shares[1:], aside, strict=True)
            ]
            ways.append(edges)
    return Chain.of([(0, 0.5), (width, 0.5)], ways)


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
def test_elimination_in_a_band_agrees_with_linear_algebra(seed):
    chain = _drunkard(9, 7, seed)
    solved = solve(chain, 0.9)
    assert [solved.success, solved.length, solved.discounted] == pytest.approx(
        _by_linear_algebra(chain, 0.9), rel=1e-12
    )
    assert solved.success + solved.failure == pytest.approx(1, abs=1e-14)
    assert solved.error == 0


@pytest.mark.parametrize("seed", range(4))
def test_sweeps_stay_within_the_error_that_they_prove(seed, monkeypatch):
    chain = _drunkard(9, 7, seed)
    exact = solve(chain, 0.9)
    monkeypatch.setattr(chains, "MOST_WORK", 0)
    solved = solve(chain, 0.9)
    assert 0 < solved.error < 1e-9
    assert abs(solved.length - exact.length) <= solved.error * exact.length
    assert abs(solved.success - exact.success) <= solved.error
    assert abs(solved.discounted - exact.discounted) <= solved.error


def test_sweeps_know_that_a_closed_group_never_ends(monkeypatch):
    monkeypatch.setattr(chains, "MOST_WORK", -1)
    ways = [[Way(0.25, DONE, 0), Way(0.75, 1, 0)], [Way(1.0, 2, 1)], [Way(1.0, 1, 1)]]
    solved = solve(Chain.of([(0, 1.0)], ways), 0.5)
    assert (solved.success, solved.never, solved.length) == (0.25, 0.75, float("inf"))
    assert solved.discounted == pytest.approx(0.75 * 0.5 * 2)


def test_a_group_of_fifty_thousand_situations_is_solved():
    chain = _drunkard(500, 100, 0)
    solved = solve(chain, 0.99)
    assert solved.success + solved.failure == pytest.approx(1, abs=1e-9)
    # Wald: the failure is a coin of 0.001 at each step.
    assert solved.failure == pytest.approx(0.001 * solved.length, rel=1e-9)


def test_what_takes_too_long_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(chains, "MOST_WORK", 0)
    rare = 1e-13
    ways = [[Way(1.0 - rare, 1, 0), Way(rare, DONE, 0)], [Way(1.0, 0, 0)]]
    monkeypatch.setattr(chains, "sweep", lambda *given: (False, np.zeros(5)))
    with pytest.raises(TaskError, match=r"between 2 situations .* evaluate it by episodes"):
        solve(Chain.of([(0, 1.0)], ways), 0.9)
