"""Visit: golden map, sizes, and the table beside the shell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from errands.errors import SpecError
from errands.worlds import Visit, World


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
