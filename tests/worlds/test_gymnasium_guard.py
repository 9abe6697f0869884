"""The guard around a user's code: a hundred environments that misbehave, and what is left of a run that met one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from errands.cli import main
from errands.errors import TaskError
from errands.runs.folder import open_run
from errands.tasks import Task
from errands.worlds.gymnasium import guard


def _fuzzer() -> Any:
    place = Path(__file__).parents[2] / "benchmarks" / "fuzz_envs.py"
    spec = importlib.util.spec_from_file_location("fuzz_envs", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_envs"] = module
    spec.loader.exec_module(module)
    return module


FUZZER = _fuzzer()
CASES = list(FUZZER.cases())[::53]


@pytest.mark.parametrize("case", CASES, ids=["-".join(map(str, case)) for case in CASES])
def test_an_environment_that_misbehaves_is_told_in_a_sentence_with_its_name_and_the_step(
    case: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "CLOSING", 0.3)
    verdict, sentence = FUZZER.outcome(case)
    assert verdict in ("told", "not met"), sentence


def test_most_of_these_environments_meet_their_fault() -> None:
    assert len(CASES) > 100


class Lane(gym.Env[Any, Any]):
    """Four cells in a row, observed by number; its flags are of the kind that it is given."""

    observation_space = gym.spaces.Discrete(4)
    action_space = gym.spaces.Discrete(2)
    flag: Any = bool

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 0
        return self.cell, {}

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        self.cell = min(3, max(0, self.cell + (1 if action else -1)))
        return self.cell, np.float32(1), self.flag(False), self.flag(False), {}


@pytest.mark.parametrize("flag", [bool, np.bool_, np.array])
def test_bools_of_array_libraries_are_flags(flag: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lane, "flag", flag)
    env = Task.from_env(Lane, {"end": [3]}, "end").world.env()
    env.reset(seed=0)
    *_, terminated, truncated, _ = env.step(1)
    assert (terminated, truncated) == (False, False)


@pytest.mark.parametrize("flag", [str, int, np.int64])
def test_nothing_else_is(flag: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lane, "flag", flag)
    env = Task.from_env(Lane, {"end": [3]}, "end").world.env()
    env.reset(seed=0)
    with pytest.raises(TaskError, match=r"'Lane' in step 1 of an episode gave terminated = .*; give True or False"):
        env.step(1)


KITCHEN = """
import sys
import gymnasium as gym

CALLS = [0]

class Kitchen(gym.Env):
    observation_space = gym.spaces.Discrete(4)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return 0, {}

    def step(self, action):
        self.cell = min(3, max(0, self.cell + (1 if action else -1)))
        return self.cell, 0.0, False, False, {}

def make():
    return Kitchen()

def features(before, action, after, info):
    CALLS[0] += 1
    if CALLS[0] == 2500:
        sys.exit(0)
    return {"stove"} if after == 3 else set()
"""
TASK = """
name = "kitchen"
[world]
kind = "gymnasium"
id = "guarded_kitchen:make"
features = "guarded_kitchen:features"
limit = 50
[machine]
phrase = "stove"
"""


def test_a_features_function_that_exits_fails_the_run_keeps_its_folder_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guarded_kitchen.py").write_text(KITCHEN)
    (tmp_path / "task.toml").write_text(TASK)
    train = "train task.toml crm --steps 4000 --name r --quiet --checkpoint-every 0.05 --import guarded_kitchen"
    assert main(train.split()) == 1
    said = capsys.readouterr().err
    assert "of an episode the features function of 'guarded_kitchen:make' raised SystemExit: 0" in said
    assert "is kept" in said
    assert said.count("\n") == 1
    assert "SystemExit" in (tmp_path / "runs" / "r" / "seed-0" / "traceback.txt").read_text()
    assert open_run(tmp_path / "runs" / "r").seed(0).evaluations()
    assert main(["resume", "r", "--quiet", "--import", "guarded_kitchen"]) == 0
