"""`errands check`: the report on an environment as one document, exit code 1 when something is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from errands.cli import main

ENV = """
import gymnasium as gym
import numpy as np

class Line(gym.Env):
    observation_space = gym.spaces.Box(0.0, {top}, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell, self.steps = int(self.np_random.integers(2, 6)), 0
        return np.array([self.cell], np.float32), dict()
    def step(self, action):
        self.cell = min(max(self.cell + (1 if action else -1), 0), 7)
        self.steps += 1
        return np.array([self.cell], np.float32), 0.0, False, self.steps >= 40, dict()

def label(observation, action, following, info):
    return {{0: {{"a"}}, 7: {{"b"}}}}.get(int(following[0]), set())
"""


def checked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object]]:
    code = main(["check", *words, "--json"])
    out, err = capsys.readouterr()
    assert code in (0, 1), err
    document: dict[str, object] = json.loads(out)
    return code, document


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [str(tmp_path), *__import__("sys").path])
    return tmp_path


def test_an_environment_in_order_has_no_findings(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "line_good.py").write_text(ENV.format(top="7.0"))
    words = ["line_good:Line", "--features", "line_good:label"]
    assert checked(capsys, *words) == (0, {"env": "line_good:Line", "ok": True, "findings": []})
    assert main(["check", *words]) == 0
    assert capsys.readouterr().out == "No findings: the environment fits.\n"


def test_an_error_is_exit_code_one_and_told_with_its_level(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The space ends at 5, and the walk goes on to 7."""
    (here / "line_bad.py").write_text(ENV.format(top="5.0"))
    code, document = checked(capsys, "line_bad:Line", "--features", "line_bad:label")
    assert (code, document["ok"]) == (1, False)
    assert main(["check", "line_bad:Line", "--features", "line_bad:label"]) == 1
    assert capsys.readouterr().out.startswith("error: ")


def test_what_cannot_be_found_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "no_such_module:Env"]) == 2
    assert "the module 'no_such_module' cannot be imported" in capsys.readouterr().err
    for steps, said in (("0", "0"), ("1e15", "1,000,000,000,000,000")):
        assert main(["check", "figure-1", "--steps", steps]) == 2
        assert f"steps is {said}; a check keeps every step" in capsys.readouterr().err


def test_the_rules_of_a_task_file_are_checked_where_no_function_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the lake of 64 places the goal of the small lake, place 15, is no end; on the small one it is."""
    rules = "features = { goal = [15], never = [99] }"
    (here / "lake.toml").write_text(
        f'name = "lake"\n[world]\nkind = "gymnasium"\nid = "FrozenLake-v1"\n{rules}\n[machine]\nphrase = "goal"\n'
    )
    assert main(["check", "FrozenLake-v1", "--task", "lake.toml"]) == 2
    assert "99" in capsys.readouterr().err
    (here / "lake.toml").write_text((here / "lake.toml").read_text().replace(", never = [99]", ""))
    _, small = checked(capsys, "FrozenLake-v1", "--task", "lake.toml")
    _, large = checked(capsys, "FrozenLake8x8-v1", "--task", "lake.toml")
    assert {f["code"] for f in small["findings"]} == {"termination-ignored"}  # type: ignore[attr-defined, index]
    assert "not-reported" not in str(large)
    assert "info" not in str(small["findings"]) + str(large["findings"])
