"""Looking through whole folders: nothing is said of good ones, every damaged file is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from errands.runs.plan import make_block
from errands.runs.sweep import begin, train_sweep
from errands.runs.verify import faults


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two cells with two seeds each, trained."""
    path = tmp_path_factory.mktemp("runs") / "s"
    block = make_block({"task": "figure-1", "learner": "qcorm,qrm", "seeds": 2, "steps": 300})
    train_sweep(begin([block], path), 1, quiet=True)
    return path


@pytest.fixture
def sweep(good: Path, tmp_path: Path) -> Path:
    return shutil.copytree(good, tmp_path / "s")


def cells(sweep: Path) -> list[Path]:
    return sorted(p for p in sweep.iterdir() if p.is_dir())


def test_a_good_sweep_and_its_runs_have_no_faults(sweep: Path) -> None:
    assert list(faults(sweep)) == []
    assert [list(faults(cell)) for cell in cells(sweep)] == [[], []]


def test_all_damaged_files_are_named_at_once(sweep: Path) -> None:
    first, second = cells(sweep)
    arrays = next((first / "seed-0").glob("*.safetensors"))
    table = second / "seed-1" / "evaluations.csv"
    for path in (arrays, table):
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    said = list(faults(sweep))
    assert len(said) == 2
    assert str(arrays.parent) in said[0]
    assert str(table) in said[1]


def test_a_seed_that_was_not_begun_is_no_fault(sweep: Path) -> None:
    shutil.rmtree(cells(sweep)[0] / "seed-1")
    assert list(faults(sweep)) == []


def test_a_cell_that_was_not_begun_is_no_fault(sweep: Path) -> None:
    shutil.rmtree(cells(sweep)[1])
    assert list(faults(sweep)) == []


def test_a_folder_without_a_run_is_one_fault(tmp_path: Path) -> None:
    (said,) = faults(tmp_path)
    assert str(tmp_path) in said


def test_a_linked_seed_is_named(sweep: Path, tmp_path: Path) -> None:
    seed = cells(sweep)[0] / "seed-0"
    shutil.move(seed, tmp_path / "elsewhere")
    seed.symlink_to(tmp_path / "elsewhere")
    assert any("is a link" in said for said in faults(sweep))
