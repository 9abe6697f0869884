"""Progress: a live table on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from errands.runs import progress as telling
from errands.runs.documents import ResultDocument
from errands.runs.progress import progress
from errands.runs.train import Beat, Job
from errands.tables import Evaluation
from errands.terminal import clock

JOB = Job(Path("runs/a"), (3,), "office-3", "crm (agenda)")
BEAT = Beat(250_000, 1_000_000, Evaluation(250_000, 28, 1.0, True), 50_000.0, 26.0)
RESULT = ResultDocument(seed=3, steps=1_000_000, final_length=26, final_success=True, wall_seconds=20.0, optimum=26, final_gap=0.0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "EVERY", 0.0)
    out = io.StringIO()
    with progress(2, out=out) as told:
        told.beat(JOB, BEAT)
        told.end(JOB, [RESULT])
        told.end(JOB, [RESULT.model_copy(update={"error": "TaskError: too large"})])
    assert out.getvalue().splitlines() == [
        "office-3 crm (agenda) seed 3: 250,000 of 1,000,000 steps, 50,000/s, length 28, gap 2, 15 s left",
        "[1/2] office-3 crm (agenda) seed 3: 1,000,000 steps, 50,000/s, length 26, gap 0",
        "[2/2] office-3 crm (agenda) seed 3: TaskError: too large",
    ]


def test_a_live_table_on_a_terminal() -> None:
    out = Terminal()
    with progress(2, out=out) as told:
        told.beat(JOB, BEAT)
        told.screen.refresh()
    for part in ("office-3", "crm", "250,000", "50,000", "28", "15 s"):
        assert part in out.getvalue()


def test_the_table_has_what_was_asked_for() -> None:
    out = io.StringIO()
    with progress(2, quiet=True, out=out) as told:
        told.beat(JOB, BEAT)
        table = told.table()
    names = [str(column.header) for column in table.columns]
    assert names == ["task", "learner", "seed", "steps", "steps/s", "length", "gap", "time left"]
    assert [next(iter(column.cells)) for column in table.columns] == [
        "office-3", "crm (agenda)", "3", "250,000 / 1,000,000", "50,000", "28", "2", "15 s",
    ]  # fmt: skip


def test_quiet_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "EVERY", 0.0)
    for out in (io.StringIO(), Terminal()):
        with progress(1, quiet=True, out=out) as told:
            told.beat(JOB, BEAT)
            told.note("something")
            told.end(JOB, [RESULT])
        assert out.getvalue() == ""


def test_what_was_damaged_is_noted() -> None:
    out = io.StringIO()
    with progress(1, out=out) as told:
        told.beat(JOB, Beat(0, 10, None, 0.0, None, "checkpoint-5.json is damaged"))
    assert "checkpoint-5.json is damaged" in out.getvalue()


def test_times_are_told_in_two_units_at_most() -> None:
    assert [clock(s) for s in (8, 200, 7500, 360_000)] == ["8 s", "3 min 20 s", "2 h 5 min", "100 h 0 min"]


def test_an_expectation_has_a_gap_only_where_success_is_sure() -> None:
    risky = Beat(10, 20, Evaluation(10, 9.123456, 0.9, 0.945, episodes=0), 1.0, 51.3931)
    surely = Beat(10, 20, Evaluation(10, 52.3931, 1.0, 1.0, episodes=0), 1.0, 51.3931)
    mean = Beat(10, 20, Evaluation(10, 50.0, 1.0, 1.0, 100, 48.0, 52.0, 0.96, 1.0), 1.0, 51.3931)
    assert "length 9.123 (success 0.945), " in telling.words(JOB, risky)
    assert "length 52.39, gap 1," in telling.words(JOB, surely)
    assert "length 50, " in telling.words(JOB, mean)
