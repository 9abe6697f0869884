"""What recorded episodes say about a task, for episodes that are written down here."""

from __future__ import annotations

from typing import Any

import pytest

from errands.tasks import Task, load
from errands.tasks.check_task import against_task
from errands.tasks.check_walk import Episode, Seen

TASK = load("figure-1")


def seen(
    *features: str, reward: float = 0.0, terminated: bool = False, signals: dict[str, float] | None = None
) -> Seen:
    return Seen(0, 0, set(features), set(features), signals or {}, reward, terminated, True)


def found(task: Task, *steps: Seen) -> dict[str, str]:
    """The codes and sentences about one episode in a foreign environment with features of its own."""
    episode = Episode(4, 0, set(), list(steps))
    env: Any = task.world.env()
    report = against_task(task, env, lambda *_: set(), [episode])
    return {f.code: f.sentence for f in report}


ALL = (seen("b1"), seen("s"), seen("b2"), seen("s"))


def test_a_walk_that_meets_everything_is_in_order() -> None:
    assert found(TASK, *ALL) == {}


def test_a_name_that_never_comes_true_is_told_with_the_name_that_was_meant() -> None:
    said = found(TASK, seen("B1"), seen("s"), seen("b2"))
    assert "'b1' is named in the task and was never true in 3 random steps" in said["never-true"]
    assert "the features report 'B1': spell both alike" in said["never-true"]
    assert "the task never looks at the features 'B1'" in said["not-in-task"]


def test_two_open_subtasks_in_one_step_are_told_with_the_step() -> None:
    said = found(TASK, seen(), seen("b1", "b2"), *ALL)
    assert "b1 and b2 became true in one step (step 2 of seed 4), both open; only b1" in said["two-subtasks"]
    assert "two-subtasks" not in found(TASK, seen("b1"), seen("b1", "b2"), *ALL[1:])


def test_rewards_and_ends_that_the_machine_ignores_are_told() -> None:
    said = found(TASK, *ALL[:3], seen(reward=2.5, terminated=True), seen("s"))
    assert "pays rewards of its own (such as 2.5)" in said["reward-ignored"]
    assert "termination-ignored" not in said
    said = found(TASK, *ALL[:3], seen(terminated=True))
    assert "ended an episode (seed 4) while the machine went on" in said["termination-ignored"]
    assert "termination-ignored" not in found(TASK, *ALL[:3], seen("s", terminated=True))


@pytest.mark.parametrize(("signals", "fault"), [({"control_cost": 0.1}, False), ({}, True)])
def test_a_signal_that_is_paid_must_be_reported_in_every_step(signals: dict[str, float], fault: bool) -> None:
    """Nothing is simulated here: only the world's description is asked."""
    pytest.importorskip("mujoco")
    rest = [seen(name, signals={"control_cost": 0.0}) for name in "CD"]
    said = found(load("cheetah-bcd"), seen("B", signals=signals), *rest)
    assert ("signals" in said) is fault
