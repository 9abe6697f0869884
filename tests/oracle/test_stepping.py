"""World and machine side by side: rewards, ends, and what a step completes."""

from __future__ import annotations

from errands.oracle.stepping import Pair
from errands.tables import FAILURE, RUNNING, SUCCESS
from errands.tasks import Task, load

UP, RIGHT, DOWN, LEFT = range(4)


def test_subtasks_and_features_are_told_as_they_are_completed(grid):
    pair = Pair(grid(["Abs"], "any_order(b, after=s)"))
    first = pair.step(0, pair.stepper.start, RIGHT)
    assert (first.world_state, first.status, first.completed, first.reward) == (1, RUNNING, ("b",), 0.0)
    last = pair.step(1, first.machine_state, RIGHT)
    assert (last.status, last.completed, last.reward) == (SUCCESS, ("s",), 1.0)


def test_a_fatal_feature_completes_nothing():
    task = load("office-1")
    pair = Pair(task)
    layout = task.layout
    fatal = dict(layout.places)["decoration"]
    landing = pair.step(layout.move(fatal, LEFT), pair.stepper.start, RIGHT)
    assert (landing.status, landing.completed) == (FAILURE, ())


def test_signals_are_paid_and_the_worlds_own_end_is_a_failure():
    text = """name = "lake"
[world]
kind = "gymnasium"
id = "FrozenLake-v1"
kwargs = { is_slippery = false }
features = { goal = [15], never = [0] }
[machine]
initial = "u0"
success = ["u1"]
transitions = ["u0 -> u0 : goal & ~never ; -reward", "u0 -> u1 : never & ~goal ; 1"]
"""
    pair = Pair(Task.from_toml(text))
    landing = pair.step(14, pair.stepper.start, 2)
    assert (landing.world_state, landing.reward, landing.status) == (15, -1.0, FAILURE)
