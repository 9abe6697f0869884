"""Run folders: never overwritten, found again, and refused with a sentence when they are not what they should be."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from errands.errors import StoreError
from errands.runs.documents import _render
from errands.runs.files import digest, write_file
from errands.runs.folder import RunFolder, create, open_run
from errands.runs.request import prepare
from errands.runs.train import train_seed
from errands.runs.verify import faults
from errands.tasks import load


def begun(path: Path) -> RunFolder:
    task = load("figure-1")
    return create(path, prepare(task, "qcorm", settings=["eval_every=50"], steps=500, seeds=[0, 7], git={}), task)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = begun(tmp_path_factory.mktemp("runs") / "run")
    for seed in (0, 7):
        train_seed(run, seed, lambda beat: None)
    return run.path


def test_what_was_asked_for_is_kept(finished: Path) -> None:
    run = open_run(finished)
    assert run.task == load("figure-1")
    assert (run.document.learner, run.document.preset, run.document.steps) == ("qcorm", "tuned", 500)
    assert run.document.config["eval_every"] == 50
    assert {"errands", "python", "numpy", "numba", "gymnasium"} <= run.document.versions.keys()
    assert [r.seed for r in run.results()] == [0, 7]
    assert run.finished
    assert (finished / "task.toml").read_text() == load("figure-1").text


def test_a_run_is_never_overwritten(finished: Path) -> None:
    with pytest.raises(StoreError, match="never overwritten; choose another --name, or type 'errands resume run'"):
        begun(finished)


def test_a_folder_whose_run_was_killed_before_it_began_is_taken(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".run.json.new").write_bytes(b"{")
    (tmp_path / "run" / "task.toml").write_bytes(b"")
    assert not list(faults(begun(tmp_path / "run").path))


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "", ".hidden", "a b", "latest", "x" * 200, "-rf", "ä"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    from errands.runs.folder import check_name

    with pytest.raises(StoreError, match="cannot name a run"):
        check_name(name)


FILES = ["run.json", "task.toml", "seed-7/evaluations.csv", "seed-7/result.json", "seed-7/checkpoint-500.json",
         "seed-7/checkpoint-500.safetensors"]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_damage_to_every_kind_of_file_is_noticed_and_the_file_named(finished: Path, name: str) -> None:
    assert not list(faults(finished))
    path = finished / name
    good, dice = path.read_bytes(), random.Random(name)
    try:
        for trial in range(200):
            bad = bytearray(good)
            bad[dice.randrange(len(bad))] ^= 1 << dice.randrange(8)
            path.write_bytes(bytes(bad) if trial % 2 else good[: dice.randrange(len(good))])
            found = list(faults(finished))
            assert found
            assert name.split("-500")[0] in found[0]
    finally:
        path.write_bytes(good)


@pytest.mark.parametrize("name", [*FILES, "seed-7"])
def test_a_link_in_place_of_a_file_is_refused(finished: Path, name: str, tmp_path: Path) -> None:
    path = finished / name
    path.rename(tmp_path / "kept")
    try:
        path.symlink_to(tmp_path / "kept")
        assert any("link" in fault for fault in faults(finished))
    finally:
        path.unlink()
        (tmp_path / "kept").rename(path)


def test_a_run_of_a_version_that_knew_fewer_fields_keeps_its_identity(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    body = run.document.model_dump(exclude={"imports", "team"})
    write_file(run.path / "run.json", _render(body))
    older = open_run(run.path)
    train_seed(older, 0, lambda beat: None)
    assert older.identity == digest((run.path / "run.json").read_bytes())
    assert [result.seed for result in open_run(run.path).results()] == [0]
