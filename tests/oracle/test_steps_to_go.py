"""The steps-to-go table of Figure 1, and what it says about the corridor."""

from __future__ import annotations

import pytest

from errands.errors import TaskError
from errands.oracle.optimum import optimum, steps_to_go
from errands.tasks import load


def test_figure_1_has_the_table_of_the_facts():
    assert steps_to_go(load("figure-1")) == {
        "0{b1,b2}b1": 12,
        "0{b1,b2}b2": 10,
        "1{b1}s": 6,
        "1{b2}s": 9,
        "2{b1}b1": 2,
        "2{b2}b2": 8,
        "3{}s": 1,
        "4{}": 0,
    }


def test_an_objective_that_cannot_come_first_has_no_entry():
    table = steps_to_go(load("corridor"))
    assert table["0{o1,o2}coffee"] == 20
    assert "1{o1,o2}o2" not in table  # from the left coffee the way to o2 leads over o1
    assert table["1{o1,o2}o1"] == 14


@pytest.mark.parametrize("name", ["office-3", "delivery-3", "visit-4"])
def test_the_least_of_the_first_labels_is_the_optimum(name):
    task = load(name)
    first = [steps for label, steps in steps_to_go(task).items() if label.startswith("0{")]
    assert min(first) == optimum(task, orders=False).length


def test_random_worlds_are_refused(grid):
    with pytest.raises(TaskError, match="moves are random"):
        steps_to_go(grid(["A.g"], "g", slip=0.1))
