"""The local engine: one process or two give the same bytes, a fault stops nobody else, and no process is left behind."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from errands.errors import ErrandsError, StoreError
from errands.learners.base import cores
from errands.runs.engine_local import train_apart, train_here
from errands.runs.folder import SweepFolder
from errands.runs.plan import make_block
from errands.runs.progress import Progress
from errands.runs.sweep import begin, opened, train_sweep
from errands.runs.train import Beat, Job, jobs_of

PLAN = {"task": "figure-1,delivery-2", "learner": "qcorm,crm", "seeds": 2, "steps": 3000, "eval_every": 500}
Kept = Callable[[SweepFolder], dict[str, object]]


def silent(total: int = 1) -> Progress:
    return Progress(total, io.StringIO(), quiet=True)


def swept(path: Path, **changes: object) -> SweepFolder:
    return begin([make_block({**PLAN, **changes})], path)


def test_one_process_or_two_give_the_same_bytes(tmp_path: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = swept(tmp_path / "one"), swept(tmp_path / "two")
    train_sweep(one, 1, quiet=True)
    monkeypatch.setenv("PYTHONHASHSEED", "123")
    train_sweep(two, 2, quiet=True)
    assert len(kept(one)) == 8
    assert kept(one) == kept(two)
    assert multiprocessing.active_children() == []


def test_a_fault_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    sweep = swept(tmp_path / "sweep", task="figure-1,delivery-14", learner="crm", machine="boolean", seeds=1)
    train_sweep(sweep, 1, quiet=True)
    (_, good), (_, bad) = sweep.results()
    assert good.error is None
    assert good.steps == 3000
    assert bad.error is not None
    assert "would take" in bad.error
    train_sweep(sweep, 1, quiet=True)
    assert [result.error for _, result in sweep.results()] == [None, bad.error]


def test_a_process_that_is_killed_is_recorded_replaced_and_repaired_later(tmp_path: Path, kept: Kept) -> None:
    sweep = swept(tmp_path / "sweep", task="figure-1", learner="qcorm", seeds=3, steps=2_000_000)
    whole = swept(tmp_path / "whole", task="figure-1", learner="qcorm", seeds=3, steps=2_000_000)
    jobs = jobs_of(opened(sweep, sweep.document.cells[0]))
    told = silent(3)
    killed: list[int] = []

    def beat(job: Job, beat: Beat) -> None:
        if not killed:
            victim = multiprocessing.active_children()[0].pid
            assert victim is not None
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    told.beat = beat  # type: ignore[method-assign]
    train_apart(jobs, 1, told, strict=False)
    errors = [result.error for _, result in sweep.results()]
    assert sum(error is not None for error in errors) == 1
    assert "ended with code -9, perhaps for want of memory" in next(filter(None, errors))
    train_sweep(sweep, 1, quiet=True)
    train_sweep(whole, 1, quiet=True)
    assert kept(sweep) == kept(whole)


def test_the_first_fault_of_a_single_run_is_raised(tmp_path: Path) -> None:
    sweep = swept(tmp_path / "sweep", task="delivery-14", learner="crm", machine="boolean", seeds=2)
    jobs = jobs_of(opened(sweep, sweep.document.cells[0]))
    for train in (lambda: train_here(jobs, silent(), strict=True), lambda: train_apart(jobs, 2, silent(), strict=True)):
        with pytest.raises(ErrandsError, match="would take"):
            train()
    assert multiprocessing.active_children() == []


def test_a_disk_that_refuses_stops_everything_with_its_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    sweep = swept(tmp_path / "sweep", seeds=1)
    first = opened(sweep, sweep.document.cells[0])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, before[1]))
    try:
        with pytest.raises(StoreError, match="the disk is full"):
            train_sweep(sweep, 1, quiet=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert first.results() == []
    train_sweep(sweep, 1, quiet=True)
    assert all(result.error is None for _, result in sweep.results())


def test_all_cores_that_may_be_used_are_counted() -> None:
    assert cores() == len(os.sched_getaffinity(0))
