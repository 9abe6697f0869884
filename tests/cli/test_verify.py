"""`errands verify`: exit code 0 when a run repeats itself, 1 with what differs or is damaged."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from errands.cli import main
from errands.learners.qrm.tabular import CRM
from errands.tables import Evaluation


@pytest.fixture(autouse=True)
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "figure-1", "crm", "--steps", "2000", "--seeds", "2", "--name", "a", "--quiet"]) == 0
    capsys.readouterr()
    return tmp_path / "runs" / "a"


def test_a_run_repeats_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "latest"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "seed 0: the same for 2,000 steps (2 evaluations and the tables)",
        "seed 1: the same for 2,000 steps (2 evaluations and the tables)",
    ]
    assert main(["verify", "a", "--seed", "1", "--steps", "1000", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["same"] is True
    assert document["seeds"][0]["steps"] == 1000


def test_a_changed_file_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = run / "seed-1" / "evaluations.csv"
    table.write_bytes(table.read_bytes().replace(b"1.0", b"1.1", 1))
    assert main(["verify", "a"]) == 1
    assert "seed-1/evaluations.csv is damaged" in capsys.readouterr().out


def test_a_seed_folder_of_another_run_is_told(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(run / "seed-0")
    assert main(["train", "figure-1", "crm", "--steps", "2000", "--set", "alpha=0.3", "--name", "b", "--quiet"]) == 0
    shutil.copytree(run.parent / "b" / "seed-0", run / "seed-0")
    capsys.readouterr()
    assert main(["verify", "a", "--seed", "0"]) == 1
    assert "belongs to another run" in capsys.readouterr().out


def test_a_run_that_does_not_repeat_itself_is_told(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The code has changed since: its greedy episodes are one step longer."""
    measured = CRM.measure

    def longer(self: CRM) -> Evaluation:
        found = measured(self)
        return dataclasses.replace(found, episode_length=found.episode_length + 1)

    monkeypatch.setattr(CRM, "measure", longer)
    assert main(["verify", "a", "--seed", "0"]) == 1
    assert "seed 0: evaluations.csv, line 2: stored is" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "said"), [(["--seed", "9"], "has no seed 9; it has 0, 1"), (["--steps", "0"], "at least 1")])
def test_a_mistake_is_one_sentence(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["verify", "a", *words]) == 2
    assert said in capsys.readouterr().err
