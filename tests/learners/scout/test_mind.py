"""Which planner fits a task, by its size and by whether moves are certain."""

from __future__ import annotations

import numpy as np
import pytest

from errands.learners.scout.fallback import Nearest
from errands.learners.scout.learner import ScoutConfig, new_known
from errands.learners.scout.machine import Lowering
from errands.learners.scout.planner import Mind, Planner, Usual
from errands.learners.scout.policy import Exact
from errands.learners.scout.stages import Crowd, Staged
from errands.machines import NumericRM
from errands.tasks import any_order, avoid

SMALL = avoid("x", any_order("p", "q"))
MANY = any_order(*(f"v{i}" for i in range(40)))
TWO = NumericRM.of(
    "u0", ["won"], ["u0 -> u0 : n↓ ; 0", "u0 -> u0 : m↓ & n! ; 0", "u0 -> won : n⤓ & m⤓ ; 1"],
    numeric={"n": [f"x{i}" for i in range(35)], "m": [f"y{i}" for i in range(35)]},
)  # fmt: skip


def mind(machine: NumericRM) -> Mind:
    return Mind(Lowering(machine, [set(), {"x"}, {"p"}], ()), ScoutConfig(), 0, Planner)


@pytest.mark.parametrize(("machine", "kind"), [(SMALL, Planner), (MANY, Crowd), (TWO, Nearest)])
def test_certain_moves_are_planned_exactly_by_stages_or_greedily(machine: NumericRM, kind: type) -> None:
    assert isinstance(mind(machine).guide(new_known(4, 2, 1), settled=False), kind)


@pytest.mark.parametrize(("machine", "kind"), [(SMALL, Exact), (MANY, Staged), (TWO, Usual)])
def test_random_moves_are_planned_by_values_stages_or_usual_outcomes(machine: NumericRM, kind: type) -> None:
    assert isinstance(mind(machine).prospect(new_known(4, 2, 1)), kind)


def test_a_certificate_is_looked_for_only_where_states_are_numbered() -> None:
    assert mind(SMALL).due == ScoutConfig().replan_every
    assert mind(MANY).due is None
    assert mind(MANY).agenda is None


@pytest.mark.parametrize("machine", [SMALL, avoid("x", MANY)])
def test_fatal_labels_are_those_that_fail_in_every_running_state(machine: NumericRM) -> None:
    assert mind(machine).fatal.tolist() == [False, True, False]


def test_labels_that_come_later_are_followed() -> None:
    made = mind(SMALL)
    assert made.agenda is not None
    assert len(made.agenda.delta) == 3
    made.lowering.add([{"q"}])
    assert len(made.agenda.delta) == 4
    start, last = made.agenda.number((0, 0b11)), made.agenda.number((0, 0b01))
    assert made.agenda.delta[3, start] == last


def test_usual_outcomes_are_routed_cell_by_cell() -> None:
    made = mind(TWO)
    assert np.array_equal(made.prospect(new_known(4, 2, 1)).route(made.lowering.stepper.start), np.zeros(4))
