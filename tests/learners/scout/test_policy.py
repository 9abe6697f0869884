"""The policy that follows a planner's walks."""

from __future__ import annotations

from errands.learners.scout.planner import PlannedPolicy
from errands.learners.scout.stages import KnownWay

HERE, THERE = (0, 0b11), (0, 0b01)


class Left:
    """A planner that knows one walk, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, int]] = []

    def walk(self, state: tuple[int, int], cell: int) -> KnownWay | None:
        self.asked.append((state, cell))
        return KnownWay((3, 2, 1), (5, 4, 9), (HERE, HERE, THERE)) if (state, cell) == (HERE, 5) else None


def test_a_walk_is_planned_once_and_followed_step_by_step() -> None:
    planner = Left()
    policy = PlannedPolicy(planner, 9)
    assert [policy.act(cell, state, None) for cell, state in ((5, HERE), (4, HERE), (9, THERE))] == [
        (3, None),
        (2, None),
        (1, None),
    ]
    assert planner.asked == [(HERE, 5)]


def test_where_the_planner_knows_nothing_action_0_is_taken() -> None:
    planner = Left()
    policy = PlannedPolicy(planner, 9)
    assert policy.act(7, HERE, None) == (0, None)
    assert policy.act(7, HERE, None) == (0, None)
    assert planner.asked == [(HERE, 7)]
    assert policy.act(5, THERE, None)[0] == 0


def test_an_earlier_plan_is_kept_where_two_walks_meet() -> None:
    policy = PlannedPolicy(Left(), 9)
    policy.planned[4, HERE] = 0
    assert policy.act(5, HERE, None)[0] == 3
    assert policy.act(4, HERE, None)[0] == 0


def test_cells_that_the_planner_never_heard_of_are_not_asked_about() -> None:
    """A policy may meet states that were numbered after it was made; compiled searches would read beyond their arrays."""
    assert PlannedPolicy(Left(), 2).act(5, (0, 1), None) == (0, None)
