"""Pictures and tables of a replay."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

import errands
from errands.runs.video import pictures_of
from errands.viewer.export import as_gif, page
from errands.viewer.replay import Replay
from errands.viewer.sources import replay_run


@pytest.fixture(scope="module")
def task() -> errands.Task:
    return errands.load("figure-1")


@pytest.fixture(scope="module")
def replay(replay_policy: Any, task: errands.Task) -> Replay:
    return replay_policy(task, errands.optimum(task).policy)


def test_the_animation_has_a_picture_for_every_step(task: errands.Task) -> None:
    with Image.open(io.BytesIO(as_gif(*pictures_of(task, errands.optimum(task).policy)))) as image:
        assert image.format == "GIF"
        assert image.n_frames == 11
        assert image.size == (140, 180)


def test_its_end_shows_the_agent_where_the_episode_ends(task: errands.Task, replay: Replay) -> None:
    with Image.open(io.BytesIO(as_gif(*pictures_of(task, errands.optimum(task).policy)))) as image:
        image.seek(10)
        cell = replay.episodes[-1].frames[-1]["at"]
        x, y = 10 + cell % 3 * 40 + 30, 10 + cell // 3 * 40 + 30
        assert image.convert("RGB").getpixel((x, y)) == (0xC0, 0x39, 0x2B)


def test_a_long_animation_is_thinned_and_keeps_its_end() -> None:
    shown = [np.full((4, 4, 3), i % 251, np.uint8) for i in range(1_000)]
    with Image.open(io.BytesIO(as_gif(shown, 20.0))) as image:
        assert image.n_frames == 300
        image.seek(299)
        assert image.convert("RGB").getpixel((0, 0)) == (999 % 251,) * 3


LAKE = """name = "lake"
[world]
kind = "gymnasium"
id = "FrozenLake-v1"
kwargs = { is_slippery = false }
features = { goal = [15], cabin = [8] }
[machine]
phrase = "sequence(cabin, goal)"
"""


def test_a_foreign_environment_is_shown_by_its_own_pictures() -> None:
    task = errands.Task.from_toml(LAKE)
    run = errands.train(task, "scout", steps=500)
    replay = replay_run(run)
    assert replay.scene["kind"] == "pictures"
    assert 2 <= len(replay.pictures) <= len(replay.episodes[-1].frames) + len(replay.optimal.frames)
    shown, _ = pictures_of(task, run.policy)
    assert len(shown) == replay.episodes[-1].length + 1 == 7
    start, end = shown[0].astype(int), shown[-1].astype(int)
    assert np.abs(start - end)[:60, :60].mean() > 5  # the elf has left the first cell
    assert np.abs(start - end)[90:150, 90:150].mean() < 5  # and nothing happened in the middle
    assert "data:image/png;base64," in page(replay)


def test_an_environment_that_cannot_be_drawn_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

    monkeypatch.setattr(FrozenLakeEnv, "render", lambda self: 1 / 0)
    replay = replay_run(errands.train(errands.Task.from_toml(LAKE), "scout", steps=500))
    assert replay.scene["kind"] == "words"
    assert replay.pictures == ()
    assert replay.episodes[-1].success
