"""World x agenda: only agenda states that occur, and where their labels lead."""

from __future__ import annotations

import pytest

from errands.errors import TaskError
from errands.kernels.search import DEAD, DONE
from errands.machines import Stepper, unfold_agenda
from errands.oracle.product import product
from errands.tables import RUNNING, SUCCESS
from errands.tasks import load


@pytest.mark.parametrize("name", ["figure-1", "corridor", "office-4", "delivery-5", "visit-6"])
def test_the_numbered_states_are_those_of_the_agenda_machine(name):
    task = load(name)
    stepper = Stepper(task.machine)
    running = {state for state in unfold_agenda(task.machine).states if stepper.status[state[0]] == RUNNING}
    assert set(product(task).number) == running


@pytest.mark.parametrize("name", ["corridor", "office-3", "delivery-3"])
def test_labels_lead_where_the_stepper_goes(name):
    task = load(name)
    crossed, stepper = product(task), Stepper(task.machine)
    for m in range(len(crossed.u)):
        for label, features in enumerate(crossed.world.labels):
            reached = stepper.step(crossed.state(m), features).state
            status = stepper.status[reached[0]]
            expected = crossed.number[reached] if status == RUNNING else DONE if status == SUCCESS else DEAD
            assert crossed.following[m, label] == expected


def test_a_small_budget_is_refused_with_the_size_that_was_needed():
    with pytest.raises(TaskError, match=r"needs 51,100 product states and 0.0 GB"):
        product(load("delivery-8"), budget=1000)


def test_probabilities_add_up(grid):
    crossed = product(grid(["A.g"], "g", slip=0.1))
    assert crossed.chance.sum(axis=2) == pytest.approx(1.0)
    assert crossed.starts == ((0, 1.0),)
