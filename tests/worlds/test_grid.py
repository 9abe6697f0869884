"""Moves on a grid, by pencil on a 3 x 2 plan: cells 0 1 2 above 3 4 5, a wall between 0 and 1, cell 5 blocked."""

from __future__ import annotations

import random
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.errors import SpecError
from errands.worlds.grid import (
    DOWN,
    LEFT,
    RIGHT,
    UP,
    GridLayout,
    distances,
    distinct_cells,
    grid_limit,
    grid_size,
    grid_table,
    outcomes,
    units,
    words,
)
from errands.worlds.grid import unreachable_features as lost

PLAN = GridLayout(
    3, 2, start=0, places=(("p", 2), ("q", 2), ("p", 3)), blocked=frozenset({5}), walls=frozenset({(0, 1)})
)


def test_moves_by_pencil() -> None:
    assert PLAN.moves[0].tolist() == [0, 0, 3, 0]
    assert PLAN.moves[1].tolist() == [1, 2, 4, 1]
    assert PLAN.moves[4].tolist() == [1, 4, 4, 3]
    assert PLAN.moves[5].tolist() == [5, 5, 5, 5]


def test_without_slip_every_move_has_one_outcome() -> None:
    world = grid_table(PLAN)
    assert world.certain
    assert (world.states, world.actions) == (6, 4)
    assert world.table.start_label.tolist() == [0]


def test_a_slip_goes_to_either_side_with_half_its_probability() -> None:
    open_grid = GridLayout(3, 3, start=4, slip=0.2)
    reached, cumulative = outcomes(open_grid)
    assert reached[4, UP].tolist() == [1, 3, 5]
    assert reached[4, RIGHT].tolist() == [5, 1, 7]
    assert reached[4, DOWN].tolist() == [7, 5, 3]
    assert reached[4, LEFT].tolist() == [3, 7, 1]
    np.testing.assert_allclose(cumulative[4, UP], [0.8, 0.9, 1.0])


def test_the_label_of_a_step_is_the_feature_set_of_its_last_cell() -> None:
    world = grid_table(PLAN)
    assert world.labels[world.table.label[1, RIGHT, 0]] == {"p", "q"}
    assert world.labels[world.table.label[0, DOWN, 0]] == {"p"}
    assert world.labels[world.table.label[0, UP, 0]] == frozenset()
    assert PLAN.features == ("p", "q")


def test_distances_go_round_walls_and_round_cells_to_avoid() -> None:
    assert distances(PLAN, 0).tolist() == [0, 3, 4, 1, 2, -1]
    assert distances(PLAN, 0, avoid=[4]).tolist() == [0, -1, -1, 1, -1, -1]


def test_reachable_cells_and_features_that_nothing_reaches() -> None:
    assert np.flatnonzero(distances(PLAN, PLAN.start) >= 0).tolist() == [0, 1, 2, 3, 4]
    cut = GridLayout(3, 1, start=0, places=(("near", 0), ("far", 2), ("both", 2), ("both", 0)), blocked=frozenset({1}))
    assert lost(cut) == ("far",)


@pytest.mark.parametrize(
    ("faulty", "sentence"),
    [
        ({"slip": 1.0}, "slip is 1.0, and must be at least 0 and below 1"),
        ({"slip": -0.1}, "slip is -0.1"),
        ({"slip": float("nan")}, "slip is nan"),
        ({"start": 6}, "the start, cell 6, is not a free cell"),
        ({"start": 1, "blocked": frozenset({1})}, "the start, cell 1, is not a free cell"),
        ({"places": (("p", 9),)}, "'p' stands on cell 9, which is not a free cell"),
        ({"walls": frozenset({(2, 3)})}, r"the wall \(2, 3\) is not between two neighbouring cells"),
        ({"width": 0}, "a grid of 0 x 2 cells is empty"),
    ],
)
def test_a_faulty_plan_is_refused_in_one_sentence(faulty: dict[str, object], sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        GridLayout(**{"width": 3, "height": 2, "start": 0, **faulty})  # type: ignore[arg-type]


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


def _queue_distances(layout: GridLayout, source: int, avoid: set[int]) -> list[int]:
    """Breadth-first search by hand: a queue, four neighbours, walls and blocked cells looked up one by one."""
    steps, queue = {source: 0}, [source]
    for cell in queue:
        row, column = divmod(cell, layout.width)
        for down, right in ((-1, 0), (0, 1), (1, 0), (0, -1)):
            there = (row + down) * layout.width + column + right
            inside = 0 <= row + down < layout.height and 0 <= column + right < layout.width
            closed = {cell, there} & layout.blocked or (min(cell, there), max(cell, there)) in layout.walls
            if inside and not closed and there not in steps and there not in avoid:
                steps[there] = steps[cell] + 1
                queue.append(there)
    return [steps.get(cell, -1) for cell in range(layout.cells)]


@given(st.integers(1, 7), st.integers(1, 7), st.randoms(use_true_random=False))
def test_distances_are_those_of_a_search_by_hand(width: int, height: int, chance: random.Random) -> None:
    cells = range(width * height)
    beside = [(c, c + 1) for c in cells if (c + 1) % width] + [(c, c + width) for c in cells if c + width in cells]
    blocked = frozenset(c for c in cells if c and chance.random() < 0.2)
    walls = frozenset(pair for pair in beside if chance.random() < 0.2)
    layout = GridLayout(width, height, 0, blocked=blocked, walls=walls)
    avoid = {c for c in cells if c and chance.random() < 0.1}
    assert distances(layout, 0, avoid).tolist() == _queue_distances(layout, 0, avoid)


def test_a_map_of_a_million_cells_half_of_them_features_takes_seconds() -> None:
    """Quadratic work would take hours."""
    side = 1000
    lava = tuple(("lava", cell) for cell in range(1, side * side, 2))
    layout = GridLayout(side, side, 0, lava)
    table = grid_table(layout)
    assert table.labels == (frozenset(), frozenset({"lava"}))
    assert table.table.label[0, 1, 0] == 1
    assert distances(layout, 0)[-1] == 2 * side - 2


def test_a_grid_that_would_not_fit_is_refused_with_its_number_of_cells() -> None:
    with pytest.raises(SpecError, match="a grid of 4,096 x 4,096 cells has 16,777,216, and at most 5,000,000 are built"):
        GridLayout(4096, 4096, 0)
