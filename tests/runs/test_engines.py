"""The engines: the same bytes from one process, from two, and from a Ray of which a node is killed; a fault stops nobody else."""

from __future__ import annotations

import io
import multiprocessing
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from errands.errors import ErrandsError, StoreError
from errands.learners.base import cores
from errands.runs import engines
from errands.runs import sweep as sweeping
from errands.runs.engines import train_here, train_in_folder, train_in_processes
from errands.runs.folder import SweepFolder
from errands.runs.plan import make_block
from errands.runs.progress import Progress
from errands.runs.sweep import begin, forecast, opened, train_sweep
from errands.runs.train import Job, jobs_of
from errands.runs.verify import faults
from errands.terminal import StatusLine
from errands.worlds.imports import allow

PLAN = {"task": "figure-1,delivery-2", "learner": "qcorm,crm", "seeds": 2, "steps": 3000, "eval_every": 500}
Kept = Callable[[SweepFolder], dict[str, object]]


def silent(total: int = 1) -> Progress:
    return Progress(total, StatusLine(io.StringIO(), quiet=True))


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


def test_processes_leave_each_other_room_on_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "XLA_PYTHON_CLIENT_PREALLOCATE"  # what JAX's documentation calls it
    monkeypatch.setenv(name, "")
    monkeypatch.delenv(name)
    sweep = swept(tmp_path / "sweep", task="figure-1", learner="crm")
    forecast(sweep, 1)
    assert name not in os.environ
    forecast(sweep, 2)
    assert os.environ[name] == "false"
    monkeypatch.setenv(name, "true")
    forecast(sweep, 2)
    assert os.environ[name] == "true"


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


DEADLY = """
import os, signal
from pathlib import Path
import gymnasium as gym

class Deadly(gym.Env):
    observation_space, action_space = gym.spaces.Discrete(5), gym.spaces.Discrete(2)
    steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self.at, {}

    def step(self, action):
        Deadly.steps += 1
        if Deadly.steps == 1500 and (mark := Path(__file__).with_name("armed")).exists():
            mark.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        self.at = min(4, max(0, self.at + 2 * int(action) - 1))
        return self.at, 0.0, False, False, {}
"""
HALL = """name = "hall"
[world]
kind = "gymnasium"
id = "deadly:Deadly"
features = { end = [4] }
limit = 50
[machine]
phrase = "end"
"""


def test_a_process_that_is_killed_is_recorded_replaced_and_repaired_later(
    tmp_path: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deadly.py").write_text(DEADLY)
    (tmp_path / "hall.toml").write_text(HALL)
    monkeypatch.chdir(tmp_path)
    allow("deadly")
    plan = {"task": str(tmp_path / "hall.toml"), "learner": "crm", "machine": "agenda", "seeds": 3, "steps": 1000}
    sweep, whole = swept(tmp_path / "sweep", **plan), swept(tmp_path / "whole", **plan)
    (tmp_path / "armed").touch()
    train_in_processes(jobs_of(opened(sweep, sweep.document.cells[0])), 1, silent(3), strict=False)
    errors = [result.error for _, result in sweep.results()]
    assert [error is not None for error in errors] == [False, True, False]
    assert "ended with code -9, perhaps for want of memory" in str(errors[1])
    train_sweep(sweep, 1, quiet=True)
    train_sweep(whole, 1, quiet=True)
    assert len(kept(sweep)) == 3
    assert kept(sweep) == kept(whole)


def test_a_worker_that_died_before_it_was_handed_a_seed_ends_nothing_else(tmp_path: Path) -> None:
    sweep = swept(tmp_path / "sweep", task="figure-1", learner="qcorm", seeds=1)
    (job,) = jobs_of(opened(sweep, sweep.document.cells[0]))
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    gone = context.Process(target=int)
    gone.start()
    theirs.close()
    worker = engines._Worker(gone, ours)
    assert engines._hand(worker, iter([job]), strict=False)
    assert engines._listen(worker, silent(), strict=False)
    ((_, result),) = sweep.results()
    assert "ended with code 0" in str(result.error)


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="only Linux tells which signals a process puts off")
def test_ctrl_c_never_reaches_a_worker_that_is_just_starting() -> None:
    """At a terminal it goes to all processes: before it is ignored it would end them with a traceback."""
    worker = engines._start()
    try:
        status = Path(f"/proc/{worker.process.pid}/status").read_text()
    finally:
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
    put_off = re.search(r"^SigBlk:\s+(\w+)", status, re.MULTILINE)
    assert put_off is not None
    assert int(put_off[1], 16) >> (signal.SIGINT - 1) & 1
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_the_first_fault_of_a_single_run_is_raised(tmp_path: Path) -> None:
    sweep = swept(tmp_path / "sweep", task="delivery-14", learner="crm", machine="boolean", seeds=2)
    jobs = jobs_of(opened(sweep, sweep.document.cells[0]))
    for train in (lambda: train_here(jobs, silent(), strict=True), lambda: train_in_processes(jobs, 2, silent(), strict=True)):
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


