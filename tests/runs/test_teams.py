"""Seeds of a deep learner train side by side in one job, and come back from any interruption to the same bytes."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

import errands
from errands.errors import StoreError
from errands.runs.checkpoint import steps
from errands.runs.folder import RunFolder, create, open_run
from errands.runs.request import Request
from errands.runs.sweep import train_run
from errands.runs.train import ProgressUpdate, Timing, jobs_of, train_job, training_time
from errands.runs.verify import faults, verify_seed
from errands.tasks import load

SMALL = ["width=8", "depth=1", "capacity=2000", "warmup=50", "platform=cpu", "eval_every=200"]


class Stop(KeyboardInterrupt):
    """What a test raises where a user would press Ctrl-C."""


def begun(path: Path, seeds: int = 3, count: int = 800, learner: str = "qcorm") -> RunFolder:
    task = load("water-2")
    request = Request.of(task, learner, settings=SMALL, steps=count, seeds=range(seeds))
    return create(path, request, checkpoint_seconds=1e-9, git={})


def kept(run: RunFolder) -> list[object]:
    """What must be equal: tables, last arrays, results without clocks."""
    found: list[object] = []
    for place in run.seeds():
        result = place.result()
        assert result is not None
        last = place.path / f"checkpoint-{steps(place.path)[0]}.safetensors"
        clocks = {"wall_seconds", "training_seconds"}
        found.append((place.table.read_bytes(), last.read_bytes(), result.model_dump(exclude=clocks)))
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    run = begun(tmp_path_factory.mktemp("teams") / "whole")
    train_run(run, quiet=True)
    return run


def test_all_seeds_of_a_deep_learner_are_one_job_and_tabular_seeds_are_not(whole: RunFolder) -> None:
    assert whole.document.team == 3
    assert [job.seeds for job in jobs_of(whole)] == [(0, 1, 2)]
    office = load("office-3")
    assert Request.of(office, "crm", seeds=range(3)).team == 0
    assert Request.of(load("water-2"), "qcorm", seeds=[5]).team == 0


def test_each_member_has_a_folder_of_its_own_and_seeds_differ(whole: RunFolder) -> None:
    assert not list(faults(whole.path))
    tables = [place.evaluations() for place in whole.seeds()]
    assert [[e.step for e in rows] for rows in tables] == [[200, 400, 600, 800]] * 3
    results = whole.results()
    assert [r.seed for r in results] == [0, 1, 2]
    assert len({place.path.joinpath("checkpoint-800.safetensors").read_bytes() for place in whole.seeds()}) == 3
    assert all(r.training_seconds > 0 and r.wall_seconds > 0 for r in results)


def test_the_time_of_a_team_counts_once_and_that_of_seeds_apart_adds_up(whole: RunFolder, tmp_path: Path) -> None:
    assert {r.training_seconds for r in whole.results()} == {training_time(whole)}
    task = load("figure-1")
    apart = create(tmp_path / "apart", Request.of(task, "crm", steps=2_000, seeds=range(3)), git={})
    assert training_time(apart) == 0.0
    train_run(apart, quiet=True)
    each = [r.training_seconds for r in apart.results()]
    assert len(set(each)) > 1
    assert training_time(apart) == pytest.approx(sum(t for t in each if t is not None))


def test_a_team_that_was_stopped_goes_on_to_the_same_bytes(
    whole: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torn = begun(tmp_path / "torn")
    (job,) = jobs_of(torn)

    def interrupt(update: ProgressUpdate) -> None:
        if update.step >= 400:
            raise Stop

    with pytest.raises(Stop):
        train_job(torn, job, interrupt, timing=Timing(report=0.0))
    assert {steps(place.path)[0] for place in torn.seeds()} == {200}
    # A crash between two members' checkpoints: one is a step ahead, and the team goes back to what all have.
    ahead = torn.seed(0)
    for name in ("checkpoint-200.json", "checkpoint-200.safetensors"):
        ahead.path.joinpath(name).unlink()
    train_run(open_run(torn.path), quiet=True)
    assert kept(torn) == kept(whole)


def test_one_lost_seed_is_trained_again_with_its_team_and_the_others_are_not_touched(
    whole: RunFolder, tmp_path: Path
) -> None:
    run = begun(tmp_path / "lost")
    train_run(run, quiet=True)
    before = kept(run)
    times = {path: path.stat().st_mtime_ns for path in run.path.rglob("*") if path.is_file()}
    shutil.rmtree(run.seed(1).path)
    train_run(open_run(run.path), quiet=True)
    assert kept(run) == before == kept(whole)
    for path, moment in times.items():
        if "seed-1" not in str(path):
            assert path.stat().st_mtime_ns == moment


def test_a_team_is_verified_by_training_it_again(whole: RunFolder) -> None:
    verdict = verify_seed(whole, 1)
    assert verdict.differences == ()
    assert verdict.evaluations >= 1


def test_a_job_whose_time_has_run_out_is_left_for_a_later_sitting(whole: RunFolder, tmp_path: Path) -> None:
    run = begun(tmp_path / "sitting")
    (job,) = jobs_of(run)
    assert train_job(run, replace(job, until=time.time() - 1), lambda update: None) == []
    assert run.results() == []
    assert {steps(place.path)[0] for place in run.seeds()} == {200}
    train_run(open_run(run.path), quiet=True)
    assert kept(run) == kept(whole)


def test_a_seed_of_another_run_is_refused(whole: RunFolder, tmp_path: Path) -> None:
    run = begun(tmp_path / "other", seeds=4)
    shutil.copytree(whole.seed(2).path, run.seed(2).path)
    with pytest.raises(StoreError, match="belongs to another run"):
        open_run(run.path).seed(2).evaluations()
    assert any("belongs to another run" in fault for fault in faults(run.path))


def test_a_team_trained_in_python_is_stopped_saved_and_opened_seed_by_seed(tmp_path: Path) -> None:
    settings = dict(word.split("=") for word in SMALL)
    heard: list[int] = []

    def watch(evaluation: errands.Evaluation) -> bool | None:
        heard.append(evaluation.step)
        return False if evaluation.step >= 400 else None

    runs = errands.train("water-2", "qcorm", steps=800, seeds=3, settings=settings, on_evaluation=watch)
    assert heard == [200] * 3 + [400] * 3
    assert [(run.seed, run.steps, len(run.evaluations)) for run in runs] == [(0, 400, 2), (1, 400, 2), (2, 400, 2)]
    back = errands.open(runs[1].save(tmp_path / "kept"))
    assert (back.seed, back.evaluations) == (1, runs[1].evaluations)
