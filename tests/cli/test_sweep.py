"""`errands sweep`: from flags or a plan file to a folder of runs; shown before, told after."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from errands.cli import main

FLAGS = ["--task", "figure-1,delivery-2", "--learner", "qcorm,crm", "--seeds", "2", "--steps", "1000", "--jobs", "1"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_flags_become_runs_and_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", *FLAGS, "--name", "s", "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["finished"], document["failed"]) == (8, 0)
    assert document["predicted"]["runs"] == 8
    assert [(r["task"], r["learner"], r["seed"]) for r in document["runs"][:3]] == [
        ("figure-1", "qcorm", 0),
        ("figure-1", "qcorm", 1),
        ("figure-1", "crm", 0),
    ]
    assert "8 runs on 1 processes: about" in err
    assert "[8/8]" in err
    assert len(Path("runs/s/results.csv").read_text().splitlines()) == 9
    assert main(["resume", "s", "--json", "--quiet"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["runs"] == document["runs"]
    assert main(["verify", document["folder"] + "/" + document["runs"][0]["folder"]]) == 0


def test_a_plan_file_with_an_option_in_its_place(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = here / "plan.toml"
    plan.write_text('learner = "qcorm"\nsteps = 500\n[[runs]]\ntask = "figure-1"\n[[runs]]\ntask = "delivery-2"\nseeds = 3\n')
    assert main(["sweep", str(plan), "--seeds", "1", "--json", "--quiet", "--jobs", "1"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(r["task"], r["steps"]) for r in document["runs"]] == [("figure-1", 500), ("delivery-2", 500)]


def test_a_dry_run_shows_the_plan_and_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", *FLAGS, "--dry-run"]) == 0
    assert "8 runs on 1 processes: about" in capsys.readouterr().out
    assert main(["sweep", *FLAGS, "--dry-run", "--vary", "alpha=0.1,0.2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["cells"]) == 8
    assert not Path("runs").exists()


def test_a_run_that_fails_is_told_by_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--task", "figure-1,delivery-14", "--learner", "crm", "--machine", "boolean", "--seeds", "1", "--steps", "100"]
    assert main(["sweep", *words, "--jobs", "1", "--json", "--quiet"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["finished"], document["failed"]) == (1, 1)
    assert main(["resume", "latest", "--quiet", "--jobs", "1"]) == 1
    assert "1 failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "needs a plan file"),
        (["--task", "figure-1"], "missing: --learner"),
        (["missing.toml"], "there is no file 'missing.toml'; give the path of a plan"),
        ([*FLAGS, "--vary", "alpha"], "varies nothing"),
        ([*FLAGS, "--set", "alhpa=1"], "did you mean 'alpha'"),
        ([*FLAGS, "--name", "a/b"], "cannot name a run"),
        ([*FLAGS, "--checkpoint-every", "0"], "positive number"),
    ],
)
def test_a_mistake_is_one_sentence(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["sweep", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not Path("runs").exists()


def test_a_missing_engine_leaves_no_folder_behind(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["sweep", "--task", "figure-1", "--learner", "qcorm", "--engine", "ray"]) == 2
    assert "the engine 'ray' is not installed" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
