"""What is said of a run that does not learn: counts by pencil and paper, the same when interrupted, in text and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import errands
from errands.cli import main
from errands.errors import StoreError
from errands.learners.diary import Diary
from errands.tasks import Task

from . import line

FAR = {"left": {"index": 0, "below": -0.9}, "moon": {"index": 0, "above": 2.0}}
"""The second is nowhere: the line ends at 1."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_diary_counts_features_completions_and_ends() -> None:
    diary = Diary(errands.avoid("hole", errands.sequence("a", "b")))
    a, b, hole, none = (frozenset(names) for names in (["a"], ["b"], ["hole"], []))
    for features, ended, cut in (
        (b, False, False), (a, False, False), (b, False, False),  # b counts only after a: success
        (a, False, False), (hole, False, False),  # one completed, then the machine fails
        (none, False, True), (a, True, False), (a, False, False),  # cut; the environment ends; under way
    ):  # fmt: skip
        diary.note(features, ended, cut)
    assert diary.features == {"a": 4, "b": 2, "hole": 1}
    assert diary.completed == {"a": 4, "b": 1}
    assert diary.ends == {"succeeded": 1, "failed": 1, "cut by the limit": 1, "ended by the environment": 1}
    assert diary.furthest == {"2": 1, "1": 2, "0": 1}
    again = Diary(diary.stepper.machine)
    again.restore(json.loads(json.dumps(diary.save())))
    again.note(b, False, False)  # what was under way goes on
    assert again.ends["succeeded"] == 2
    with pytest.raises(StoreError, match="are damaged"):
        again.restore({**diary.save(), "state": [9, 9]})


def test_a_network_that_cannot_succeed_says_what_was_never_true_and_an_interruption_loses_no_count() -> None:
    task = Task.from_env(line.Line, FAR, "any_order(left, moon)", limit=30, name="line")
    run = errands.train(task, "crm", steps=600, settings=line.SETTINGS, name="whole")
    found = run.diagnosis
    assert found is not None
    assert found.features["moon"] == found.completed["moon"] == 0
    assert found.features["left"] >= found.completed["left"] > 0
    assert found.ends == {"cut by the limit": 20}  # 600 steps, 30 each
    assert (found.furthest, found.exploration) == (1, 0.5)
    assert "never true: moon" in found.says
    assert "look at the rule of moon (errands check), or raise the limit of 30 steps" in found.advice

    def stop(evaluation: errands.Evaluation) -> None:
        if evaluation.step == 300:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        errands.train(task, "crm", steps=600, settings=line.SETTINGS, name="again", on_evaluation=stop)
    assert errands.resume("again", task).diagnosis == found
    assert errands.open("whole", task=task).diagnosis == found


def test_tables_that_are_met_step_by_step_count_too_and_good_runs_say_nothing() -> None:
    def lake() -> gym.Env[Any, Any]:
        return gym.Wrapper(gym.make("FrozenLake-v1", is_slippery=False))  # what is wrapped is stepped

    stepped = Task.from_env(lake, {"goal": [15], "hole": [5, 7, 11, 12]}, "avoid(hole, goal)", name="lake")
    run = errands.train(stepped, "qcorm", steps=60)
    assert stepped.finite is None
    assert run.diagnosis is not None
    assert sum(run.diagnosis.ends.values()) >= 1
    assert run.diagnosis.ends.get("failed", 0) == run.diagnosis.features["hole"]
    good = errands.train("figure-1", "qcorm", steps=20_000)
    assert good.diagnosis is None
    assert "diagnosis" not in good.row(10) or good.row(10)["diagnosis"] is None


def test_the_command_tells_it_in_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "office-6", "qcorm", "--steps", "100", "--name", "a", "--quiet"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "seed 0: no evaluation succeeded" in out
    assert "try: train further, to 200 steps: errands resume, with --steps 200" in out
    assert main(["resume", "a", "--json", "--quiet"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert row["diagnosis"]["says"][0] == "no evaluation succeeded"
    assert row["diagnosis"]["features"] == {}  # steps in known tables are counted by nobody
