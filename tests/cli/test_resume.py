"""`errands resume`: the same document as `train`, and the same bytes after any kill."""

from __future__ import annotations

import importlib.util
import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from errands.cli import main


@pytest.fixture(scope="module")
def kills() -> Any:
    """The measurement of benchmarks/, of which a bounded sample is run here."""
    place = Path(__file__).parents[2] / "benchmarks" / "kills.py"
    spec = importlib.util.spec_from_file_location("kills", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["kills"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("command", "most", "less"), [("TRAIN", 4, "--steps 300000"), ("SWEPT", 2, "--steps 50000 --task figure-1")]
)
def test_a_command_killed_again_and_again_ends_with_the_same_bytes(kills: Any, command: str, most: int, less: str) -> None:
    words = [*getattr(kills, command), *less.split()]
    folder, wanted = kills.reference(words)
    shutil.rmtree(folder)
    dice = random.Random(command)
    # On a busy machine a command may end before it is killed; then it is begun again.
    assert any(kills.chain(words, most, dice, wanted, 0.3).kills for _ in range(10))


def test_a_finished_run_is_told_again_by_name_path_and_as_the_latest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["figure-1", "qcorm", "--steps", "2000", "--seeds", "2", "--name", "a", "--json", "--quiet"]
    assert main(["train", *words]) == 0
    first = json.loads(capsys.readouterr().out)
    for name in ("latest", "a", "runs/a", str(tmp_path / "runs" / "a")):
        assert main(["resume", name, "--json", "--quiet"]) == 0
        again = json.loads(capsys.readouterr().out)
        assert {**again, "folder": ""} == {**first, "folder": ""}


def test_what_cannot_be_resumed_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["resume", "latest"]) == 2
    assert "begin one with 'errands train TASK'" in capsys.readouterr().err
    folder = tmp_path / "runs" / "bad"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"task": "figure-1"}')
    assert main(["resume", "bad"]) == 2
    err = capsys.readouterr().err
    assert "runs/bad/run.json is damaged" in err
    assert err.count("\n") == 1
