"""Plans on known steps: as short as the exact optimum, and hope only where an untried action could be shorter."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from errands.kernels.scout.plan import EXIT, GOAL, NONE
from errands.learners.scout.machine import number_states
from errands.learners.scout.planner import ExactPlanner
from errands.oracle.optimum import optimum
from errands.tasks import Task, load

UP, RIGHT, DOWN, LEFT = range(4)


def planner(tried: Callable[..., Any], task: Task, *without: tuple[int, int]) -> tuple[ExactPlanner, int, int]:
    """The planner, the number of the initial state and the start."""
    known, lowering = tried(task, without)
    agenda = number_states(lowering)
    assert agenda is not None
    assert task.finite is not None
    made = ExactPlanner(known, agenda, lowering, unique=False)
    return made, agenda.number(lowering.stepper.start), int(task.finite.table.starts[0])


@pytest.mark.parametrize("name", ["figure-1", "corridor", "delivery-3", "office-3", "visit-5"])
def test_a_world_that_is_fully_known_is_planned_to_its_optimum(tried: Any, name: str) -> None:
    task = load(name)
    made, x, s = planner(tried, task)
    best = optimum(task).length
    plan = made.plan(x, s)
    assert (plan.kind, plan.cost) == (GOAL, best)
    assert made.lower(x, s) <= best
    assert made.hope(x, s, plan.cost).kind == NONE
    certified = made.certified(x, s)
    assert certified is not None
    assert len(certified.actions) == best


def test_a_walk_names_the_cell_and_the_machine_state_before_each_step(tried: Any, drawn: Any) -> None:
    made, _, s = planner(tried, drawn(["x.A..y"], "any_order(x, y)"))
    walk = made.walk((0, 0b11), s)
    assert walk is not None
    assert walk.actions == (LEFT, LEFT, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT)
    assert walk.cells == (2, 1, 0, 1, 2, 3, 4)
    assert walk.states == ((0, 0b11), (0, 0b11), *[(0, 0b10)] * 5)


def test_an_untried_shortcut_leaves_hope_and_no_certificate(tried: Any, drawn: Any) -> None:
    """Around the wall it takes 6 steps; the action towards the wall was never tried and could be a door."""
    task = drawn(["A#g", ".#.", "..."], "g")
    open_, x, s = planner(tried, task)
    assert open_.certified(x, s) is not None
    made, x, s = planner(tried, task, (0, RIGHT))
    assert made.plan(x, s).cost == 6
    hope = made.hope(x, s, 6)
    assert (hope.kind, hope.cost) == (EXIT, 1)
    assert hope.actions.tolist() == [RIGHT]
    assert made.certified(x, s) is None
    onward = made.onward(x, s)
    assert onward is not None
    assert onward.tolist() == [RIGHT]


def test_an_untried_action_beside_the_goal_gives_no_hope(tried: Any, drawn: Any) -> None:
    made, x, s = planner(tried, drawn(["A..g"], "g"), (2, UP), (3, UP))
    assert made.plan(x, s).cost == 3
    assert made.certified(x, s) is not None


def test_where_no_way_succeeds_that_is_proved(tried: Any, drawn: Any) -> None:
    made, x, s = planner(tried, drawn(["Axg"], "avoid(x, g)"))
    plan = made.certified(x, s)
    assert plan is not None
    assert (plan.kind, plan.cost) == (NONE, math.inf)
    assert made.walk((0, 0), s) is None
    assert made.onward(x, s) is None
