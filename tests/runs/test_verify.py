"""Verifying repeats a run and finds what differs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from errands.errors import StoreError
from errands.runs.checkpoint import steps
from errands.runs.folder import RunFolder, create
from errands.runs.plan import make_block
from errands.runs.request import Request
from errands.runs.sweep import begin, train_run, train_sweep
from errands.runs.train import Timing, stored_run, train_seed
from errands.runs.verify import faults, verify_seed
from errands.tasks import load
from errands.viewer.sources import replay_stored


def begun(path: Path, steps: int = 1000, alpha: float = 0.5) -> RunFolder:
    task = load("figure-1")
    settings = ["eval_every=100", f"alpha={alpha}"]
    return create(path, Request.of(task, "crm", settings=settings, steps=steps, seeds=[1]), checkpoint_seconds=1e-9, git={})


def test_a_run_repeats_itself_to_its_first_checkpoint_and_beyond(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    train_seed(run, 1, lambda update: None)
    first = verify_seed(run, 1)
    assert (first.steps, first.evaluations, first.tables, first.differences) == (100, 1, True, ())
    whole = verify_seed(run, 1, 1000)
    assert (whole.steps, whole.evaluations, whole.tables, whole.differences) == (1000, 10, True, ())
    assert run.changes == []


def test_a_run_of_other_settings_differs_and_the_tables_are_named(tmp_path: Path) -> None:
    run, other = begun(tmp_path / "run"), begun(tmp_path / "other", alpha=0.4)
    train_seed(other, 1, lambda update: None)
    shutil.copytree(other.seed(1).path, run.seed(1).path)
    with pytest.raises(StoreError, match="belongs to another run"):
        verify_seed(run, 1)


def test_a_run_that_was_not_begun_cannot_be_verified(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nothing to compare with yet"):
        verify_seed(begun(tmp_path / "run"), 1)


def half_trained(path: Path) -> RunFolder:
    """A run that was stopped after some checkpoints."""
    task = load("figure-1")
    request = Request.of(task, "crm", settings=["eval_every=100"], steps=1000, seeds=[1])
    run = create(path, request, checkpoint_seconds=1e-9, git={})

    def stop(update: object) -> None:
        if steps(run.seed(1).path)[:1] >= [500]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_seed(run, 1, stop, timing=Timing(report=0.0))
    return run


def test_where_the_newest_checkpoint_is_gone_the_run_goes_on_from_the_one_before_to_the_same_bytes(tmp_path: Path) -> None:
    run, whole = half_trained(tmp_path / "run"), begun(tmp_path / "whole")
    train_seed(whole, 1, lambda update: None)
    place = run.seed(1)
    for path in place.path.glob(f"checkpoint-{steps(place.path)[0]}.*"):
        path.unlink()
    train_seed(run, 1, lambda update: None)
    assert list(faults(run.path)) == []
    assert place.table.read_bytes() == whole.seed(1).table.read_bytes()


def held(folder: Path) -> dict[Path, bytes]:
    """All files of a folder, those of its subfolders too."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_seed_from_another_run_is_neither_read_nor_overwritten(tmp_path: Path) -> None:
    run, other = begun(tmp_path / "run"), begun(tmp_path / "other", alpha=0.4)
    for each in (run, other):
        train_seed(each, 1, lambda update: None)
    shutil.rmtree(run.seed(1).path)
    shutil.copytree(other.seed(1).path, run.seed(1).path)
    before = held(run.seed(1).path)
    for act in (train_run, RunFolder.results, replay_stored, lambda run: stored_run(run, 1)):
        with pytest.raises(StoreError, match="belongs to another run: it was not written for this"):
            act(run)
    # Nor without their result: then their checkpoints would be gone on from.
    (run.seed(1).path / "result.json").unlink()
    del before[run.seed(1).path / "result.json"]
    with pytest.raises(StoreError, match="belongs to another run"):
        train_run(run)
    assert held(run.seed(1).path) == before


def test_a_cell_whose_creation_was_cut_off_is_no_damage_and_a_trained_one_without_its_head_is(tmp_path: Path) -> None:
    sweep = begin([make_block({"task": "figure-1", "learner": "crm", "seeds": 1, "steps": 100})], tmp_path / "sweep")
    cell = sweep.cell(sweep.document.cells[0])
    cell.mkdir()
    (cell / "task.toml").write_text(load("figure-1").to_toml())
    assert list(faults(sweep.path)) == []
    train_sweep(sweep, 1, quiet=True)
    assert list(faults(sweep.path)) == []
    (cell / "run.json").unlink()
    assert ["run.json is missing" in fault for fault in faults(sweep.path)] == [True]
