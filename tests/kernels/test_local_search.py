"""Orders of items: as short as the best of all permutations where those can be tried."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

from errands.kernels.local_search import nearest, tour
from errands.tables import Floats


def length(order: tuple[int, ...] | list[int], first: Floats, between: Floats, last: Floats) -> float:
    return float(first[order[0]] + sum(between[a, b] for a, b in pairwise(order)) + last[order[-1]])


def drawn(n: int, seed: int, symmetric: bool) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    between = rng.integers(1, 30, (n, n)).astype(float)
    return (
        rng.integers(1, 30, n).astype(float),
        (between + between.T if symmetric else between),
        rng.integers(0, 30, n).astype(float),
    )


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_small_orders_are_the_best_of_all(n: int, symmetric: bool) -> None:
    for seed in range(8):
        costs = drawn(n, seed, symmetric)
        found = tour(*costs, 200, np.random.default_rng(0)).tolist()
        assert sorted(found) == list(range(n))
        assert length(found, *costs) == min(length(p, *costs) for p in permutations(range(n)))


def test_one_item_and_none_need_no_search() -> None:
    assert tour(np.ones(1), np.zeros((1, 1)), np.ones(1), 5, np.random.default_rng(0)).tolist() == [0]
    assert tour(np.ones(0), np.zeros((0, 0)), np.ones(0), 5, np.random.default_rng(0)).tolist() == []


def test_items_on_a_line_are_visited_in_their_order() -> None:
    place = np.random.default_rng(4).permutation(40).astype(float)
    found = tour(place, np.abs(place[:, None] - place), np.zeros(40), 300, np.random.default_rng(0))
    assert place[found].tolist() == list(range(40))


def test_more_kicks_are_never_worse() -> None:
    costs = drawn(30, 1, False)
    lengths = [length(tour(*costs, kicks, np.random.default_rng(2)).tolist(), *costs) for kicks in (0, 50, 500)]
    assert lengths[0] >= lengths[1] >= lengths[2]


def test_the_first_order_takes_the_cheapest_next_item() -> None:
    """From the root to 2 (cost 1), from there to 1 (cost 2), then 3."""
    cost = np.array([[0, 5, 1, 4, 9], [9, 0, 9, 3, 0], [9, 2, 0, 8, 0], [9, 9, 9, 0, 0], [0, 0, 0, 0, 0]], float)
    assert nearest(cost).tolist() == [0, 2, 1, 3, 4]
