"""`errands evaluate`: many greedy episodes of the environment itself, the same as run.evaluate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import errands
from errands.cli import main

LAKE = """
name = "lake"
[world]
kind = "gymnasium"
id = "FrozenLake-v1"
kwargs = { is_slippery = true }
features = { goal = [15] }
[machine]
phrase = "goal"
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_slippery_lake_is_walked_itself_and_its_exact_value_stands_beside(capsys: pytest.CaptureFixture[str]) -> None:
    """Value iteration by hand: no policy reaches the goal of FrozenLake 4x4 with more than 0.8235 in the long run."""
    run = errands.train(errands.Task.from_toml(LAKE), "crm", steps=60_000, name="lake")
    assert main(["evaluate", "lake", "--episodes", "400", "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["run", "seed", "episodes", "success", "length", "exact"]
    assert (told["run"], told["seed"], told["episodes"]) == ("lake", 0, 400)
    assert list(told["success"]) == list(told["length"]) == ["mean", "low", "high"]
    sample = run.evaluate(400)
    assert told["success"] == {"mean": sample.success.mean, "low": sample.success.low, "high": sample.success.high}
    assert told["exact"] == {"success": run.certificate.success, "length": run.certificate.length}
    # Three standard deviations of a mean of 400.
    assert abs(told["success"]["mean"] - told["exact"]["success"]) < 3 * (0.25 / 400) ** 0.5
    assert told["exact"]["success"] < 0.8236
    assert main(["evaluate", "lake", "--episodes", "40", "--quiet"]) == 0
    assert "means of 40 greedy episodes\nexactly, by the world's table" in capsys.readouterr().out


def test_where_nothing_is_left_to_chance_one_episode_says_everything(capsys: pytest.CaptureFixture[str]) -> None:
    errands.train("figure-1", "qcorm", steps=5_000, seeds=[3, 4], name="pair")
    assert main(["evaluate", "pair", "--seed", "4", "--json"]) == 0
    ten = {"mean": 10.0, "low": 10.0, "high": 10.0}
    one = {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert json.loads(capsys.readouterr().out) == {
        "run": "pair", "seed": 4, "episodes": 1, "success": one, "length": ten, "exact": {"success": 1.0, "length": 10.0},
    }  # fmt: skip
    assert main(["evaluate", "pair", "--episodes", "1"]) == 2
    assert "--episodes is 1; it must lie between 2 and" in capsys.readouterr().err


def test_another_phrase_is_pursued_by_what_was_learnt(capsys: pytest.CaptureFixture[str]) -> None:
    """Past decorations 24 steps are the best that Scout's map of Office shows for two offices; over them it is 22."""
    errands.train("office-4", "scout", name="office")
    phrase = "any_order(o2, o4, before=coffee)"
    assert main(["evaluate", "office", "--phrase", phrase]) == 0
    said = capsys.readouterr().out
    assert "success 1, 24 steps" in said
    assert "24 steps, 2 more than the optimum\ngoes by scout on 'office-4' for" in said
    assert "not known: what 24 untried pairs would do" in said
    assert main(["evaluate", "office", "--phrase", "any_order(o2, o9)"]) == 2
    assert "cannot report the subtask 'o9'" in capsys.readouterr().err
