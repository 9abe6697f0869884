"""What strangers, crashes and accidents do to runs: each is met with one sentence, and nothing good is lost."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands.errors import ConfigError, ErrandsError, StoreError, TaskError
from errands.runs.checkpoint import steps
from errands.runs.documents import RunDocument, read_document
from errands.runs.engines import train_in_processes
from errands.runs.folder import HEAD, RunFolder, create, open_run
from errands.runs.plan import expand, make_block, read_plan
from errands.runs.progress import progress
from errands.runs.provenance import git_state
from errands.runs.request import Request, for_steps
from errands.runs.sweep import train_run
from errands.runs.train import jobs_of, train_seed
from errands.runs.verify import faults
from errands.tasks import load


def begun(path: Path, **changes: Any) -> RunFolder:
    task = load("figure-1")
    return create(path, Request.of(task, "qcorm", **{"steps": 2_000, **changes}), 1e-9, {})


def test_a_deleted_checkpoint_and_a_deleted_result_are_noticed(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    train_run(run, quiet=True)
    assert not list(faults(run.path))
    place = run.seed(0).path
    for path in place.glob("checkpoint-2000.*"):
        path.rename(tmp_path / path.name)
    assert any("lacks the checkpoint that result.json names" in fault for fault in faults(run.path))
    for name in ("checkpoint-2000.json", "checkpoint-2000.safetensors"):
        (tmp_path / name).rename(place / name)
    (place / "result.json").unlink()
    assert any("result.json is missing, though training has ended" in fault for fault in faults(run.path))
    train_run(open_run(run.path), quiet=True)
    assert not list(faults(run.path))


def test_two_creations_of_one_folder_at_the_same_moment_make_one_run(tmp_path: Path) -> None:
    tasks = [load("figure-1"), load("corridor")]
    requests = [Request.of(task, "qcorm", steps=1_000) for task in tasks]

    def attempt(path: Path, which: int) -> str:
        try:
            return create(path, requests[which], git={}).task.name
        except StoreError as fault:
            return "" if "never overwritten" in str(fault) else f"unexpected: {fault}"

    with ThreadPoolExecutor(2) as pool:
        for number in range(60):
            path = tmp_path / f"run-{number}"
            names = list(pool.map(lambda which, path=path: attempt(path, which), (0, 1)))
            assert sorted(map(bool, names)) == [False, True]
            assert open_run(path).task.name == max(names)


def test_gits_own_settings_start_no_program(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", "-C", str(tmp_path), *identity, *words]
        nobodys = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=nobodys).stdout.strip()

    git("init", "-q")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-q", "-m", "a")
    mark = tmp_path / "ran"
    config = tmp_path / ".git" / "config"
    config.write_text(f'{config.read_text()}[core]\n\tfsmonitor = "touch {mark}; false"\n')
    found = git_state(tmp_path)
    assert found["here_commit"] == git("-c", "core.fsmonitor=false", "rev-parse", "HEAD")
    assert not mark.exists()
    git("-c", "core.fsmonitor=false", "pack-refs", "--all")
    assert git_state(tmp_path)["here_commit"] == found["here_commit"]
    (tmp_path / ".git" / "HEAD").write_text("ref: ../../etc/passwd")
    assert "here_commit" not in git_state(tmp_path)


def test_workers_run_no_code_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun(tmp_path / "run", seeds=(0, 1))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in ("numba", "multiprocessing", "random", "selectors"):
        Path(f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    with progress(2, quiet=True) as told:
        train_in_processes(jobs_of(run), 1, told, strict=True)
    assert run.finished
    assert not (tmp_path / "ran").exists()
    assert "PYTHONSAFEPATH" not in os.environ


def test_plans_are_counted_before_they_are_made() -> None:
    block = make_block({"task": "figure-1", "learner": "crm", "vary": {f"s{i}": [1, 2] for i in range(30)}})
    with pytest.raises(ConfigError, match=r"1,073,741,824 combinations, and at most 200,000"):
        expand([block])
    many = make_block({"task": "figure-1", "learner": "crm", "seeds": 100_000, "vary": {"alpha": list(range(100))}})
    with pytest.raises(ConfigError, match=r"10,000,000 seeds to train"):
        expand([many])
    with pytest.raises(ConfigError, match="more than sixty dots"):
        read_plan("a" + ".a" * 100_000 + " = 1")
    assert len(read_plan('task = "delivery-2..4"\nlearner = "crm"\nset = ["alpha=0.5"]')[0].task) == 3


def test_a_seed_listed_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="more than once"):
        begun(tmp_path / "run", seeds=(1, 1))
    run = begun(tmp_path / "run")
    text = (run.path / HEAD).read_text()
    assert read_document(run.path / HEAD, RunDocument).seeds == [0]
    assert '"seeds": [\n  0\n ]' in text
    with pytest.raises(ValueError, match="listed more than once"):
        RunDocument.model_validate({**run.document.model_dump(), "seeds": [0] * 1000})


def test_numbers_without_sense_are_refused_in_a_sentence(tmp_path: Path) -> None:
    for seconds in (float("inf"), float("nan"), 0.0, -1.0):
        with pytest.raises(ConfigError, match="give a positive number"):
            create(tmp_path / "run", Request.of(load("figure-1")), seconds)
    with pytest.raises(ConfigError, match=r"2\^53 - 1"):
        for_steps(2**53)


class Moody(gym.Env[Any, int]):
    """Five cells in a row; it raises after some steps, once."""

    observation_space, action_space = gym.spaces.Discrete(5), gym.spaces.Discrete(2)
    steps_until_fault = 10**9

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 0
        return self.seen(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        Moody.steps_until_fault -= 1
        if Moody.steps_until_fault <= 0:
            raise RuntimeError("the motor is hot")
        self.cell = max(0, min(4, self.cell + (1 if action else -1)))
        return self.seen(), 0.0, False, False, {}

    def seen(self) -> Any:
        return self.cell


class MoodyNumbers(Moody):
    """The same, seen as a number that deep learners learn from."""

    observation_space = gym.spaces.Box(0, 4, (1,), np.float32)

    def seen(self) -> Any:
        return np.array([self.cell], np.float32)


@pytest.mark.parametrize(
    ("env", "features", "settings"),
    [
        (Moody, "[4]", []),
        pytest.param(
            MoodyNumbers, "{ index = 0, above = 3.5 }", ["width=8", "depth=1", "batch=8", "eval_episodes=1"],
            marks=pytest.mark.slow,  # ten seconds of compiling
        ),
    ],
)
def test_an_environment_that_raises_costs_no_more_than_the_steps_since_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: type[Moody], features: str, settings: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    gym.register("errands-test/Moody-v0", env)
    try:
        text = f"""
