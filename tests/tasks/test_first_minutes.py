"""The first five minutes with an environment of one's own: what people get wrong, and what they would expect."""

from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
import pytest

import errands
from errands.errors import SpecError, TaskError
from errands.tasks import Task


class Hall(gym.Env[Any, Any]):
    """Nine cells in a row with a lamp at the right end."""

    observation_space = gym.spaces.Discrete(9)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 4
        return self.cell, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.cell = min(8, max(0, self.cell + 2 * int(action) - 1))
        return self.cell, 0.0, False, False, {}


def lamp(before: Any, action: Any, after: Any, info: dict[str, Any]) -> set[str]:
    return {"lamp"} if after == 8 else set()


class Bare(gym.Env[Any, Any]):
    """An environment whose author forgot the spaces."""


@pytest.mark.parametrize(
    ("env", "features", "more", "said"),
    [
        (None, lamp, {}, "the environment is a NoneType; give a Gymnasium id, a function that makes environments, or one to copy"),
        (Bare, lamp, {}, "'Bare' has no observation_space; give it one of gymnasium.spaces"),
        (Hall, lamp, {"limit": "9"}, "limit is '9', and must be a whole number"),
        (Hall, lamp, {"limit": 9.5}, "limit is 9.5, and must be a whole number"),
        (Hall, {"lamp": lambda seen: True}, {}, "feature 'lamp' is a function; give one function for all features"),
    ],
)
def test_what_a_beginner_gets_wrong_is_told_in_a_sentence(env: Any, features: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=re.escape(said)):
        Task.from_env(env, features, "lamp", **more)


def test_a_state_function_that_raises_is_told_in_a_sentence() -> None:
    task = Task.from_env(Hall, lamp, "lamp", state=lambda observation: observation.place)
    with pytest.raises(TaskError, match="the state function of 'Hall' raised AttributeError"):
        errands.train(task, "crm", steps=10)


def test_a_time_limit_around_an_environment_is_the_worlds_limit() -> None:
    own = (gym.wrappers.TimeLimit(Hall(), 30), lambda: gym.wrappers.TimeLimit(Hall(), 30))
    assert [Task.from_env(env, lamp, "lamp").world.limit for env in own] == [30, 30]
    made = gym.make("CartPole-v1", max_episode_steps=77)
    task = Task.from_env(lambda: made, {"left": {"index": 0, "below": -1}}, "left")
    assert (task.world.limit, task.name) == (77, "CartPole-v1")


def test_the_reward_may_be_named_among_the_signals_and_a_misspelt_one_is_warned_of() -> None:
    machine = errands.NumericRM.of("u0", ["u1"], ["u0 -> u0 : ~goal ; 2*reward", "u0 -> u1 : goal ; 2*reward"])
    lake = {"env": "CliffWalking-v1", "features": {"goal": [47]}, "machine": machine}
    for signals in (None, ["reward"], {"reward": "reward"}):
        env = Task.from_env(**lake, signals=signals).env()
        env.reset(seed=0)
        assert env.step(0)[1] == -2.0  # every step costs 1
    env = Task.from_env(**lake, signals=["chance"], limit=3).env()
    env.reset(seed=0)
    env.step(0)
    env.step(0)
    with pytest.warns(UserWarning, match="signals ask for 'chance', which info had in no step of an episode of 'CliffWalking-v1'"):
        env.step(0)
    # The reward that a machine asks for is in the table of numbered states: 13 steps round the cliff cost 2 each.
    counted = Task.from_env(**lake, state=int)
    assert counted.finite is not None
    assert errands.train(counted, "crm", steps=20_000).evaluations[-1].total_reward == -26.0


def test_a_world_that_a_state_function_would_make_finite_says_so() -> None:
    def high(before: Any, action: Any, after: Any, info: dict[str, Any]) -> set[str]:
        return {"high"} if after[0] >= 20 else set()

    cards = Task.from_env("Blackjack-v1", high, "high")
    assert cards.untabled == "has observations that number no states (a state function would)"
    with pytest.raises(TaskError, match="or give the task a state function, which makes its world finite"):
        errands.train(cards, "scout", steps=100)
    run = errands.train(Task.from_env("Blackjack-v1", high, "high", state=tuple), "crm", steps=3_000)
    assert run.evaluate(50).success.mean > 0.5  # a card until 20 or 21 are in hand, or more than that


def test_an_environment_that_cannot_be_closed_is_a_warning() -> None:
    class Stuck(Hall):
        def close(self) -> None:
            raise OSError("gone")

    with pytest.warns(UserWarning, match="raised OSError when it was closed: gone"):
        task = Task.from_env(Stuck, lamp, "lamp")
    env = task.world.env()
    with pytest.warns(UserWarning, match="raised OSError when it was closed: gone"):
        env.close()
