"""Evaluations for TensorBoard: every row of every seed once, also after an interruption; read back record by record."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from errands.cli import main
from errands.runs.folder import live, open_run

pytest.importorskip("tensorboardX", reason="logs for TensorBoard need the extra [tensorboard]")


def events(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """The scalars of a folder's event files: length, checksum, message, checksum; the file's own format."""
    from tensorboardX.proto.event_pb2 import Event

    scalars: dict[str, list[tuple[int, float]]] = {}
    for path in sorted(folder.glob("events.out.tfevents.*")):
        data, place = path.read_bytes(), 0
        while place < len(data):
            (length,) = struct.unpack_from("<Q", data, place)
            event = Event.FromString(data[place + 12 : place + 12 + length])
            place += 16 + length
            for value in event.summary.value:
                scalars.setdefault(value.tag, []).append((event.step, value.simple_value))
    return scalars


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


TRAIN = ["train", "figure-1", "qrm", "--steps", "2k", "--eval-every", "100", "--quiet", "--name"]


def test_every_evaluation_of_every_seed_is_logged_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "a", "--seeds", "2", "--log", "tensorboard"]) == 0
    run = open_run(here / "runs" / "a")
    for seed in (0, 1):
        found = events(run.path / "tensorboard" / f"seed-{seed}")
        rows = live(run.seed(seed))
        assert len(rows) == 20
        assert found["evaluation/length"] == [(row.step, float(row.episode_length)) for row in rows]
        assert found["evaluation/success"] == [(row.step, float(row.success)) for row in rows]
        assert found["evaluation/reward"] == [(row.step, row.total_reward) for row in rows]
    assert main(["verify", "a"]) == 0


def test_a_log_that_is_asked_for_afterwards_holds_everything_and_nothing_twice(here: Path) -> None:
    assert main([*TRAIN, "a"]) == 0
    assert not (here / "runs" / "a" / "tensorboard").exists()
    for _ in range(2):
        assert main(["resume", "a", "--log", "tensorboard", "--quiet"]) == 0
        assert len(events(here / "runs" / "a" / "tensorboard" / "seed-0")["evaluation/length"]) == 20


def test_without_the_extra_nothing_is_begun(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    assert main([*TRAIN, "a", "--log", "tensorboard"]) == 2
    assert "pip install -e '.[tensorboard]'" in capsys.readouterr().err
    assert not (here / "runs").exists()
