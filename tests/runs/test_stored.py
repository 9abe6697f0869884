"""Run folders that the first version wrote (commit cafa811) still open, verify, resume, show and compare."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import errands
from errands.runs.folder import open_run
from errands.runs.sweep import train_run
from errands.runs.verify import faults
from errands.viewer.sources import replay_stored

STORED = Path(__file__).parent / "stored"


@pytest.fixture(params=["crm", "scout"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(STORED / request.param, tmp_path / request.param))


def test_its_files_are_good_and_its_results_are_read(folder: Path) -> None:
    assert list(faults(folder)) == []
    run = open_run(folder)
    assert run.finished
    assert [(r.final_length, r.final_success) for r in run.results()] == [(10, True)] * len(run.document.seeds)


def test_it_opens_as_a_run_whose_policy_still_acts(folder: Path) -> None:
    run = errands.open(folder)
    assert run.evaluations[-1].episode_length == 10
    assert run.evaluate(episodes=3).length.mean == 10
    assert run.order == ("b2", "s", "b1", "s")


def test_resuming_an_ended_one_changes_nothing(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    train_run(open_run(folder), 1, quiet=True)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_it_is_shown_from_before_it_learnt_to_its_end(folder: Path) -> None:
    replay = replay_stored(open_run(folder))
    assert replay.episodes[0].step == 0
    assert replay.episodes[-1].length == 10