RAY_PLAN = {"task": "figure-1,delivery-2", "learner": "qcorm,crm", "seeds": 6, "steps": 20_000, "eval_every": 500}


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of two nodes, connected to from a folder of traps."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    # Without waiting for each: Ray gives up after half a minute, and a busy machine may take longer.
    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, "wait": False})
    started.add_node(num_cpus=1, wait=False)
    started.wait_for_nodes(timeout=300)
    monkeypatch.chdir(tmp_path)
    Path("numpy.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    engines._connected(started.address)
    yield started
    ray.shutdown()
    started.shutdown()


def test_a_node_that_dies_changes_nothing(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Callable[[SweepFolder], dict[str, object]]
) -> None:
    away = sweeping.begin([make_block(RAY_PLAN)], tmp_path / "away")
    here = sweeping.begin([make_block(RAY_PLAN)], tmp_path / "here")
    node = next(iter(cluster.worker_nodes))
    ended: list[Job] = []

    def end(self: Progress, job: Job, result: Any) -> None:
        ended.append(job)
        if len(ended) == 6:
            cluster.remove_node(node, allow_graceful=False)

    monkeypatch.setattr(Progress, "end", end)
    sweeping.train_sweep(away, 2, quiet=True, engine="ray")
    assert len(ended) == 24
    monkeypatch.undo()
    sweeping.train_sweep(here, 1, quiet=True)
    assert len(kept(here)) == 24
    assert kept(away) == kept(here)
    assert not list(faults(away.path))
    assert not (tmp_path / "ran").exists()  # no module of the working folder


def test_what_goes_wrong_far_away_is_brought_back_as_words(tmp_path: Path) -> None:
    sweep: SweepFolder = sweeping.begin([make_block(RAY_PLAN)], tmp_path / "sweep")
    run = sweeping.opened(sweep, sweep.document.cells[0])
    head, text = ((run.path / name).read_bytes() for name in ("run.json", "task.toml"))
    files, error = train_in_folder(head, text + b"# other", [0])
    assert files == {}
    assert error.startswith("StoreError: ")
    assert "task.toml is damaged" in error


def test_what_a_seed_keeps_in_folders_of_its_own_comes_back_and_nothing_lands_outside(tmp_path: Path) -> None:
    sweep: SweepFolder = sweeping.begin([make_block(RAY_PLAN)], tmp_path / "sweep")
    run = sweeping.opened(sweep, sweep.document.cells[0])
    (job, *_) = jobs_of(run)
    files = {"seed-0/best/policy": b"good", "seed-0/../../escaped": b"", str(tmp_path / "absolute"): b"", "run.json": b""}
    head = (run.path / "run.json").read_bytes()
    engines._store(run, job, files, "")
    assert (run.path / "seed-0" / "best" / "policy").read_bytes() == b"good"
    assert (run.path / "run.json").read_bytes() == head
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sweep"]
    assert not (run.path.parent / "escaped").exists()
