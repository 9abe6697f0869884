"""Maps from a seed are the same everywhere."""

from __future__ import annotations

from itertools import islice

import pytest

from errands.errors import SpecError
from errands.worlds.maps import distinct_cells, grid_limit, grid_size, units, words


def test_the_stream_is_splitmix64_as_published() -> None:
    # First outputs for seed 1234567 in the reference tables of splitmix64.
    assert list(islice(words(1234567), 3)) == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_units_lie_in_the_half_open_unit_interval_and_fill_it() -> None:
    numbers = list(islice(units(3), 10_000))
    assert min(numbers) >= 0.0
    assert max(numbers) < 1.0
    assert abs(sum(numbers) / len(numbers) - 0.5) < 0.01


def test_distinct_cells_are_a_permutation_and_a_longer_choice_only_adds() -> None:
    assert sorted(distinct_cells(9, 50, 50)) == list(range(50))
    assert distinct_cells(9, 50, 20)[:7] == distinct_cells(9, 50, 7)


def test_every_cell_comes_first_about_equally_often() -> None:
    counts = [0] * 10
    for seed in range(5000):
        counts[distinct_cells(seed, 10, 1)[0]] += 1
    assert min(counts) > 400
    assert max(counts) < 600


@pytest.mark.parametrize(("places", "side"), [(1, 10), (30, 10), (31, 12), (64, 16), (100, 20), (101, 21)])
def test_grids_grow_with_the_number_of_places(places: int, side: int) -> None:
    assert grid_size(places) == side


def test_a_grid_that_is_too_small_is_refused() -> None:
    with pytest.raises(SpecError, match=r"a grid of 2 x 2 cells cannot hold 3 places"):
        grid_size(3, size=2)


def test_the_limit_grows_with_long_tasks_and_must_be_positive() -> None:
    assert grid_limit(2, 10) == 1000
    assert grid_limit(30, 10) == 3000
    assert grid_limit(30, 10, limit=7) == 7
    with pytest.raises(SpecError, match="limit is 0, and must be at least 1"):
        grid_limit(2, 10, limit=0)
