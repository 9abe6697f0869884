"""Folders of runs, seeds and sweeps: never overwritten, found again, looked through, refused with a sentence."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from pydantic import ValidationError

from errands.errors import StoreError
from errands.runs import files
from errands.runs import folder as seed_folder
from errands.runs.checkpoint import HEADER, render
from errands.runs.documents import Cell, ResultDocument, SweepDocument
from errands.runs.files import NEW, digest
from errands.runs.folder import (
    RunFolder,
    SeedFolder,
    SweepFolder,
    create,
    create_sweep,
    find,
    folders,
    live,
    open_run,
    open_sweep,
)
from errands.runs.plan import make_block
from errands.runs.request import Request
from errands.runs.sweep import begin, train_sweep
from errands.runs.train import train_seed
from errands.runs.verify import faults
from errands.tables import Evaluation
from errands.tasks import load


def begun(path: Path) -> RunFolder:
    task = load("figure-1")
    return create(path, Request.of(task, "qcorm", settings=["eval_every=50"], steps=500, seeds=[0, 7]), git={})


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = begun(tmp_path_factory.mktemp("runs") / "run")
    for seed in (0, 7):
        train_seed(run, seed, lambda update: None)
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
    with pytest.raises(StoreError, match="never overwritten; choose another --name, or go on with 'errands resume run'"):
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


ROWS = [Evaluation(10, 5, 1.0, True), Evaluation(20, 4, 1.0, True)]


@pytest.fixture
def seed(tmp_path: Path) -> SeedFolder:
    return SeedFolder(tmp_path / "seed-3", 3)


def ended(folder: SeedFolder, seed: int = 3) -> ResultDocument:
    data = render(ROWS)
    result = ResultDocument(
        seed=seed, steps=20, wall_seconds=0.1, evaluations_bytes=len(data), evaluations_sha256=digest(data)
    )
    folder.path.mkdir(exist_ok=True)
    folder.table.write_bytes(data)
    folder.end(result)
    return result


def test_before_it_is_begun_there_is_nothing(seed: SeedFolder) -> None:
    assert not seed.begun
    assert seed.result() is None
    assert seed.evaluations() == []


def test_a_finished_seed_gives_its_result_and_all_evaluations(seed: SeedFolder) -> None:
    result = ended(seed)
    assert seed.result() == result
    assert seed.evaluations() == ROWS


def test_a_changed_table_is_refused_with_what_to_type(seed: SeedFolder) -> None:
    ended(seed)
    seed.table.write_bytes(seed.table.read_bytes().replace(b"20,4", b"20,3"))
    with pytest.raises(StoreError, match=r"evaluations\.csv is damaged.*or run 'errands resume' to write it again"):
        seed.evaluations()


def test_the_result_of_another_seed_is_refused(seed: SeedFolder) -> None:
    ended(seed, seed=4)
    with pytest.raises(StoreError, match="belongs to seed 4; put it back into its own folder"):
        seed.result()


def test_a_table_is_cut_back_and_continued(seed: SeedFolder) -> None:
    seed.path.mkdir()
    seed.table.write_bytes(b"anything else")
    with seed.table_from(ROWS[:1]) as table:
        table.add(ROWS[1])
        table.sync()
        assert live(seed) == ROWS
    assert seed.table.read_bytes() == render(ROWS)


def test_a_line_that_is_being_written_is_left_out_of_what_is_shown(seed: SeedFolder) -> None:
    seed.path.mkdir()
    whole = render(ROWS)
    seed.table.write_bytes(whole[:-3])
    assert live(seed) == ROWS[:1]
    seed.table.write_bytes(HEADER[:-2])
    assert live(seed) == []


def test_a_table_that_grows_while_it_is_read_is_read_as_it_was(seed: SeedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    seed.path.mkdir()
    with seed.table_from(ROWS[:1]) as table:
        table.sync()
        opened = files._opened

        @contextmanager
        def opened_early(path: Path) -> Iterator[tuple[BinaryIO, int]]:
            with opened(path) as (source, size):
                table.add(ROWS[1])
                table.show()
                yield source, size

        monkeypatch.setattr(files, "_opened", opened_early)
        assert live(seed) == ROWS[:1]
        monkeypatch.undo()
        assert live(seed) == ROWS


def test_leftovers_of_a_killed_process_are_swept_up(seed: SeedFolder) -> None:
    seed.path.mkdir()
    leftover = seed.path / f".result.json{NEW}"
    leftover.write_text("half")
    with seed.locked():
        assert not leftover.exists()


def test_another_process_is_kept_out(seed: SeedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys; from pathlib import Path; from errands.runs.folder import SeedFolder\n"
        "with SeedFolder(Path(sys.argv[1]), 3).locked(): print('held', flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, str(seed.path)]
    other = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    with (
        pytest.raises(StoreError, match=r"another process is training in .*seed-3; wait for it or stop it"),
        seed.locked(0.1),
    ):
        pass
    other.communicate("")
    with seed.locked():
        assert seed.begun


def test_a_link_or_a_file_in_its_place_is_refused(seed: SeedFolder, tmp_path: Path) -> None:
    seed.path.write_text("a file")
    with pytest.raises(StoreError, match="is a file, and a folder is wanted; move it away"), seed.locked():
        pass
    seed.path.unlink()
    seed.path.symlink_to(tmp_path)
    with pytest.raises(StoreError, match="is a link"):
        seed.begun  # noqa: B018


def cell(**changed: Any) -> Cell:
    given = {"task": "figure-1", "map_seed": 0, "learner": "crm", "machine": "agenda", "preset": "tuned",
             "settings": [], "steps": 10, "seeds": 2, "folder": "0"}  # fmt: skip
    return Cell(**{**given, **changed})


def plan(*cells: Cell) -> SweepDocument:
    return SweepDocument(cells=list(cells), files={}, checkpoint_seconds=10.0, created="now", git={})


@pytest.fixture
def sweep(tmp_path: Path) -> SweepFolder:
    return create_sweep(tmp_path / "s", plan(cell(folder="one"), cell(folder="two", seeds=1)))


def end(sweep: SweepFolder, folder: str, seed: int) -> None:
    SeedFolder(sweep.path / folder / f"seed-{seed}", seed).end(ResultDocument(seed=seed, steps=10, wall_seconds=0.0))


def test_what_was_planned_is_read_back(sweep: SweepFolder) -> None:
    assert open_sweep(sweep.path) == sweep
    assert [sweep.cell(c).name for c in sweep.document.cells] == ["one", "two"]
    assert sweep.head(sweep.document.cells[0]) is None


def test_results_come_in_the_order_of_the_plan_and_gaps_are_left_out(sweep: SweepFolder) -> None:
    assert list(sweep.results()) == []
    for folder, seed in (("two", 0), ("one", 1)):
        end(sweep, folder, seed)
    assert [(c.folder, r.seed) for c, r in sweep.results()] == [("one", 1), ("two", 0)]


def test_a_linked_cell_is_refused(sweep: SweepFolder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (sweep.path / "one").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link; a sweep keeps its runs in its own folder"):
        list(sweep.results())


def test_a_sweep_is_never_overwritten(sweep: SweepFolder) -> None:
    with pytest.raises(
        StoreError, match="exists and is never overwritten; choose another --name, or go on with 'errands resume s'"
    ):
        create_sweep(sweep.path, sweep.document)


def test_a_folder_of_which_only_an_unfinished_plan_remains_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.mkdir()
    assert open_sweep(create_sweep(path, plan(cell())).path).document.cells == [cell()]


def test_a_changed_plan_is_refused(sweep: SweepFolder) -> None:
    head = sweep.path / "sweep.json"
    head.write_bytes(head.read_bytes().replace(b'"steps": 10', b'"steps": 11', 1))
    with pytest.raises(StoreError, match=r"sweep\.json is damaged"):
        open_sweep(sweep.path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"folder": "../up"},
        {"folder": "a/b"},
        {"seeds": 0},
        {"steps": 0},
        {"map_seed": -1},
        {"task": ""},
    ],
)
def test_a_cell_that_could_not_be_stored_or_trained_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        cell(**wrong)


def test_two_cells_of_a_sweep_have_two_folders() -> None:
    for names in (("one", "one"), ("one", "")):
        with pytest.raises(ValidationError, match="two cells have the same folder, or one has none"):
            plan(*(cell(folder=name) for name in names))


def touched(path: Path, time: int, head: str = "run.json") -> Path:
    path.mkdir(parents=True)
    (path / head).write_text("{}")
    os.utime(path / head, ns=(time, time))
    return path


def test_the_latest_is_the_one_begun_last_whatever_its_name(tmp_path: Path) -> None:
    touched(tmp_path / "z", 1)
    touched(tmp_path / "m", 3, "sweep.json")
    touched(tmp_path / "a", 2)
    (tmp_path / "zz-killed-before-it-began").mkdir()
    assert [p.name for p in folders(tmp_path)] == ["z", "a", "m"]
    assert find("latest", tmp_path).name == "m"


def test_a_run_that_is_removed_while_the_runs_are_listed_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        touched(tmp_path / name, 1)
    look = seed_folder.is_run

    def look_early(path: Path) -> bool:
        seen = look(path)
        (tmp_path / "a" / "run.json").unlink(missing_ok=True)
        return seen

    monkeypatch.setattr(seed_folder, "is_run", look_early)
    assert [path.name for path in folders(tmp_path)] == ["b"]


def test_a_name_and_a_path_are_found(tmp_path: Path) -> None:
    run = touched(tmp_path / "runs" / "one", 1)
    assert find("one", tmp_path / "runs") == run
    assert find(str(run), tmp_path / "elsewhere") == run


def test_what_is_not_there_is_told_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="begin one with 'errands train TASK'"):
        find("latest", tmp_path)
    touched(tmp_path / "delivery-4", 1)
    with pytest.raises(StoreError, match="did you mean 'delivery-4'"):
        find("delivrey-4", tmp_path)
    for hostile in ("", "\0", "x" * 5000):
        with pytest.raises(StoreError, match="no run or sweep"):
            find(hostile, tmp_path / "none")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two cells with two seeds each, trained."""
    path = tmp_path_factory.mktemp("runs") / "s"
    block = make_block({"task": "figure-1", "learner": "qcorm,qrm", "seeds": 2, "steps": 300})
    train_sweep(begin([block], path), 1, quiet=True)
    return path