name = "moody"
[world]
kind = "gymnasium"
id = "errands-test/Moody-v0"
features = {{ end = {features} }}
limit = 50
[machine]
phrase = "end"
"""
        errands.allow(__name__.partition(".")[0])  # which defines the environment
        task = errands.Task.from_toml(text)
        request = Request.of(task, "crm", steps=600, settings=["eval_every=100", *settings])
        run = create(tmp_path / "run", request, checkpoint_seconds=1e-9, git={})
        monkeypatch.setattr(Moody, "steps_until_fault", 450)
        told = r"'errands-test/Moody-v0' in step \d+ of an episode raised RuntimeError: the motor is hot; .* Seed 0 stopped at "
        with pytest.raises(TaskError, match=told + r"step \d+; its checkpoint of step \d+ is kept, .*traceback\.txt says where"):
            train_seed(run, 0, lambda update: None)
        place = run.seed(0)
        assert steps(place.path)[0] >= 100
        assert "the motor is hot" in (place.path / "traceback.txt").read_text()
        monkeypatch.setattr(Moody, "steps_until_fault", 10**9)
        assert train_seed(open_run(run.path), 0, lambda update: None).steps == 600
    finally:
        gym.registry.pop("errands-test/Moody-v0")


def test_whatever_nobody_foresaw_leaves_its_traceback_beside_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from errands.learners.qcorm.tabular import QCoRM

    run, whole = begun(tmp_path / "run", settings=["eval_every=200"]), begun(tmp_path / "whole", settings=["eval_every=200"])
    train_run(whole, quiet=True)
    loop = QCoRM.loop

    def broken(self: QCoRM, count: int) -> int:
        if self.step >= 1_000:
            raise ZeroDivisionError("a cosmic ray")
        return loop(self, count)

    monkeypatch.setattr(QCoRM, "loop", broken)
    with pytest.raises(ErrandsError, match="seed 0 stopped at step 1,000: ZeroDivisionError: a cosmic ray; its checkpoint"):
        train_run(run, quiet=True)
    assert "a cosmic ray" in (run.seed(0).path / "traceback.txt").read_text()
    monkeypatch.setattr(QCoRM, "loop", loop)
    train_run(open_run(run.path), quiet=True)
    assert run.seed(0).table.read_bytes() == whole.seed(0).table.read_bytes()
    assert not list(faults(run.path))


def test_a_fifo_in_place_of_a_file_is_refused_at_once(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no FIFOs here")
    run = begun(tmp_path / "run")
    (run.path / "task.toml").unlink()
    os.mkfifo(run.path / "task.toml")
    with pytest.raises(StoreError, match="not a plain file"):
        open_run(run.path)
