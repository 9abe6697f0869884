"""Office: the figure's 17 doors, its places, and the optimum 11 of one office."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from errands.errors import SpecError
from errands.worlds import Office, World
from errands.worlds.grid import distances
from errands.worlds.places import OFFICE_WIDTH as WIDTH

LAYOUT = Office().layout


def cells(name: str) -> list[int]:
    return [cell for feature, cell in LAYOUT.places if feature == name]


def room(cell: int) -> tuple[int, int]:
    return cell % WIDTH // 3, cell // WIDTH // 3


def test_there_are_17_doors_each_in_the_middle_of_a_wall() -> None:
    doors = [
        (cell, there)
        for cell in range(LAYOUT.cells)
        for there in (LAYOUT.moves.item(cell, 1), LAYOUT.moves.item(cell, 2))
        if room(cell) != room(there)
    ]
    assert len(doors) == 17
    assert len({frozenset((room(a), room(b))) for a, b in doors}) == 17
    for a, b in doors:
        along = a // WIDTH if b - a == 1 else a % WIDTH
        assert along % 3 == 1


def test_places_of_the_figure_counted_from_the_bottom_left() -> None:
    def place(cell: int) -> tuple[int, int]:
        return cell % WIDTH, 8 - cell // WIDTH

    assert place(LAYOUT.start) == (2, 1)
    assert {place(cell) for cell in cells("coffee")} == {(3, 6), (8, 2)}
    assert [place(cells(f"o{i}")[0]) for i in range(1, 7)] == [(4, 4), (7, 4), (1, 7), (10, 7), (10, 1), (1, 1)]
    assert {place(c) for c in cells("decoration")} == {(1, 4), (10, 4), (4, 7), (4, 1), (7, 7), (7, 1)}


def test_one_office_takes_11_steps_by_breadth_first_search() -> None:
    fatal = cells("decoration")
    to_coffee = distances(LAYOUT, LAYOUT.start, fatal)
    lengths = [to_coffee[cup] + distances(LAYOUT, cup, fatal)[cells("o1")[0]] for cup in cells("coffee")]
    assert min(lengths) == 11


def test_all_six_offices_are_reported_whatever_the_task_names() -> None:
    world = Office(offices=2)
    assert world.features == ("o1", "o2", "o3", "o4", "o5", "o6", "coffee", "decoration")
    assert isinstance(world, World)


@pytest.mark.parametrize("offices", [0, 7])
def test_there_are_one_to_six_offices(offices: int) -> None:
    with pytest.raises(SpecError, match=f"offices is {offices}, and must be from 1 to 6"):
        Office(offices)


@pytest.mark.parametrize("slip", [0.0, 0.1])
def test_the_table_and_the_shell_agree_over_100_000_steps(walk: Callable[..., dict[str, int]], slip: float) -> None:
    world = Office(slip=slip)
    seen = walk(world.env(), world.finite(), int, draws=False)
    assert seen["labels"] > 1000
