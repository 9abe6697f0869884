"""Sweeps: stored with their plan, continued where they were, summarised from small files."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from errands.errors import StoreError, UnknownName
from errands.runs import sweep as sweeping
from errands.runs.folder import SweepFolder, open_sweep
from errands.runs.plan import make_block
from errands.runs.progress import Progress
from errands.runs.sweep import begin, extend, rows, train_sweep, unfinished, write_table
from errands.runs.verify import faults
from errands.tasks import load

PLAN = {"task": "figure-1,delivery-2", "learner": "qcorm", "seeds": 2, "steps": 2000, "eval_every": 500}


def test_a_sweep_is_the_same_when_stopped_and_continued(
    tmp_path: Path, kept: Callable[[SweepFolder], dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, torn = begin([make_block(PLAN)], tmp_path / "whole"), begin([make_block(PLAN)], tmp_path / "torn")
    train_sweep(whole, 1, quiet=True)
    def stop(self: Progress, job: object, result: object) -> None:
        raise KeyboardInterrupt

    for left in (3, 2):
        with monkeypatch.context() as patched:
            patched.setattr(Progress, "end", stop)
            with pytest.raises(KeyboardInterrupt):
                train_sweep(open_sweep(torn.path), 1, quiet=True)
        assert sum(len(seeds) for _, seeds in unfinished(torn)) == left
    train_sweep(open_sweep(torn.path), 1, quiet=True)
    assert list(unfinished(torn)) == []
    assert kept(torn) == kept(whole)
    assert not list(faults(torn.path))


def test_the_rows_say_what_was_run_and_open_in_a_spreadsheet(tmp_path: Path) -> None:
    sweep = begin([make_block({**PLAN, "vary": {"epsilon": [0.2, 0.3]}})], tmp_path / "sweep")
    train_sweep(sweep, 1, quiet=True)
    found = rows(sweep)
    assert [(r["task"], r["settings"][-1], r["seed"]) for r in found[:3]] == [
        ("figure-1", "epsilon=0.2", 0),
        ("figure-1", "epsilon=0.2", 1),
        ("figure-1", "epsilon=0.3", 0),
    ]
    assert {r["optimum"] for r in found if r["task"] == "figure-1"} == {10}
    with open(write_table(sweep, found), newline="") as source:
        read = list(csv.DictReader(source))
    assert len(read) == 8
    assert read[0]["task"] == "figure-1"
    assert read[0]["optimum"] == "10"


def test_a_task_file_is_kept_inside_the_sweep(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(load("figure-1").text)
    sweep = begin([make_block({**PLAN, "task": str(path), "seeds": 1})], tmp_path / "sweep")
    path.unlink()
    train_sweep(open_sweep(sweep.path), 1, quiet=True)
    assert rows(sweep)[0]["error"] is None


def test_settings_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'epsilon'"):
        begin([make_block({**PLAN, "set": "epsilno=1"})], tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


def test_a_sweep_is_never_overwritten(tmp_path: Path) -> None:
    begin([make_block(PLAN)], tmp_path / "sweep")
    with pytest.raises(StoreError, match="never overwritten"):
        begin([make_block(PLAN)], tmp_path / "sweep")


def test_a_damaged_or_linked_sweep_is_told(tmp_path: Path) -> None:
    sweep = begin([make_block(PLAN)], tmp_path / "sweep")
    first = sweeping.opened(sweep, sweep.document.cells[0]).path
    first.rename(tmp_path / "elsewhere")
    first.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link"):
        rows(sweep)
    head = sweep.path / "sweep.json"
    head.write_bytes(head.read_bytes().replace(b"figure-1", b"figure-2", 1))
    with pytest.raises(StoreError, match=r"sweep\.json is damaged"):
        open_sweep(sweep.path)


def test_a_cell_that_cannot_be_prepared_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = begin([make_block(PLAN)], tmp_path / "sweep")
    load_task = sweeping.task_of

    def refuse(sweep: SweepFolder, cell: object) -> object:
        task = load_task(sweep, cell)  # type: ignore[arg-type]
        if task.name == "figure-1":
            raise UnknownName("task", "figure-1", ["figure-2"])
        return task

    with monkeypatch.context() as patched:
        patched.setattr(sweeping, "task_of", refuse)
        train_sweep(sweep, 1, quiet=True)
    assert [row["error"] is None for row in rows(sweep)] == [False, False, True, True]
    train_sweep(sweep, 1, quiet=True)
    assert all(row["error"] is None for row in rows(sweep))


def test_a_sweep_takes_in_more_cells_and_keeps_those_it_has(tmp_path: Path) -> None:
    small = make_block({"task": "figure-1", "learner": "qcorm-0", "seeds": 1, "steps": 200})
    more = make_block({"task": "figure-1", "learner": "qcorm-0,crm", "seeds": 1, "steps": 200})
    sweep = begin([small], tmp_path / "sweep")
    train_sweep(sweep, 1, quiet=True)
    before = (sweep.cell(sweep.document.cells[0]) / "seed-0" / "result.json").read_bytes()
    wider = extend(open_sweep(tmp_path / "sweep"), [more])
    assert [cell.learner for cell in open_sweep(wider.path).document.cells] == ["qcorm-0", "crm"]
    assert [cell.learner for cell, _ in unfinished(wider)] == ["crm"]
    assert (wider.cell(wider.document.cells[0]) / "seed-0" / "result.json").read_bytes() == before
    assert extend(wider, [more, small]) is wider
