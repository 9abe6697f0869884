"""`errands resume`: the same document as `train`, and the same bytes after any kill."""

from __future__ import annotations

import importlib.util
import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import errands
from errands.cli import main
from errands.runs.documents import write_document
from errands.runs.folder import RunFolder, create, open_run
from errands.runs.provenance import git_state
from errands.runs.request import Request
from errands.runs.train import train_seed
from errands.tasks import load


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
    ("command", "most", "less"), [("TRAIN", 4, "--steps 120000"), ("SWEPT", 2, "--steps 20000 --task figure-1")]
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


def as_of(folder: RunFolder, **changes: Any) -> RunFolder:
    """A run as another version would have begun it."""
    write_document(folder.path / "run.json", folder.document.model_copy(update=changes))
    return open_run(folder.path)


@pytest.mark.parametrize("words", [["resume"], ["verify"]])
def test_a_run_of_another_version_or_commit_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    task, begun = load("figure-1"), {"errands_commit": "f" * 40}
    folder = as_of(create(Path("runs/old"), Request.of(task, "crm", steps=2_000), git=begun), versions={"numpy": "1.0"})
    said = [f"numpy 1.0 then, {np.__version__} now"]
    if commit := git_state(tmp_path).get("errands_commit"):
        said.append(f"errands commit ffffffffff then, {commit[:10]}")
    if words == ["verify"]:
        train_seed(folder, 0, lambda update: None)
    assert main([*words, "old", "--json"]) == 0
    out, err = capsys.readouterr()
    assert all(text in " ".join(json.loads(out)["changed_versions"]) for text in said)
    assert words == ["verify"] or all(text in err for text in ("going on with other versions", *said))
    assert main([*words, "old"]) == 0
    out = capsys.readouterr().out
    assert words == ["resume"] or all(text in out for text in ("made by other versions", *said))


def test_a_run_of_another_version_is_told_when_python_goes_on_with_it(tmp_path: Path) -> None:
    as_of(create(tmp_path / "old", Request.of(load("figure-1"), "crm", steps=2_000), git={}), versions={"numpy": "1.0"})
    with pytest.warns(UserWarning, match=r"goes on with other versions.*numpy 1\.0 then"):
        errands.resume(tmp_path / "old")
    assert errands.resume(tmp_path / "old").steps == 2_000  # it has ended, so nothing is trained and nothing is to be said


def test_a_run_with_a_setting_of_another_version_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = create(Path("runs/new"), Request.of(load("figure-1"), "qcorm", steps=2_000))
    as_of(folder, config={**folder.document.config, "epsilon_end": 0.05})
    assert main(["resume", "new"]) == 2
    assert "another version of errands: that version knows a setting 'epsilon_end' of 'qcorm'" in capsys.readouterr().err


def test_what_cannot_be_resumed_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["resume", "latest"]) == 2
    assert "begin one with 'errands train TASK'" in capsys.readouterr().err
    folder = tmp_path / "runs" / "bad"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"task": "figure-1"}')
    for asked, said in (("nothing", "runs/ has bad"), ("bat", "did you mean 'bad'?")):
        assert main(["resume", asked]) == 2
        assert f"'{asked}' is no run or sweep: it has neither run.json nor sweep.json; {said}" in capsys.readouterr().err
    assert main(["resume", "bad"]) == 2
    err = capsys.readouterr().err
    assert "runs/bad/run.json is damaged" in err
    assert err.count("\n") == 1
