"""The shell of grid worlds: side by side with the table, truncation, pictures, save and restore."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from errands.worlds import GridWorld

DRAWN = GridWorld(["g..#s", ".##..", "A..ws"], {"g": "goal", "s": "shop", "w": "well"}, slip=0.3, limit=500)


def test_the_table_and_the_shell_agree_over_100_000_slipping_steps(walk: Callable[..., dict[str, int]]) -> None:
    seen = walk(DRAWN.env(), DRAWN.finite(), int, draws=False)
    assert seen["episodes"] == 201
    assert seen["labels"] > 1000


def test_the_initial_state_is_labelled() -> None:
    at_home = GridWorld(["A"], {}).env()
    assert at_home.reset(seed=0)[1] == {"features": set(), "signals": {}}


def test_truncation_at_the_limit_is_not_termination() -> None:
    env = GridWorld(["A."], {}, limit=3).env()
    env.reset(seed=0)
    assert [env.step(1)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]


def test_returned_features_belong_to_the_caller() -> None:
    env = GridWorld(["Ag"], {"g": "goal"}).env()
    env.reset(seed=0)
    env.step(1)[4]["features"].clear()
    assert env.step(1)[4]["features"] == {"goal"}


def test_actions_are_up_right_down_left() -> None:
    env = GridWorld(["...", ".A.", "..."], {}).env()
    ends = []
    for action in range(4):
        env.reset(seed=0)
        ends.append(env.step(action)[0])
    assert ends == [1, 5, 7, 3]


def test_pictures_show_the_agent_move() -> None:
    text = GridWorld(["Ag"], {"g": "goal"}).env("ansi")
    text.reset(seed=0)
    assert text.render() == "+---------+\n|@    goal|\n+---------+\n"
    env = GridWorld(["A.."], {}).env("rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.step(1)
    after = env.render()
    assert isinstance(before, np.ndarray)
    assert (before.shape, before.dtype) == ((60, 140, 3), np.uint8)
    assert tuple(before[30, 30]) == tuple(after[30, 70]) == (192, 57, 43)
    assert tuple(after[30, 30]) == (255, 255, 255)


def test_restoring_reproduces_the_future_also_in_another_environment() -> None:
    env, twin = DRAWN.env(), DRAWN.env()
    env.reset(seed=3)
    actions = np.random.default_rng(0).integers(4, size=700).tolist()
    for action in actions[:300]:
        env.step(action)
    saved = env.save()  # type: ignore[attr-defined]
    future = [env.step(action)[:4] for action in actions[300:]]
    twin.restore(saved)  # type: ignore[attr-defined]
    assert [twin.step(action)[:4] for action in actions[300:]] == future


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_slips(seed: int) -> None:
    runs = []
    for _ in range(2):
        env = DRAWN.env()
        env.reset(seed=seed)
        runs.append([env.step(i % 4)[0] for i in range(200)])
    assert runs[0] == runs[1]
