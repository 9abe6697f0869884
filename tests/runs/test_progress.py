"""How training is told: one line that changes, plain lines or nothing; for TensorBoard every row of every seed once."""

from __future__ import annotations

import io
import json
import struct
import sys
from pathlib import Path

import pytest

from errands.cli import main
from errands.runs import progress as reporting
from errands.runs.documents import ResultDocument
from errands.runs.folder import live, open_run
from errands.runs.progress import progress
from errands.runs.train import Job, ProgressUpdate
from errands.tables import Evaluation
from errands.terminal import clock

JOB = Job(Path("runs/a"), (3,), "office-3", "crm (agenda)")
BEAT = ProgressUpdate(250_000, 1_000_000, Evaluation(250_000, 28, 1.0, True), 50_000.0, 26.0)
RESULT = ResultDocument(seed=3, steps=1_000_000, final_length=26, final_success=True, wall_seconds=20.0, optimum=26, final_gap=0.0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_lines_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    with progress(2, out=out, line_seconds=0.0) as told:
        told.update(JOB, BEAT)
        told.end(JOB, [RESULT])
        told.end(JOB, [RESULT.model_copy(update={"error": "TaskError: too large"})])
    assert out.getvalue().splitlines() == [
        "office-3 crm (agenda) seed 3: 250,000 of 1,000,000 steps, 50,000/s, length 28, gap 2, 15 s left",
        "[1/2] office-3 crm (agenda) seed 3: 1,000,000 steps, 50,000/s, length 26, gap 0",
        "[2/2] office-3 crm (agenda) seed 3: TaskError: too large",
    ]


def test_one_line_that_changes_on_a_terminal_and_what_has_ended_stays() -> None:
    out = Terminal()
    with progress(2, out=out) as told:
        told.update(JOB, BEAT)
        told.update(JOB, BEAT)  # too soon to be told again
        told.end(JOB, [RESULT])
    changing, _, rest = out.getvalue().removeprefix("\r").partition("\x1b[K")
    assert changing.startswith("[0/2] office-3 crm (agenda) seed 3: 250,000 of 1,000,000 steps, 50,000/s, ")
    assert rest == "\r\x1b[K[1/2] office-3 crm (agenda) seed 3: 1,000,000 steps, 50,000/s, length 26, gap 0\n\r\x1b[K"


def test_quiet_is_silent() -> None:
    for out in (io.StringIO(), Terminal()):
        with progress(1, quiet=True, out=out, line_seconds=0.0) as told:
            told.update(JOB, BEAT)
            told.note("something")
            told.end(JOB, [RESULT])
        assert out.getvalue() == ""


def test_what_was_damaged_is_noted() -> None:
    out = io.StringIO()
    with progress(1, out=out) as told:
        told.update(JOB, ProgressUpdate(0, 10, None, 0.0, None, "checkpoint-5.json is damaged"))
    assert "checkpoint-5.json is damaged" in out.getvalue()


def test_times_are_told_in_two_units_at_most() -> None:
    assert [clock(s) for s in (8, 200, 7500, 360_000)] == ["8 s", "3 min 20 s", "2 h 5 min", "100 h 0 min"]


def test_an_expectation_has_a_gap_only_where_success_is_sure() -> None:
    risky = ProgressUpdate(10, 20, Evaluation(10, 9.123456, 0.9, 0.945, episodes=0), 1.0, 51.3931)
    surely = ProgressUpdate(10, 20, Evaluation(10, 52.3931, 1.0, 1.0, episodes=0), 1.0, 51.3931)
    mean = ProgressUpdate(10, 20, Evaluation(10, 50.0, 1.0, 1.0, 100, 48.0, 52.0, 0.96, 1.0), 1.0, 51.3931)
    assert "length 9.123 (success 0.945), " in reporting.words(JOB, risky)
    assert "length 52.39, gap 1," in reporting.words(JOB, surely)
    assert "length 50, " in reporting.words(JOB, mean)


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


def history(path: Path) -> dict[str, list[float]]:
    """What an offline run of wandb holds: blocks of 32 KiB of records (checksum, length, kind), in each a part of a message."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, place, message, found = path.read_bytes(), 7, b"", dict[str, list[float]]()
    while place + 7 <= len(data):
        if 32_768 - place % 32_768 < 7:
            place += 32_768 - place % 32_768
            continue
        length, kind = struct.unpack_from("<HB", data, place + 4)
        message += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or its last part
            record, message = Record.FromString(message), b""
            for item in record.history.item:
                name = item.key or "/".join(item.nested_key)
                found.setdefault(name, []).append(json.loads(item.value_json))
    return found


def test_weights_and_biases_gets_every_evaluation_without_a_network(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="logs for Weights & Biases need the extra [wandb]")
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert main([*TRAIN, "a", "--log", "wandb"]) == 0
    run = open_run(here / "runs" / "a")
    (path,) = (run.path / "wandb").glob("offline-run-*/*.wandb")
    found, rows = history(path), live(run.seed(0))
    assert found["_step"] == [row.step for row in rows]
    assert found["evaluation/length"] == [row.episode_length for row in rows]
    assert found["evaluation/success"] == [float(row.success) for row in rows]


def test_without_the_extra_nothing_is_begun(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    assert main([*TRAIN, "a", "--log", "tensorboard"]) == 2
    assert "pip install -e '.[tensorboard]'" in capsys.readouterr().err
    assert not (here / "runs").exists()
