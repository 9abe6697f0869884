"""Orders for many subtasks on certain moves: the lengths of walks that can be counted, and bounds below them."""

from __future__ import annotations

from typing import Any

import pytest

from errands.learners.scout.stages import TourPlanner, find_stages
from errands.oracle.optimum import optimum
from errands.tasks import Task, load


def crowd(tried: Any, task: Task, kicks: int = 100) -> tuple[TourPlanner, int]:
    known, lowering = tried(task)
    stages = find_stages(lowering)
    assert stages is not None
    assert task.finite is not None
    return TourPlanner(known, lowering, stages, kicks, 0), int(task.finite.table.starts[0])


@pytest.mark.parametrize("name", ["figure-1", "delivery-4", "visit-6", "corridor"])
def test_few_subtasks_are_ordered_as_well_as_can_be(tried: Any, name: str) -> None:
    task = load(name)
    planner, s = crowd(tried, task)
    walk = planner.walk(planner.lowering.stepper.start, s)
    best = optimum(task).length
    assert walk is not None
    assert best is not None
    assert len(walk.actions) >= best
    if name != "corridor":
        assert len(walk.actions) == best
    assert planner.floor(planner.lowering.stepper.start, s, float(len(walk.actions))) <= best


def test_items_in_a_row_are_taken_as_they_come(tried: Any, drawn: Any) -> None:
    """Six to the left of the start at the right end: six steps for six items, the order being forced."""
    task = drawn(["fedcbaA"], "any_order(a, b, c, d, e, f)")
    planner, s = crowd(tried, task, kicks=0)
    start = planner.lowering.stepper.start
    walk = planner.walk(start, s)
    assert walk is not None
    assert len(walk.actions) == 6
    assert [bin(mask).count("1") for _, mask in walk.states] == [6, 5, 4, 3, 2, 1]
    assert planner.floor(start, s, 6.0) == 6.0


def test_groups_are_done_one_after_the_other(tried: Any, drawn: Any) -> None:
    """p and q first, though r lies on the way: 1 + 2, then on to r and t: 1 + 2."""
    planner, s = crowd(tried, drawn(["pAqr.t"], "sequence(any_order(p, q), any_order(r, t))"))
    walk = planner.walk(planner.lowering.stepper.start, s)
    assert walk is not None
    assert len(walk.actions) == 6


def test_an_item_whose_cell_is_not_known_leaves_no_walk(tried: Any, drawn: Any) -> None:
    task = drawn(["x.A.y"], "any_order(x, y)")
    known, lowering = tried(task, tuple((s, a) for s in (3, 4) for a in range(4)))
    stages = find_stages(lowering)
    assert stages is not None
    planner = TourPlanner(known, lowering, stages, 10, 0)
    assert planner.walk(lowering.stepper.start, 2) is None
    assert planner.costs(0, 0, 2, 0b11) is None
    costs = planner.costs(0, 0, 2, 0b01)
    assert costs is not None
    assert costs.first.tolist() == [2.0]


def test_costs_are_the_distances_on_the_drawing(tried: Any, drawn: Any) -> None:
    planner, s = crowd(tried, drawn(["x.A..y"], "any_order(x, y)"))
    costs = planner.costs(0, 0, s, 0b11)
    assert costs is not None
    assert (costs.items, costs.first.tolist(), costs.last.tolist()) == ([0, 1], [2.0, 3.0], [0.0, 0.0])
    assert costs.between[0, 1] == costs.between[1, 0] == 5.0
