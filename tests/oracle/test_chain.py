"""Chains of policies: groups in order, and their solution by pencil."""

from __future__ import annotations

import pytest

from errands.oracle.chain import DONE, FAILED, Chain, Edge, groups, solve


def test_groups_come_after_those_that_they_lead_to():
    ways = [
        [Edge(1.0, 1, 0)],
        [Edge(0.5, 2, 0), Edge(0.5, 3, 0)],
        [Edge(1.0, 1, 0)],
        [Edge(1.0, DONE, 0)],
    ]
    assert [sorted(group) for group in groups(ways)] == [[3], [1, 2], [0]]


def test_a_fair_gambler_is_ruined_as_often_as_the_books_say():
    # From 1 of 4 coins: success 1/4, and 1 * 3 = 3 games.
    ways = [[Edge(0.5, i - 1 if i else FAILED, 0), Edge(0.5, i + 1 if i < 2 else DONE, 1)] for i in range(3)]
    solved = solve(Chain(((0, 1.0),), ways), 0.5)
    assert solved.success == pytest.approx(1 / 4)
    assert solved.failure == pytest.approx(3 / 4)
    assert solved.length == pytest.approx(3)
    assert solved.never == 0


def test_a_loop_never_ends_and_its_rewards_are_a_series():
    solved = solve(Chain(((0, 1.0),), [[Edge(1.0, 1, 1.0)], [Edge(1.0, 0, 0.0)]]), 0.5)
    assert solved.never == 1
    assert solved.length == float("inf")
    assert solved.discounted == pytest.approx(1 / (1 - 0.25))


def test_a_way_out_of_one_in_ten_to_the_thirty_is_found_all_the_same():
    rare = 1e-30
    solved = solve(Chain(((0, 1.0),), [[Edge(1.0 - rare, 1, 0), Edge(rare, DONE, 0)], [Edge(1.0, 0, 0)]]), 0.9)
    assert solved.success == pytest.approx(1.0)
    assert solved.length == pytest.approx(2e30)


def test_a_part_that_never_ends_makes_the_length_infinite():
    ways = [[Edge(0.25, DONE, 0), Edge(0.75, 1, 0)], [Edge(1.0, 1, 0)]]
    solved = solve(Chain(((0, 1.0),), ways), 0.9)
    assert (solved.success, solved.never, solved.length) == (0.25, 0.75, float("inf"))
