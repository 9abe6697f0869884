"""Many seeds: every one is trained to its end, once, wherever it was left."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.errors import ErrandsError
from errands.runs.folder import RunFolder, create
from errands.runs.request import prepare
from errands.runs.sweep import train_run
from errands.tasks import load

TASK = load("figure-1")


def made(path: Path, seeds: list[int]) -> RunFolder:
    return create(path, prepare(TASK, "crm", steps=2_000, seeds=seeds, git={}), TASK)


def test_every_seed_ends_and_what_has_ended_is_left_alone(tmp_path: Path) -> None:
    run = made(tmp_path / "a", [0, 3])
    assert not run.finished
    train_run(run, jobs=1, quiet=True)
    assert run.finished
    assert [(r.seed, r.steps) for r in run.results()] == [(0, 2_000), (3, 2_000)]
    before = {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file()}
    train_run(run, jobs=1, quiet=True)
    assert {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file()} == before


def test_a_seed_that_was_lost_is_trained_again_to_the_same_bytes(tmp_path: Path) -> None:
    run = made(tmp_path / "a", [0, 1])
    train_run(run, quiet=True)
    table = run.seed(1).table
    kept, other = table.read_bytes(), run.seed(0).finish.stat().st_mtime_ns
    for path in run.seed(1).path.iterdir():
        path.unlink()
    train_run(run, quiet=True)
    assert table.read_bytes() == kept
    assert run.seed(0).finish.stat().st_mtime_ns == other


def test_what_is_told_goes_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train_run(made(tmp_path / "a", [0]), jobs=1, quiet=True)
    assert capsys.readouterr() == ("", "")


def test_the_first_fault_is_raised(tmp_path: Path) -> None:
    """The Boolean machine of fourteen boxes would take millions of gigabytes."""
    task = load("delivery-14")
    run = create(tmp_path / "a", prepare(task, "crm", "boolean", steps=10, git={}), task)
    with pytest.raises(ErrandsError, match="the tables of CRM would take"):
        train_run(run, jobs=1, quiet=True)
