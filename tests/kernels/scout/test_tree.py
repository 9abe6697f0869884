"""The tree's lower bound: never above the best of all orders, and equal to it where a tree is a path."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

from errands.learners.scout.kernel.tour import lightest, lightest_of, tree_bound


def best(first: np.ndarray, between: np.ndarray, last: np.ndarray) -> float:
    return min(
        first[p[0]] + sum(between[a, b] for a, b in pairwise(p)) + last[p[-1]] for p in permutations(range(len(first)))
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_never_above_the_best_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 20, (6, 2))
    between = np.abs(points[:, None] - points).sum(axis=2).astype(float) + (
        rng.integers(0, 3, (6, 6)) if seed % 2 else 0
    )
    np.fill_diagonal(between, 0)
    first, last = np.abs(points).sum(axis=1).astype(float), rng.integers(0, 5, 6).astype(float)
    shortest = best(first, between, last)
    bound = tree_bound(first, between, last, shortest + 25, 300)
    assert 0.0 < bound <= shortest + 1e-9
    assert bound > 0.7 * shortest


def test_on_a_line_the_tree_is_the_path() -> None:
    place = np.array([3.0, 1.0, 2.0, 5.0])
    between = np.abs(place[:, None] - place)
    assert tree_bound(place, between, np.zeros(4), 5.0, 300) == pytest.approx(5.0, abs=1e-4)


def test_a_bound_is_cut_at_what_is_known_to_be_possible() -> None:
    place = np.array([3.0, 1.0])
    assert tree_bound(place, np.abs(place[:, None] - place), np.zeros(2), 2.0, 50) == 2.0


@pytest.mark.parametrize("few", [True, False])
def test_the_lightest_tree_is_that_on_paper(few: bool) -> None:
    """Root to item 1 (1), from there to 2 and 3 (2 each); 2 to 3 would cost 9."""
    first, between = np.array([1.0, 7.0, 7.0]), np.array([[0.0, 2.0, 2.0], [2.0, 0.0, 9.0], [2.0, 9.0, 0.0]])
    ends = np.array([[0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]], np.int32)
    cost = np.array([1.0, 7.0, 7.0, 2.0, 2.0, 9.0])

    def degrees(price: list[float]) -> tuple[float, list[int]]:
        found = np.zeros(4, np.int32)
        if few:
            paid = cost + np.array(price)[ends].sum(axis=0)
            return lightest_of(ends, paid, np.argsort(paid), np.zeros(4, np.int32), found), found.tolist()
        total = lightest(first, between, np.array(price), found)
        return total, (np.bincount(found[1:], minlength=4) + np.minimum(np.arange(4), 1)).tolist()

    assert degrees([0.0, 0.0, 0.0, 0.0]) == (5.0, [1, 3, 1, 1])
    assert degrees([0.0, 10.0, 0.0, 0.0]) == (1 + 10 + 7 + 7, [3, 1, 1, 1])


def test_an_edge_that_is_not_among_the_near_ones_is_found() -> None:
    """Two heaps of twelve, 100 apart: the way between them is no near edge of any item; the tree is a path along the line."""
    place = np.array([*range(1, 13), *range(112, 124)], float)
    assert tree_bound(place, np.abs(place[:, None] - place), np.zeros(24), 130.0, 300) == pytest.approx(123.0, abs=1e-3)
