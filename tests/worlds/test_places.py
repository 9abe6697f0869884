"""Pickup and Taxi: the streets beside Gymnasium's, the table beside the shell, and optima by a search of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gymnasium as gym
import pytest

import errands
from errands.errors import SpecError
from errands.worlds import Pickup, Taxi, Visit, World
from errands.worlds.grid import DOWN, LEFT, RIGHT, UP, GridLayout

Walk = Callable[..., dict[str, int]]


def test_the_streets_are_those_of_gymnasiums_taxi() -> None:
    layout = Taxi().layout
    theirs: Any = gym.make("Taxi-v4").unwrapped
    for cell in range(25):
        for ours, action in ((DOWN, 0), (UP, 1), (RIGHT, 2), (LEFT, 3)):
            state = theirs.encode(cell // 5, cell % 5, 0, 1)
            ((_, there, _, _),) = theirs.P[state][action]
            row, column, *_ = theirs.decode(there)
            assert layout.moves.item(cell, ours) == 5 * row + column


def test_pairs_stand_on_distinct_cells_and_more_pairs_only_add_to_a_map() -> None:
    world = Pickup(3, map_seed=1)
    assert isinstance(world, World)
    assert world.features == ("p1", "d1", "p2", "d2", "p3", "d3")
    assert len({cell for _, cell in world.layout.places} | {world.layout.start}) == 7
    assert Pickup(5, map_seed=1).layout.places[:6] == world.layout.places
    assert (world.layout.width, Pickup(40).layout.width) == (10, 18)
    with pytest.raises(SpecError, match="passengers is 13, and must be from 1 to 12"):
        Taxi(13)
    with pytest.raises(SpecError, match="pairs is 0"):
        Pickup(0)


@pytest.mark.parametrize("world", [Pickup(3, 2, slip=0.1), Taxi(3, 2)])
def test_the_table_and_the_shell_agree(walk: Walk, world: Any) -> None:
    seen = walk(world.env(), world.finite(), int, draws=False, steps=5_000)
    assert seen["episodes"] > 4


def _by_hand(layout: GridLayout, count: int, capacity: int) -> int:
    """Breadth first over (cell, in hand, delivered): what stands on a cell is taken, or put down, on entering it."""
    place = {cell: name for name, cell in layout.places}
    start = (layout.start, frozenset[int](), frozenset[int]())
    seen, border, steps = {start}, [start], 0
    while border:
        steps, following = steps + 1, []
        for cell, held, done in border:
            row, column = divmod(cell, layout.width)
            for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                there = (row + down) * layout.width + column + right
                inside = 0 <= row + down < layout.height and 0 <= column + right < layout.width
                if not inside or (min(cell, there), max(cell, there)) in layout.walls:
                    continue
                name = place.get(there, "")
                number = int(name[1:] or 0)
                now = (there, held, done)
                if name.startswith("p") and number not in held | done and len(held) < capacity:
                    now = (there, held | {number}, done)
                elif name.startswith("d") and number in held:
                    now = (there, held - {number}, done | {number})
                if len(now[2]) == count:
                    return steps
                if now not in seen:
                    seen.add(now)
                    following.append(now)
        border = following
    raise AssertionError("no way")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_optima_are_those_of_a_search_by_hand(count: int, seed: int) -> None:
    for name, capacity in ((f"pickup-{count}", count), (f"pickup-{count}-one-at-a-time", 1), (f"taxi-{count}", 1)):
        task = errands.load(name, seed)
        assert task.layout is not None
        assert errands.optimum(task).length == _by_hand(task.layout, count, capacity), name


def test_two_in_hand_are_more_than_one_and_less_than_three() -> None:
    text = errands.load("pickup-3", 5).to_toml()
    lengths = []
    for capacity in (1, 2, 3):
        task = errands.Task.from_toml(text.replace("d3))", f"d3), capacity={capacity})"))
        assert task.layout is not None
        lengths.append(errands.optimum(task).length)
        assert lengths[-1] == _by_hand(task.layout, 3, capacity)
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize("learner", ["scout", "crm", "qcorm"])
def test_learners_drive_the_taxi(learner: str) -> None:
    run = errands.train(errands.load("taxi-2"), learner, steps=60_000)
    assert run.certificate is not None
    assert run.certificate.success == 1
    if learner != "qcorm":
        assert run.certificate.gap == 0


def test_the_map_of_seed_0_is_the_same_on_every_platform() -> None:
    assert Visit(3).layout.start == 88
    assert Visit(3).layout.places == (("v1", 43), ("v2", 4), ("v3", 97))


def test_visit_100_is_20_by_20_and_all_its_places_are_distinct() -> None:
    world = Visit(100)
    assert (world.size, world.limit) == (20, 20_000)
    assert len({cell for _, cell in world.layout.places} | {world.layout.start}) == 101
    assert isinstance(world, World)
    assert replace(Visit(2), places=3) == Visit(3)


def test_no_place_is_no_world() -> None:
    with pytest.raises(SpecError, match="places is 0"):
        Visit(0)


def test_the_table_and_the_shell_agree_over_100_000_steps(walk: Callable[..., dict[str, int]]) -> None:
    world = Visit(8, map_seed=4, slip=0.1)
    seen = walk(world.env(), world.finite(), int, draws=False)
    assert seen["labels"] > 1000
