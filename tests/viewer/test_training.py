"""Training from the page: requests that are refused, a run that ends, and one that is cancelled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from errands.errors import ConfigError, SpecError, UnknownName
from errands.runs.folder import RunFolder, create, open_run
from errands.runs.request import Request
from errands.runs.train import train_seed
from errands.tasks import load
from errands.tasks.catalogue import task_text
from errands.viewer.training import PageTrainer, training_request
from errands.worlds.imports import allow

from .conftest import HANGS

FIGURE = task_text("figure-1")


@pytest.fixture
def trainer(tmp_path: Path) -> Iterator[PageTrainer]:
    made = PageTrainer(tmp_path)
    yield made
    made.close()


def test_a_request_has_a_text_and_a_learner_and_may_leave_out_the_rest() -> None:
    assert training_request({"text": "t", "learner": "qcorm"}) == ("t", "qcorm", 50_000, 0)
    assert training_request({"text": "t", "learner": "crm", "steps": 9, "seed": 2}) == ("t", "crm", 9, 2)


@pytest.mark.parametrize(
    "body", [{}, {"text": "t"}, {"text": 3}, {"text": "t", "steps": "9"}, {"text": "t", "seed": True}, {"text": "t", "learner": 3}]
)
def test_a_request_of_another_shape_is_refused(body: Any) -> None:
    with pytest.raises(ConfigError, match="a request to train has a text"):
        training_request(body)


def test_what_the_page_does_not_train_is_refused_and_leaves_no_folder(trainer: PageTrainer) -> None:
    with pytest.raises(UnknownName, match="did you mean 'qcorm'"):
        trainer.start(FIGURE, "qcrom", 10, 0)
    for steps in (0, trainer.max_steps + 1):
        with pytest.raises(ConfigError, match="the page trains 1 to 2,000,000"):
            trainer.start(FIGURE, "crm", steps, 0)
    with pytest.raises(ConfigError, match="the world of 'water-2' is continuous"):
        trainer.start(task_text("water-2"), "crm", 10, 0)
    with pytest.raises(SpecError):
        trainer.start("name = ", "crm", 10, 0)
    with pytest.raises(ConfigError, match="seeds are whole numbers, 0 or more"):
        trainer.start(FIGURE, "crm", 10, -1)
    assert list(trainer.runs.iterdir()) == []


def test_a_run_is_trained_to_its_end_by_a_process_of_its_own(trainer: PageTrainer) -> None:
    name = trainer.start(FIGURE, "qrm", 2_000, 3)
    assert trainer.known[name].process.wait(HANGS) == 0
    assert trainer.cancel(name) == trainer.state(name) == "done"
    (result,) = open_run(trainer.runs / name).results()
    assert (result.seed, result.steps, result.error) == (3, 2_000, None)


def test_a_run_is_trained_further_to_a_larger_total(trainer: PageTrainer, tmp_path: Path) -> None:
    folder = create(tmp_path / "short", Request.of(load("figure-1"), "crm", steps=1_000))
    train_seed(folder, 0)
    for steps, said in ((1_000, "give more than 1,000"), (trainer.max_steps + 1, r"errands resume short --steps 2000001")):
        with pytest.raises(ConfigError, match=said):
            trainer.further(folder, steps)
    assert trainer.further(folder, 2_000) == "short"
    assert trainer.known["short"].process.wait(HANGS) == 0
    (result,) = open_run(tmp_path / "short").results()
    assert (result.steps, trainer.state("short"), open_run(tmp_path / "short").finished) == (2_000, "done", True)


HALL = """
import gymnasium as gym

class Hall(gym.Env):
    observation_space, action_space = gym.spaces.Discrete(5), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 2
        return self.at, {}

    def step(self, action):
        self.at = min(4, max(0, self.at + 2 * int(action) - 1))
        return self.at, 0.0, False, False, {}

def place(observation):
    return int(observation)
"""
WALK = """name = "walk"
[world]
kind = "gymnasium"
id = "hall:Hall"
features = { left = [0], right = [4] }
state = "hall:place"
limit = 50
[machine]
phrase = "any_order(left, right)"
"""


def test_code_of_a_module_is_trained_once_the_server_was_told_to_import_it(
    trainer: PageTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hall.py").write_text(HALL)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError, match="start it with 'errands view --import hall'"):
        trainer.start(WALK, "crm", 2_000, 0)
    allow("hall")
    name = trainer.start(WALK, "crm", 2_000, 0)
    assert trainer.known[name].process.wait(HANGS) == 0
    (result,) = open_run(trainer.runs / name).results()
    assert (result.final_length, result.optimum, result.error) == (6, 6, None)


def test_only_so_many_are_trained_at_once_and_each_can_be_cancelled(tmp_path: Path) -> None:
    trainer = PageTrainer(tmp_path / "runs", max_steps=10**12, max_at_once=1)  # more steps than are over before it is cancelled
    name = trainer.start(FIGURE, "crm", 10**12, 0)
    with pytest.raises(ConfigError, match="1 runs are being trained; cancel one or wait"):
        trainer.start(FIGURE, "crm", 10, 0)
    assert trainer.cancel(name) == "cancelled"
    assert trainer.state(name) == "cancelled"
    assert trainer.known[name].process.poll() is not None


def test_runs_of_others_are_not_known_here(trainer: PageTrainer) -> None:
    assert trainer.state("elsewhere") is None
    with pytest.raises(ConfigError, match="'elsewhere' is not being trained by this page"):
        trainer.cancel("elsewhere")


@pytest.fixture
def endless(tmp_path: Path) -> RunFolder:
    request = Request.of(load("delivery-8"), "crm", steps=10**9, seeds=[0])
    return create(tmp_path / "endless", request, checkpoint_seconds=60.0, git={})


def started(run: RunFolder, seconds: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "errands.viewer.training", str(run.path), str(seconds)]
    return subprocess.Popen(command, stdin=subprocess.PIPE)


def test_it_stops_when_its_time_is_over(endless: RunFolder) -> None:
    with started(endless, 1) as process:
        assert process.wait(HANGS) == 3


def test_it_ends_with_the_server(endless: RunFolder) -> None:
    with started(endless, 10 * HANGS) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(HANGS) == 1
    assert not endless.finished


def test_code_in_the_working_folder_is_not_imported(
    trainer: PageTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("numba", "errands", "safetensors", "json"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    name = trainer.start(load("figure-1").to_toml(), "crm", 100, 0)
    trainer.known[name].process.wait(HANGS)
    assert trainer.state(name) == "done"
    assert not (tmp_path / "ran").exists()
