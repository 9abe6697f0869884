"""Plans for random moves: values by hand, beside those of a linear solve."""

from __future__ import annotations

import numpy as np
import pytest

from errands.kernels.scout.memory import Known, observe
from errands.learners.scout.learner import new_known
from errands.learners.scout.machine import Lowering, number_states
from errands.learners.scout.planner import ExactValues, RoutedPolicy
from errands.tasks import sequence

GAMMA = 0.9
GOAL, NOTHING = 1, 0


@pytest.fixture
def lowering() -> Lowering:
    return Lowering(sequence("g"), [set(), {"g"}], ())


def risky() -> Known:
    """Cell 0: action 0 reaches the goal half of the time and else stays; action 1 leads to cell 1, from where it is sure."""
    known = new_known(3, 2, 2)
    for _ in range(500):
        observe(known, 0, 0, 2, GOAL, False)
        observe(known, 0, 0, 0, NOTHING, False)
        observe(known, 0, 1, 1, NOTHING, False)
        observe(known, 1, 0, 2, GOAL, False)
    return known


def exact(known: Known, lowering: Lowering, gamma: float = GAMMA) -> ExactValues:
    agenda = number_states(lowering)
    assert agenda is not None
    return ExactValues(known, agenda, 1e-9, gamma)


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
    observe(known, 1, 0, 1, GOAL, False)
    random_planner = exact(known, lowering)
    start = random_planner.agenda.number(lowering.stepper.start)
    assert np.allclose(random_planner.values[start], [0.0, 0.9])
