"""Plans for random moves and many subtasks: routes that lead to the nearest item first."""

from __future__ import annotations

from typing import Any

import pytest

from errands.learners.scout.stages import StageValues, find_stages

UP, RIGHT, DOWN, LEFT = range(4)


@pytest.fixture
def staged(tried: Any, drawn: Any) -> Any:
    def make(row: str, phrase: str) -> StageValues:
        known, lowering = tried(drawn([row], phrase))
        stages = find_stages(lowering)
        assert stages is not None
        return StageValues(known, lowering, stages, 1e-6, 0.9, 50, 0)

    return make


def test_the_nearer_end_comes_first_and_then_the_other(staged: Any) -> None:
    """x is 2 to the left, y 4 to the right: left first, and once x is done right from everywhere."""
    random_planner = staged("x.A...y", "any_order(x, y)")
    assert random_planner.route((0, 0b11))[1:3].tolist() == [LEFT, LEFT]
    assert random_planner.route((0, 0b10))[:6].tolist() == [RIGHT] * 6
    assert random_planner.route((0, 0b01))[1:].tolist() == [LEFT] * 6


def test_the_order_of_all_items_decides_and_not_the_nearest(staged: Any) -> None:
    """x is 3 to the left, y 1 and z 7 to the right: x, y, z takes 3 + 4 + 6 = 13; y first takes 15 at best."""
    random_planner = staged("x..Ay.....z", "any_order(x, y, z)")
    assert random_planner.route((0, 0b111))[3] == LEFT


def test_boxes_are_carried_to_the_station(staged: Any) -> None:
    random_planner = staged("b.A.s", "any_order(b, after=s)")
    chooser = random_planner.stages[0].chooser
    carrying = 1 - chooser
    assert random_planner.route((chooser, 0b1))[1:].tolist() == [LEFT] * 4
    assert random_planner.route((carrying, 0))[:4].tolist() == [RIGHT] * 4


def test_a_route_is_solved_once(staged: Any) -> None:
    random_planner = staged("x.A.y", "any_order(x, y)")
    assert random_planner.route((0, 0b11)) is not None
    kept = random_planner.routes[0b11]
    random_planner.route((0, 0b11))
    assert random_planner.routes[0b11] is kept
    assert set(random_planner.routes) == {0b11}
