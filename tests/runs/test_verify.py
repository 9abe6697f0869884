"""Verifying repeats a run and finds what differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.errors import StoreError
from errands.runs.documents import CheckpointDocument, ResultDocument, read_document, write_document
from errands.runs.folder import RunFolder, create
from errands.runs.request import prepare
from errands.runs.train import train_seed
from errands.runs.verify import changed_versions, verify_seed
from errands.tasks import load


def begun(path: Path, steps: int = 1000, alpha: float = 0.5) -> RunFolder:
    task = load("figure-1")
    settings = ["eval_every=100", f"alpha={alpha}"]
    return create(path, prepare(task, "crm", settings=settings, steps=steps, seeds=[1], checkpoint_seconds=1e-9, git={}), task)


def test_a_run_repeats_itself_to_its_first_checkpoint_and_beyond(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    train_seed(run, 1, lambda beat: None)
    first = verify_seed(run, 1)
    assert (first.steps, first.evaluations, first.tables, first.differences) == (100, 1, True, ())
    whole = verify_seed(run, 1, 1000)
    assert (whole.steps, whole.evaluations, whole.tables, whole.differences) == (1000, 10, True, ())
    assert changed_versions(run) == []


def test_a_run_of_other_settings_differs_and_the_tables_are_named(tmp_path: Path) -> None:
    run, other = begun(tmp_path / "run"), begun(tmp_path / "other", alpha=0.4)
    train_seed(other, 1, lambda beat: None)
    (run.path / "seed-1").mkdir()
    for path in other.seed(1).path.iterdir():
        (run.seed(1).path / path.name).write_bytes(path.read_bytes())
    with pytest.raises(StoreError, match="belongs to another run"):
        verify_seed(run, 1)
    for path in run.seed(1).path.glob("*.json"):  # as older versions wrote them, which did not say whose they are
        kind = ResultDocument if path.name == "result.json" else CheckpointDocument
        write_document(path, read_document(path, kind).model_copy(update={"run_sha256": None}))
    found = verify_seed(run, 1).differences
    assert any("tables after 100 steps" in text or "line" in text for text in found)
    (run.seed(1).path / "checkpoint-900.json").unlink()
    named = verify_seed(run, 1, 1000).differences
    assert named


def test_a_run_that_was_not_begun_cannot_be_verified(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nothing to compare with yet"):
        verify_seed(begun(tmp_path / "run"), 1)
