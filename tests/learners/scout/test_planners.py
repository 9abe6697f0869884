"""Which planner fits a task, by its size and by whether moves are certain."""

from __future__ import annotations

import numpy as np
import pytest

from errands.learners.scout.learner import ScoutConfig, new_known
from errands.learners.scout.machine import Lowering
from errands.learners.scout.planner import ExactPlanner, ExactValues, NearestPlanner, Planners, UsualOutcomes
from errands.learners.scout.stages import StageValues, TourPlanner
from errands.machines import NumericRM
from errands.tasks import any_order, avoid

SMALL = avoid("x", any_order("p", "q"))
MANY = any_order(*(f"v{i}" for i in range(40)))
TWO = NumericRM.of(
    "u0", ["won"], ["u0 -> u0 : n↓ ; 0", "u0 -> u0 : m↓ & n! ; 0", "u0 -> won : n⤓ & m⤓ ; 1"],
    numeric={"n": [f"x{i}" for i in range(35)], "m": [f"y{i}" for i in range(35)]},
)  # fmt: skip


def planners(machine: NumericRM) -> Planners:
    return Planners(Lowering(machine, [set(), {"x"}, {"p"}], ()), ScoutConfig(), 0, ExactPlanner)


@pytest.mark.parametrize(("machine", "kind"), [(SMALL, ExactPlanner), (MANY, TourPlanner), (TWO, NearestPlanner)])
def test_certain_moves_are_planned_exactly_by_stages_or_greedily(machine: NumericRM, kind: type) -> None:
    assert isinstance(planners(machine).certain(new_known(4, 2, 1), settled=False), kind)


@pytest.mark.parametrize(("machine", "kind"), [(SMALL, ExactValues), (MANY, StageValues), (TWO, UsualOutcomes)])
def test_random_moves_are_planned_by_values_stages_or_usual_outcomes(machine: NumericRM, kind: type) -> None:
    assert isinstance(planners(machine).chance(new_known(4, 2, 1)), kind)


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
    assert np.array_equal(fitting.chance(new_known(4, 2, 1)).route(fitting.lowering.stepper.start), np.zeros(4))
