"""Greedy episodes: order, path, rewards, and where they are cut off."""

from __future__ import annotations

from typing import Any

import pytest

import errands
from errands.learners import make_learner
from errands.oracle.episode import LANES, TaskStepper, play, play_many, walk
from errands.oracle.optimum import optimum
from errands.tables import FAILURE, RUNNING, SUCCESS
from errands.tasks import Task, load


class Wait:
    def act(self, world_state, machine_state, memory):
        return 0, memory


def test_a_walk_tells_order_path_and_rewards():
    task = load("figure-1")
    best = optimum(task)
    seen = walk(best.policy, task)
    assert seen.order == ("b2", "s", "b1", "s")
    assert (seen.path, seen.actions, seen.length, seen.success) == (best.path, best.actions, 10, True)
    assert seen.rewards == (0.0,) * 9 + (1.0,)


def test_the_limit_cuts_an_endless_walk_off():
    task = load("corridor")
    seen = walk(Wait(), task)
    assert (seen.length, seen.success, seen.order) == (task.world.limit, False, ())


def test_more_than_sixty_four_subtasks_can_be_walked():
    assert walk(Wait(), load("visit-100")).length > 1000


def test_the_seed_decides_random_outcomes(grid):
    task = grid(["A....g"], "g", slip=0.5)
    policy = optimum(task).policy
    walks = [walk(policy, task, seed) for seed in range(20)]
    assert walks[0] == walk(policy, task, 0)
    assert len({w.length for w in walks}) > 1


UP, RIGHT, DOWN, LEFT = range(4)


def test_subtasks_and_features_are_told_as_they_are_completed(grid):
    task_stepper = TaskStepper(grid(["Abs"], "any_order(b, after=s)"))
    first = task_stepper.step(0, task_stepper.stepper.start, RIGHT)
    assert (first.world_state, first.status, first.completed, first.reward) == (1, RUNNING, ("b",), 0.0)
    last = task_stepper.step(1, first.machine_state, RIGHT)
    assert (last.status, last.completed, last.reward) == (SUCCESS, ("s",), 1.0)


def test_a_fatal_feature_completes_nothing():
    task = load("office-1")
    task_stepper = TaskStepper(task)
    layout = task.layout
    fatal = dict(layout.places)["decoration"]
    result = task_stepper.step(layout.moves.item(fatal, LEFT), task_stepper.stepper.start, RIGHT)
    assert (result.status, result.completed) == (FAILURE, ())


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
    task_stepper = TaskStepper(Task.from_toml(text))
    result = task_stepper.step(14, task_stepper.stepper.start, 2)
    assert (result.world_state, result.reward, result.status) == (15, -1.0, FAILURE)


@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
def test_episodes_played_side_by_side_are_those_played_one_by_one(env: str) -> None:
    """More episodes than environments, of different lengths; the network's weights are random."""
    rules = {"a": {"index": 0, "above": 0.03}, "b": {"index": 0, "below": -0.03}}
    task = Task.from_env(env, rules, "any_order(a, b)", limit=40)
    small = {"width": 16, "depth": 1, "capacity": 500, "warmup": 20, "platform": "cpu"}
    policy: Any = make_learner(task, "hrm", settings=small).policy
    one_by_one = [play(policy, task, seed) for seed in range(LANES + 8)]
    assert play_many(policy, task, range(LANES + 8)) == one_by_one
    assert len({length for length, _, _ in one_by_one}) > 3


def test_a_world_without_chance_is_evaluated_by_one_episode_and_no_interval() -> None:
    run = errands.train("figure-1", "scout", steps=500)
    sample = run.evaluate(episodes=100)
    assert (sample.episodes, str(sample.length), str(sample.success)) == (1, "10", "1")
    assert (sample.success.low, sample.success.high, sample.length.low, sample.length.high) == (1, 1, 10, 10)


def test_where_moves_slip_the_interval_is_told() -> None:
    text = errands.load("figure-1").to_toml().replace("[world]", "[world]\nslip = 0.2")
    sample = errands.train(errands.Task.from_toml(text), "scout", steps=500).evaluate(episodes=20)
    assert sample.episodes == 20
    assert sample.success.low < 1 == sample.success.high
    assert str(sample.success) == f"1 ({sample.success.low:.6g} to 1)"
