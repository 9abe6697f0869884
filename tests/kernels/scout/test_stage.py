"""Shortest ways within a stage: to every item's cell and to success, with the actions of one of them."""

from __future__ import annotations

import pytest

from errands.learners.scout.kernel.memory import Known, observe
from errands.learners.scout.kernel.plan import FAR
from errands.learners.scout.kernel.tour import NOWHERE, SUCCEED
from errands.learners.scout.machine import Lowering
from errands.learners.scout.stages import Stage, StageCells, find_stages
from errands.learners.scout.tabular import new_known
from errands.tasks.phrases import any_order

LEFT, RIGHT = range(2)
ROW = ["b1", "", "", "s", "", "b2"]
LABELS: list[set[str]] = [set(), {"b1"}, {"b2"}, {"s"}]
LOWERING = Lowering(any_order("b1", "b2", after="s"), LABELS, ())


def known() -> Known:
    found = new_known(6, 2, 1)
    for s in range(6):
        for a, d in ((LEFT, -1), (RIGHT, 1)):
            there = min(max(s + d, 0), 5)
            observe(found, s, a, there, LABELS.index({ROW[there]} - {""}), False)
    return found


STAGES = find_stages(LOWERING)
assert STAGES is not None
FIRST, LAST = STAGES
CHOOSER, CARRYING = FIRST.chooser, 1 - FIRST.chooser


def searched(stage: Stage, u: int, s: int, goal: int = NOWHERE) -> tuple[list[int], int, list[int]]:
    arrive, won, way = StageCells(known(), LOWERING, stage).from_here(u, s, goal)
    return arrive.tolist(), won, way.tolist()


def test_boxes_are_reached_straight_with_empty_hands() -> None:
    arrive, won, way = searched(FIRST, CHOOSER, 1)
    assert tuple(arrive) == (1, 4)
    assert (won, way) == (FAR, [])


def test_with_a_box_in_hand_the_station_comes_first() -> None:
    """Carrying from cell 0: 3 to the station, then 2 on to b2 or 3 back to b1."""
    arrive, _, _ = searched(FIRST, CARRYING, 0)
    assert tuple(arrive) == (6, 5)


@pytest.mark.parametrize(("s", "goal", "way"), [(1, 0, [LEFT]), (1, 1, [RIGHT] * 4), (4, 1, [RIGHT])])
def test_the_way_to_a_box_is_the_shortest(s: int, goal: int, way: list[int]) -> None:
    assert searched(FIRST, CHOOSER, s, goal)[2] == way


def test_the_last_box_is_carried_to_success() -> None:
    _, won, way = searched(LAST, CARRYING, 0, SUCCEED)
    assert (won, way) == (3, [RIGHT] * 3)
    assert searched(LAST, CARRYING, 5, SUCCEED)[1:] == (2, [LEFT] * 2)


def test_nothing_is_passed_that_was_never_tried() -> None:
    seen = known()
    seen.tried[:] = 0
    ground = StageCells(seen, LOWERING, FIRST)
    arrive, won, way = ground.from_here(CHOOSER, 1, 0)
    assert (arrive == FAR).all()
    assert (won, len(way)) == (FAR, 0)
