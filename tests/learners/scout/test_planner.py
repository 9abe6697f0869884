"""Planners of Scout: which fits a task, plans as short as the optimum, values by hand and by a linear solve, policies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from errands.learners.scout.kernel.memory import Known, observe
from errands.learners.scout.kernel.model import learn_model
from errands.learners.scout.kernel.plan import EXIT, GOAL, NONE
from errands.learners.scout.machine import Lowering, number_states
from errands.learners.scout.planner import (
    ExactPlanner,
    ExactValues,
    NearestPlanner,
    PlannedPolicy,
    Planners,
    RandomPlanner,
    RoutedPolicy,
    UsualOutcomes,
)
from errands.learners.scout.settings import ScoutConfig
from errands.learners.scout.stages import KnownWay, StageValues, TourPlanner
from errands.learners.scout.tabular import new_known
from errands.machines import NumericRM
from errands.oracle.optimum import optimum
from errands.tasks import Task, load
from errands.tasks.phrases import any_order, avoid, sequence

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


SMALL = avoid("x", any_order("p", "q"))
MANY = any_order(*(f"v{i}" for i in range(40)))
TWO = NumericRM.of(
    "u0", ["won"], ["u0 -> u0 : n↓ ; 0", "u0 -> u0 : m↓ & n! ; 0", "u0 -> won : n⤓ & m⤓ ; 1"],
    numeric={"n": [f"x{i}" for i in range(35)], "m": [f"y{i}" for i in range(35)]},
)  # fmt: skip


def planners(machine: NumericRM) -> Planners:
    return Planners(Lowering(machine, [set(), {"x"}, {"p"}], ()), ScoutConfig(), 0, ExactPlanner)


def by_chance(fitting: Planners) -> RandomPlanner:
    known = new_known(4, 2, 1)
    return fitting.chance(known, learn_model(known, 20.0))


@pytest.mark.parametrize(("machine", "kind"), [(SMALL, ExactPlanner), (MANY, TourPlanner), (TWO, NearestPlanner)])
def test_certain_moves_are_planned_exactly_by_stages_or_greedily(machine: NumericRM, kind: type) -> None:
    assert isinstance(planners(machine).certain(new_known(4, 2, 1), settled=False), kind)


@pytest.mark.parametrize(("machine", "kind"), [(SMALL, ExactValues), (MANY, StageValues), (TWO, UsualOutcomes)])
def test_random_moves_are_planned_by_values_stages_or_usual_outcomes(machine: NumericRM, kind: type) -> None:
    assert isinstance(by_chance(planners(machine)), kind)


def test_a_certificate_is_looked_for_only_where_states_are_numbered() -> None:
    assert planners(SMALL).due == ScoutConfig().replan_every
    assert planners(MANY).due is None
    assert planners(MANY).agenda is None


@pytest.mark.parametrize("machine", [SMALL, avoid("x", MANY)])
def test_fatal_labels_are_those_that_fail_in_every_running_state(machine: NumericRM) -> None:
    assert planners(machine).fatal.tolist() == [False, True, False]


def test_labels_that_come_later_are_followed() -> None:
    fitting = planners(SMALL)
    assert fitting.agenda is not None
    assert len(fitting.agenda.delta) == 3
    fitting.lowering.add([{"q"}])
    assert len(fitting.agenda.delta) == 4
    start, last = fitting.agenda.number((0, 0b11)), fitting.agenda.number((0, 0b01))
    assert fitting.agenda.delta[3, start] == last


def test_usual_outcomes_are_routed_cell_by_cell() -> None:
    fitting = planners(TWO)
    assert np.array_equal(by_chance(fitting).route(fitting.lowering.stepper.start), np.zeros(4))


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


GAMMA = 0.9
AT_GOAL, NOTHING = 1, 0


@pytest.fixture
def lowering() -> Lowering:
    return Lowering(sequence("g"), [set(), {"g"}], ())


def risky() -> Known:
    """Cell 0: action 0 reaches the goal half of the time and else stays; action 1 leads to cell 1, from where it is sure."""
    known = new_known(3, 2, 2)
    for _ in range(500):
        observe(known, 0, 0, 2, AT_GOAL, False)
        observe(known, 0, 0, 0, NOTHING, False)
        observe(known, 0, 1, 1, NOTHING, False)
        observe(known, 1, 0, 2, AT_GOAL, False)
    return known


def exact(known: Known, lowering: Lowering, gamma: float = GAMMA) -> ExactValues:
    agenda = number_states(lowering)
    assert agenda is not None
    return ExactValues(learn_model(known, 1e-9), agenda, gamma)


def test_values_are_the_expected_discount_at_success(lowering: Lowering) -> None:
    """Trying until it works: v = 0.9 (1/2 + v/2), so v = 0.45 / 0.55 = 0.818; the sure way is worth 0.81."""
    random_planner = exact(risky(), lowering)
    start = random_planner.agenda.number(lowering.stepper.start)
    assert random_planner.values[start, 0] == pytest.approx(0.45 / 0.55, abs=1e-6)
    assert random_planner.values[start, 1] == pytest.approx(0.9, abs=1e-6)
    assert random_planner.route(lowering.stepper.start).tolist()[:2] == [0, 0]


def test_the_better_way_depends_on_the_discount(lowering: Lowering) -> None:
    """With gamma 0.5 trying is worth 0.25 / 0.75 = 0.333 and the sure way 0.25; with 0.99 it is 0.9802 against 0.9801."""
    assert exact(risky(), lowering, 0.5).route(lowering.stepper.start)[0] == 0
    slower = risky()
    for _ in range(1500):
        observe(slower, 0, 0, 0, NOTHING, False)
    assert exact(slower, lowering, 0.9).route(lowering.stepper.start)[0] == 1


def test_the_policy_follows_the_route_and_takes_action_0_where_nothing_was_tried(lowering: Lowering) -> None:
    policy = RoutedPolicy(exact(risky(), lowering))
    assert policy.act(0, lowering.stepper.start, None) == (0, None)
    assert policy.act(2, lowering.stepper.start, "anything") == (0, None)
    assert exact(risky(), lowering).route(lowering.stepper.start)[2] == -1


def test_a_step_with_which_the_world_ends_leads_nowhere(lowering: Lowering) -> None:
    known = new_known(2, 1, 1)
    observe(known, 0, 0, 1, NOTHING, True)
    observe(known, 1, 0, 1, AT_GOAL, False)
    random_planner = exact(known, lowering)
    start = random_planner.agenda.number(lowering.stepper.start)
    assert np.allclose(random_planner.values[start], [0.0, 0.9])


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
