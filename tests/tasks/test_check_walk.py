"""Recorded random walks: as many steps as asked, repeatable, and what every step reported."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from errands.tasks import Task, load
from errands.tasks.check import (
    EPISODES,
    RandomWalk,
    RecordedStep,
    Recorder,
    against_task,
    numbers,
    repeated,
    same_observations,
)


class Counter(gym.Env[Any, Any]):
    """Counts up from the seed's draw; ends at 12 and tells of even numbers."""

    observation_space = gym.spaces.Discrete(10)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(3))
        return self.at, {"features": set()}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.at += 1
        info = {"features": {"even"} if self.at % 2 == 0 else set(), "signals": {"cost": 0.5 * action}}
        return self.at, 1.0, self.at >= 12, False, info


def even(observation: Any, action: Any, following: Any, info: dict[str, Any]) -> set[str]:
    return {"even"} if following % 2 == 0 else set()


def test_a_walk_has_at_least_five_episodes_and_as_many_steps_as_were_asked_for() -> None:
    episodes = list(Recorder(Counter(), None).walk(100))
    assert len(episodes) >= EPISODES
    assert [e.seed for e in episodes] == list(range(len(episodes)))
    assert 100 <= sum(len(e.steps) for e in episodes) <= 112
    assert len(list(Recorder(Counter(), None).walk(1))) == 1


def test_every_step_is_written_down() -> None:
    (episode,) = Recorder(Counter(), None).walk(1)
    episode = Recorder(Counter(), even).episode(7, iter([0, 1, 2] * 10))
    start = episode.start
    assert episode.observations == list(range(start, 13))
    assert episode.features[1:] == [{"even"} if n % 2 == 0 else set() for n in range(start + 1, 13)]
    assert [seen.terminated for seen in episode.steps][-2:] == [False, True]
    assert [seen.inside for seen in episode.steps] == [n < 10 for n in range(start + 1, 13)]
    assert [seen.signals["cost"] for seen in episode.steps][:3] == [0.0, 0.5, 1.0]
    assert all(seen.repeated == seen.features for seen in episode.steps)


def test_the_same_seed_and_actions_look_the_same_in_a_fresh_environment() -> None:
    episode = Recorder(Counter(), None).episode(3, iter([0] * 5))
    again = repeated(Counter, None, episode)
    assert same_observations(episode, again)
    other = Recorder(Counter(), None).episode(3, iter([0] * 4))
    assert not same_observations(episode, other)


def test_every_other_walk_keeps_to_an_action_for_a_while() -> None:
    episodes = list(Recorder(load("office-2").world.env(), None).walk(1_000))
    stays = [np.mean([a.action == b.action for a, b in pairwise(e.steps)]) for e in episodes if len(e.steps) > 100]
    assert max(stays[1::2]) > 0.7
    assert stays[0] < 0.5


def test_numbers_are_found_however_deep_they_lie() -> None:
    seen = {"a": np.array([1.0, 2.0]), "b": (3.0, [np.float32(4)]), "c": "text", "d": 5}
    assert [x.tolist() for x in numbers(seen)] == [[1.0, 2.0], 3.0, 4.0]
    assert list(numbers("text")) == []


@pytest.mark.parametrize("name", ["figure-1", "delivery-2"])
def test_a_restorable_world_is_asked_twice_and_goes_on_unchanged(name: str) -> None:
    world = load(name).world
    actions = [0, 1, 2, 3] * 8
    twice = Recorder(world.env(), None).episode(0, iter(actions))
    env = world.env()
    env.reset(seed=0)
    once = [env.step(a)[0] for a in actions[: len(twice.steps)]]
    assert all(data_equivalence(a, b) for a, b in zip(once, twice.observations[1:], strict=True))


TASK = load("figure-1")


def seen(
    *features: str, reward: float = 0.0, terminated: bool = False, signals: dict[str, float] | None = None
) -> RecordedStep:
    return RecordedStep(0, 0, set(features), set(features), signals or {}, reward, terminated, True)


def found(task: Task, *steps: RecordedStep) -> dict[str, str]:
    """The codes and sentences about one episode in a foreign environment with features of its own."""
    episode = RandomWalk(4, 0, set(), list(steps))
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