@pytest.fixture
def trained_sweep(good: Path, tmp_path: Path) -> Path:
    return shutil.copytree(good, tmp_path / "s")


def cells(sweep: Path) -> list[Path]:
    return sorted(p for p in sweep.iterdir() if p.is_dir())


def test_a_good_sweep_and_its_runs_have_no_faults(trained_sweep: Path) -> None:
    assert list(faults(trained_sweep)) == []
    assert [list(faults(cell)) for cell in cells(trained_sweep)] == [[], []]


def test_all_damaged_files_are_named_at_once(trained_sweep: Path) -> None:
    first, second = cells(trained_sweep)
    arrays = next((first / "seed-0").glob("*.safetensors"))
    table = second / "seed-1" / "evaluations.csv"
    for path in (arrays, table):
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    said = list(faults(trained_sweep))
    assert len(said) == 2
    assert str(arrays.parent) in said[0]
    assert str(table) in said[1]


def test_a_seed_that_was_not_begun_is_no_fault(trained_sweep: Path) -> None:
    shutil.rmtree(cells(trained_sweep)[0] / "seed-1")
    assert list(faults(trained_sweep)) == []


def test_a_cell_that_was_not_begun_is_no_fault(trained_sweep: Path) -> None:
    shutil.rmtree(cells(trained_sweep)[1])
    assert list(faults(trained_sweep)) == []


def test_a_folder_without_a_run_is_one_fault(tmp_path: Path) -> None:
    (said,) = faults(tmp_path)
    assert str(tmp_path) in said


def test_a_linked_seed_is_named(trained_sweep: Path, tmp_path: Path) -> None:
    seed = cells(trained_sweep)[0] / "seed-0"
    shutil.move(seed, tmp_path / "elsewhere")
    seed.symlink_to(tmp_path / "elsewhere")
    assert any("is a link" in said for said in faults(trained_sweep))
