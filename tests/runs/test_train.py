"""A seed stopped anywhere and resumed ends with the same bytes as one that was not, for every tabular learner."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from errands.errors import StoreError, TaskError
from errands.learners import LEARNERS
from errands.machines import Reward
from errands.runs import train as job
from errands.runs.checkpoint import steps
from errands.runs.documents import write_document
from errands.runs.folder import RunFolder, create, open_run
from errands.runs.request import Request
from errands.runs.train import ProgressUpdate, Timing, ended_well, jobs_of, train_job, train_seed
from errands.runs.verify import faults, verify_seed
from errands.tasks import Task, load

TABULAR = {name: entry for name, entry in LEARNERS.items() if entry.tabular and not (entry.tabular.teams or entry.tabular.networks)}
LEARNT = [(name, machine) for name, entry in TABULAR.items() for machine in entry.machines or (None,)]


class Stop(KeyboardInterrupt):
    """What a test raises where a user would press Ctrl-C."""


SLIPPERY = load("figure-1").text.replace("[machine]", "slip = 0.2\n\n[machine]")


def begun(
    path: Path,
    learner: str = "qcorm",
    machine: str | None = None,
    task: str = "figure-1",
    count: int = 1500,
    *changes: str,
) -> RunFolder:
    loaded = Task.from_toml(task) if "\n" in task else load(task)
    settings = ["eval_every=100", *changes]
    request = Request.of(loaded, learner, machine=machine, settings=settings, steps=count, seeds=[3])
    return create(path, request, checkpoint_seconds=1e-9, git={})


def quiet(update: ProgressUpdate) -> None:
    """Hear nothing."""


def kept(run: RunFolder) -> tuple[bytes, bytes, dict[str, object]]:
    """All that must be equal: the table, the last checkpoint's arrays, the result without its clock."""
    place = run.seed(3)
    result = place.result()
    assert result is not None
    last = place.path / f"checkpoint-{steps(place.path)[0]}.safetensors"
    clocks = {"wall_seconds", "training_seconds"}
    return place.table.read_bytes(), last.read_bytes(), result.model_dump(exclude=clocks)


@pytest.mark.parametrize("task", ["figure-1", SLIPPERY], ids=["certain", "slippery"])
@pytest.mark.parametrize(("learner", "machine"), LEARNT)
def test_stopped_and_resumed_is_the_same_as_never_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learner: str, machine: str | None, task: str
) -> None:
    whole = begun(tmp_path / "whole", learner, machine, task)
    train_seed(whole, 3, quiet)
    torn = begun(tmp_path / "torn", learner, machine, task)
    for stop in (200, 500, 600):

        def interrupt(update: ProgressUpdate, stop: int = stop) -> None:
            if update.step >= stop:
                raise Stop

        try:
            train_seed(torn, 3, interrupt, timing=Timing(report=0.0))
        except Stop:
            assert not list(faults(torn.path))
            assert ended_well(torn.seed(3)) is None
    train_seed(torn, 3, quiet)
    assert kept(torn) == kept(whole)


KILLED = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from errands.runs import train as job
from errands.runs.folder import open_run
heard = []

def kill(update):
    heard.append(update)
    if len(heard) == 4:
        os.kill(os.getpid(), signal.SIGKILL)

