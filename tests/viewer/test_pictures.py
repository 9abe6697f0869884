"""Pictures and tables of a replay."""

from __future__ import annotations

import csv
import io

import pytest
from PIL import Image

import errands
from errands.viewer.export import _harmless, as_csv, as_gif, as_png
from errands.viewer.replay import Replay
from errands.viewer.sources import replay_policy


@pytest.fixture(scope="module")
def task() -> errands.Task:
    return errands.load("figure-1")


@pytest.fixture(scope="module")
def replay(task: errands.Task) -> Replay:
    return replay_policy(task, errands.optimum(task).policy)


def test_the_animation_has_a_picture_for_every_step(task: errands.Task, replay: Replay) -> None:
    with Image.open(io.BytesIO(as_gif(task, replay))) as image:
        assert image.format == "GIF"
        assert image.n_frames == 11
        assert image.size == (140, 202)


def test_the_picture_shows_the_agent_at_the_end(task: errands.Task, replay: Replay) -> None:
    with Image.open(io.BytesIO(as_png(task, replay))) as image:
        assert image.format == "PNG"
        cell = replay.episodes[-1].frames[-1]["at"]
        x, y = 10 + cell % 3 * 40 + 30, 10 + cell // 3 * 40 + 30
        assert image.convert("RGB").getpixel((x, y)) == (0xC0, 0x39, 0x2B)


def test_the_table_has_a_row_for_every_step(replay: Replay) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(replay).decode())))
    assert len(rows) == 11
    assert [row["completed"] for row in rows if row["completed"]] == list(replay.episodes[-1].order)
    assert rows[-1]["total"] == "1.0"
    assert rows[-1]["label"] == "4{}"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1"])
def test_a_spreadsheet_runs_no_text(text: str) -> None:
    assert _harmless(text) == f"'{text}"
