"""`errands train`: the document of the front door, the folder made before it starts, and mistakes in one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from errands.cli import main

CODE = "import sys; from errands.cli import main; sys.exit(main())"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trained(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["train", *words, "--json", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found: dict[str, object] = json.loads(out)
    return found


def test_the_document_has_the_keys_of_the_front_door(capsys: pytest.CaptureFixture[str]) -> None:
    document = trained(capsys, "figure-1", "qcorm", "--steps", "5000", "--seeds", "2", "--name", "a")
    assert {"task", "learner", "machine", "preset", "optimum", "runs"} <= document.keys()
    assert (document["task"], document["learner"], document["machine"]) == ("figure-1", "qcorm", "coupled")
    assert (document["preset"], document["optimum"]) == ("tuned", 10)
    runs = document["runs"]
    assert isinstance(runs, list)
    assert [run["seed"] for run in runs] == [0, 1]
    names = {"seed", "steps", "final_length", "final_success", "first_optimal_step", "order", "wall_seconds"}
    assert all(names <= run.keys() for run in runs)
    assert runs[0]["steps"] == 5000
    assert (runs[0]["final_length"], runs[0]["final_success"]) == (10, True)
    assert sorted(runs[0]["order"]) == ["b1", "b2", "s", "s"]
    assert (Path("runs") / "a" / "run.json").exists()


def test_without_a_learner_a_finite_world_is_scouted_and_proved(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "figure-1", "--steps", "2000", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "scout" in text
    assert "10 steps, proved optimal after" in text


def test_machine_preset_settings_and_seed_are_used_and_stored(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["crm", "--machine", "boolean", "--preset", "paper", "--seed", "5", "--steps", "300", "--set", "epsilon=0.5"]
    document = trained(capsys, "figure-1", *words, "--set", "gamma=0.8", "--eval-every", "100", "--name", "b")
    assert (document["machine"], document["preset"]) == ("boolean", "paper")
    runs = document["runs"]
    assert isinstance(runs, list)
    assert runs[0]["seed"] == 5
    stored = json.loads((Path("runs") / "b" / "run.json").read_text())
    assert (stored["config"]["epsilon"], stored["config"]["gamma"]) == (0.5, 0.8)
    assert (stored["config"]["alpha"], stored["config"]["eval_every"]) == (1e-5, 100)
    assert len((Path("runs") / "b" / "seed-5" / "evaluations.csv").read_text().splitlines()) == 4


def test_names_are_made_up_and_never_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        trained(capsys, "figure-1", "qrm", "--steps", "10")
    assert len(list(Path("runs").iterdir())) == 3
    trained(capsys, "figure-1", "qrm", "--steps", "10", "--name", "mine")
    assert main(["train", "figure-1", "qrm", "--steps", "10", "--name", "mine"]) == 2
    assert "never overwritten" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["figure-2"], "did you mean 'figure-1'"),
        (["figure-1", "qcrom"], "did you mean 'qcorm'"),
        (["figure-1", "qcorm", "--steps", "0"], "at least 1 step"),
        (["figure-1", "qcorm", "--seeds", "0"], "--seeds is 0"),
        (["figure-1", "qcorm", "--seed", "-1"], "seeds are whole numbers, 0 or more"),
        (["figure-1", "qcorm", "--jobs", "0"], "--jobs is 0"),
        (["figure-1", "qcorm", "--machine", "boolean"], "uses its own machine"),
        (["figure-1", "qcorm", "--preset", "papr"], "did you mean 'paper'"),
        (["figure-1", "qcorm", "--set", "alpah=1"], "did you mean 'alpha'"),
        (["figure-1", "qcorm", "--set", "alpha=7"], "must lie between 0 and 1"),
        (["figure-1", "qcorm", "--checkpoint-every", "0"], "give a positive number"),
        (["figure-1", "qcorm", "--name", "../up"], "cannot name a run"),
        (["delivery-14", "crm", "--machine", "boolean"], "would take"),
        (["figure-1", "qcorm", "--stesp", "10"], "did you mean '--steps'"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_no_folder(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["train", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
    assert not Path("runs").exists()


def test_hash_seeds_and_the_compiler_change_no_byte(here: Path) -> None:
    kept = []
    for number, changes in enumerate([{"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2", "NUMBA_DISABLE_JIT": "1"}]):
        words = ["train", "figure-1", "crm", "--steps", "600", "--eval-every", "100", "--name", f"n{number}", "--quiet"]
        subprocess.run([sys.executable, "-c", CODE, *words], env={**os.environ, **changes}, check=True, capture_output=True)
        folder = here / "runs" / f"n{number}" / "seed-0"
        kept.append([(folder / name).read_bytes() for name in ("evaluations.csv", "checkpoint-600.safetensors")])
    assert kept[0] == kept[1]


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "figure-1", "qcorm", "--steps", "3000", "--quiet"]
    trained(capsys, *words[1:-1], "--name", "whole")
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, -1)); {CODE}"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # a compiler could not write its cache either
    done = subprocess.run([sys.executable, "-c", limit, *words, "--name", "torn"], env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "the disk is full; free some space, then 'errands resume latest'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert main(["resume", "latest", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["final_success"]
    whole, torn = (here / "runs" / name / "seed-0" / "evaluations.csv" for name in ("whole", "torn"))
    assert whole.read_bytes() == torn.read_bytes()


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="only Linux has a folder in which nobody may write")
def test_a_read_only_folder_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir("/sys/kernel")
    assert main(["train", "figure-1", "qcorm", "--steps", "10"]) == 2
    assert "you may not write there; run in a folder where you may" in capsys.readouterr().err


def test_a_file_in_place_of_the_runs_folder_is_one_sentence(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "runs").write_text("a file in the way")
    assert main(["train", "figure-1", "qcorm", "--steps", "10", "--quiet"]) == 2
    err = capsys.readouterr().err
    assert "runs" in err
    assert err.count("\n") == 1


def test_the_first_run_says_that_it_compiles_and_the_second_is_silent(here: Path) -> None:
    words = [sys.executable, "-c", CODE, "solve", "figure-1", "--json"]
    environment = {**os.environ, "ERRANDS_CACHE": str(here / "cache"), "NUMBA_DISABLE_JIT": "0"}
    first, second = (subprocess.run(words, env=environment, capture_output=True, text=True, check=True) for _ in range(2))
    assert first.stderr == "compiling what this needs, once: about 8 seconds\n"
    assert second.stderr == ""
    assert json.loads(first.stdout) == json.loads(second.stdout)