job.train_seed(open_run(Path(sys.argv[1])), 3, kill, job.Timing(report=0.0))
"""


def test_a_search_that_was_killed_goes_on_after_its_last_stored_edge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, torn = (begun(tmp_path / name, "dirl", None, "office-3", 60_000) for name in ("whole", "torn"))
    result = train_seed(whole, 3, quiet)
    assert result.steps == result.training_steps + result.rollout_steps
    assert subprocess.run([sys.executable, "-c", KILLED, str(torn.path)], check=False).returncode == -signal.SIGKILL
    stored = steps(torn.seed(3).path)[0]
    assert 0 < stored < result.steps
    heard: list[int] = []
    train_seed(torn, 3, lambda update: heard.append(update.step), timing=Timing(report=0.0))
    assert min(heard) > stored
    assert kept(torn) == kept(whole)


def test_a_search_with_deep_edges_goes_on_after_its_last_stored_edge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ("width=8", "depth=1", "rollouts=2", "edge_limit=30", "edge_steps=120", "platform=cpu")
    whole, torn = (begun(tmp_path / name, "dirl", None, "water-2", 2_000, *small) for name in ("whole", "torn"))
    heard: list[ProgressUpdate] = []
    result = train_seed(whole, 3, heard.append)
    assert heard[0].note == "seed 3 takes 720 of 2,000 steps at most"
    assert result.training_steps is not None
    assert result.row()["training_steps"] + result.row()["rollout_steps"] == result.steps <= 720

    def interrupt(update: ProgressUpdate) -> None:
        if steps(torn.seed(3).path):
            raise Stop

    with pytest.raises(Stop):
        train_seed(torn, 3, interrupt, timing=Timing(report=0.0))
    (stored,) = steps(torn.seed(3).path)
    heard.clear()
    train_seed(torn, 3, heard.append, timing=Timing(report=0.0))
    assert all(update.step > stored for update in heard if not update.note)
    assert kept(torn) == kept(whole)


def test_a_finished_seed_is_not_trained_again(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    first = train_seed(run, 3, quiet)
    before = {p: p.stat().st_mtime_ns for p in run.seed(3).path.rglob("*")}
    assert train_seed(run, 3, quiet) == first
    assert {p: p.stat().st_mtime_ns for p in run.seed(3).path.rglob("*")} == before


@pytest.mark.parametrize(("learner", "task"), [("qcorm", "figure-1"), ("crm", SLIPPERY), ("scout", "figure-1")])
def test_a_run_whose_plan_is_longer_now_goes_on_to_the_bytes_of_one_that_was_planned_so(
    tmp_path: Path, learner: str, task: str
) -> None:
    whole, run = begun(tmp_path / "whole", learner, None, task, 1500), begun(tmp_path / "run", learner, None, task, 500)
    result = train_seed(run, 3)
    assert run.document.id == whole.document.id
    assert run.finished
    write_document(run.path / "run.json", run.document.model_copy(update={"steps": 1500}))
    longer = open_run(run.path)
    # What has searched all that it can find has nothing more to do, however long the plan.
    assert (longer.finished, longer.seed(3).result()) == (result.final, result)
    assert list(faults(longer.path)) == []
    assert verify_seed(longer, 3).differences == ()
    train_seed(longer, 3)
    assert longer.finished
    assert list(faults(longer.path)) == []
    if not result.final:
        train_seed(whole, 3)
        assert kept(longer) == kept(whole)


def test_a_run_that_was_ended_by_who_watched_it_has_ended_until_its_plan_is_longer(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    (job,) = jobs_of(run)
    (result,) = train_job(run, job, watchers=[lambda evaluation, run: evaluation.step < 300])
    assert (result.steps, result.final, result.stopped, run.finished) == (300, False, "a callback", True)
    assert train_seed(run, 3) == result
    write_document(run.path / "run.json", run.document.model_copy(update={"steps": 2_000}))
    longer = open_run(run.path)
    assert not longer.finished
    assert train_seed(longer, 3).steps == 2_000


def test_other_settings_or_tasks_make_another_run_and_other_steps_only_where_they_are_shared_out_first(tmp_path: Path) -> None:
    first = begun(tmp_path / "first").document.id
    assert begun(tmp_path / "longer", count=9_000).document.id == first
    assert begun(tmp_path / "d", "dirl").document.id != begun(tmp_path / "e", "dirl", count=9_000).document.id
    for number, other in enumerate((("crm",), ("qcorm", None, "office-1"), ("qcorm", None, "figure-1", 1500, "gamma=0.5"))):
        assert begun(tmp_path / str(number), *other).document.id != first


def test_folders_inside_a_seeds_folder_are_left_alone(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    kept = run.seed(3).path / "best" / "policy.safetensors"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"mine")
    train_seed(run, 3)
    assert list(faults(run.path)) == []
    assert verify_seed(run, 3).differences == ()
    assert kept.read_bytes() == b"mine"


@pytest.mark.parametrize("name", ["evaluations.csv", "result.json"])
def test_a_damaged_table_or_result_is_written_again_from_the_checkpoint(tmp_path: Path, name: str) -> None:
    run = begun(tmp_path / "run")
    train_seed(run, 3, quiet)
    good = kept(run)
    path = run.seed(3).path / name
    path.write_bytes(path.read_bytes()[:-3])
    assert list(faults(run.path))
    train_seed(run, 3, quiet)
    assert kept(run) == good
    assert not list(faults(run.path))


def test_a_damaged_checkpoint_is_told_and_the_one_before_it_used(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    train_seed(run, 3, quiet)
    good = kept(run)
    place = run.seed(3)
    (place.path / "checkpoint-1500.safetensors").write_bytes(b"")
    place.finish.unlink()
    heard: list[str] = []
    train_seed(run, 3, lambda update: heard.append(update.note))
    assert "checkpoint-1500.safetensors is damaged" in heard[0]
    assert "going on from step 1,400" in heard[0]
    assert kept(run) == good


def test_a_checkpoint_of_other_settings_is_refused_in_a_sentence(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    other = begun(tmp_path / "other", task="delivery-2")
    train_seed(other, 3, quiet)
    run.seed(3).path.mkdir()
    for name in ("checkpoint-1500.json", "checkpoint-1500.safetensors"):
        (run.seed(3).path / name).write_bytes((other.seed(3).path / name).read_bytes())
    with pytest.raises(StoreError, match="belongs to another run"):
        train_seed(run, 3, quiet)


def test_two_processes_cannot_train_the_same_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun(tmp_path / "run")
    with run.seed(3).locked(), pytest.raises(StoreError, match="another process is training"):
        train_seed(run, 3, quiet, Timing(lock=0.0))
    train_seed(run, 3, quiet)


def test_tables_whose_checkpoints_do_not_fit_are_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(tmp_path / "large", "crm", "agenda")
    learner = run.request.new_learner(3)
    monkeypatch.setattr(job, "memory", lambda: 3 * sum(array.nbytes for array in learner.save().values()))
    with pytest.raises(TaskError, match="two thirds of it while a checkpoint is written"):
        train_seed(run, 3, quiet)
    assert not list(run.seed(3).path.glob("*.safetensors"))
    assert learner.save(copy=False)["q"] is learner.q, "a checkpoint is made of the table itself"


def test_optima_of_tasks_that_differ_in_the_seventh_digit_of_a_reward_are_two() -> None:
    """The corridor takes twenty steps: 0.99^19 times what the last one pays."""
    found = []
    for paid in (1000.0001, 1000.0009):
        task = load("corridor")
        (last,) = (t for t in task.machine.transitions if t.target in task.machine.success)
        lines = tuple(replace(t, reward=Reward(paid)) if t is last else t for t in task.machine.transitions)
        one = job.known_optimum(replace(task, machine=replace(task.machine, transitions=lines, phrase=None), text=""))
        found.append(one.discounted)
    assert found == pytest.approx([0.99**19 * 1000.0001, 0.99**19 * 1000.0009], abs=1e-9)
