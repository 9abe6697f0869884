"""Plans for random moves and many subtasks: routes that lead to the nearest item first."""

from __future__ import annotations

from typing import Any

import pytest

from errands.learners.scout.stages import Staged, find_stages

UP, RIGHT, DOWN, LEFT = range(4)


@pytest.fixture
def staged(tried: Any, drawn: Any) -> Any:
    def make(row: str, phrase: str) -> Staged:
        known, lowering = tried(drawn([row], phrase))
        stages = find_stages(lowering)
        assert stages is not None
        return Staged(known, lowering, stages, 1e-6, 0.9, 50, 0)

    return make


def test_the_nearer_end_comes_first_and_then_the_other(staged: Any) -> None:
    """x is 2 to the left, y 4 to the right: left first, and once x is done right from everywhere."""
    prospect = staged("x.A...y", "any_order(x, y)")
    assert prospect.route((0, 0b11))[1:3].tolist() == [LEFT, LEFT]
    assert prospect.route((0, 0b10))[:6].tolist() == [RIGHT] * 6
    assert prospect.route((0, 0b01))[1:].tolist() == [LEFT] * 6


def test_the_order_of_all_items_decides_and_not_the_nearest(staged: Any) -> None:
    """x is 3 to the left, y 1 and z 7 to the right: x, y, z takes 3 + 4 + 6 = 13; y first takes 15 at best."""
    prospect = staged("x..Ay.....z", "any_order(x, y, z)")
    assert prospect.route((0, 0b111))[3] == LEFT


def test_boxes_are_carried_to_the_station(staged: Any) -> None:
    prospect = staged("b.A.s", "any_order(b, after=s)")
    chooser = prospect.stages[0].chooser
    carrying = 1 - chooser
    assert prospect.route((chooser, 0b1))[1:].tolist() == [LEFT] * 4
    assert prospect.route((carrying, 0))[:4].tolist() == [RIGHT] * 4


def test_a_route_is_solved_once(staged: Any) -> None:
    prospect = staged("x.A.y", "any_order(x, y)")
    assert prospect.route((0, 0b11)) is not None
    kept = prospect.routes[0b11]
    prospect.route((0, 0b11))
    assert prospect.routes[0b11] is kept
    assert set(prospect.routes) == {0b11}
