"""The last resort: always the nearest step that moves the machine on, on a world that is fully known."""

from __future__ import annotations

from typing import Any

import pytest

from errands.learners.scout.learner import new_known
from errands.learners.scout.planner import NearestPlanner
from errands.tasks import load

UP, RIGHT, DOWN, LEFT = range(4)


@pytest.mark.parametrize(
    ("row", "phrase", "steps"),
    [
        ("A..g", "g", 3),
        ("x.A..y", "any_order(x, y)", 2 + 5),
        ("a.A.b", "sequence(a, b, a)", 2 + 4 + 4),
        ("yA.x..x", "any_order(x, y)", 1 + 3),
    ],
)
def test_the_walk_takes_the_nearest_first(drawn: Any, tried: Any, row: str, phrase: str, steps: int) -> None:
    known, lowering = tried(drawn([row], phrase))
    walk = NearestPlanner(known, lowering).walk(lowering.stepper.start, row.index("A"))
    assert walk is not None
    assert len(walk.actions) == len(walk.cells) == len(walk.states) == steps
    assert walk.cells[0] == row.index("A")


def test_three_items_are_taken_nearest_first(drawn: Any, tried: Any) -> None:
    """y is 2 away and x 3: y, x, z takes 2 + 5 + 4 = 11."""
    known, lowering = tried(drawn(["z...x..A.y"], "any_order(x, y, z)"))
    walk = NearestPlanner(known, lowering).walk(lowering.stepper.start, 7)
    assert walk is not None
    assert len(walk.actions) == 2 + 5 + 4


def test_where_only_a_fatal_cell_leads_on_there_is_no_walk(drawn: Any, tried: Any) -> None:
    known, lowering = tried(drawn(["Axg"], "avoid(x, g)"))
    assert NearestPlanner(known, lowering).walk(lowering.stepper.start, 0) is None
    office = load("office-1")
    known, lowering = tried(office)
    assert office.finite is not None
    assert NearestPlanner(known, lowering).walk(lowering.stepper.start, int(office.finite.table.starts[0])) is not None


def test_the_steps_of_a_leg_come_in_their_order(drawn: Any, tried: Any) -> None:
    known, lowering = tried(drawn(["A..", "##.", "g.."], "g"))
    walk = NearestPlanner(known, lowering).walk(lowering.stepper.start, 0)
    assert walk is not None
    assert walk.actions == (RIGHT, RIGHT, DOWN, DOWN, LEFT, LEFT)
    assert walk.cells == (0, 1, 2, 5, 8, 7)


def test_nothing_known_is_no_walk(drawn: Any, tried: Any) -> None:
    _, lowering = tried(drawn(["A..g"], "g"))
    assert NearestPlanner(new_known(4, 4, 1), lowering).walk(lowering.stepper.start, 0) is None
