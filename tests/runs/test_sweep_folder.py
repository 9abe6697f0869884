"""Sweep folders: the plan as given, results in its order, and nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from errands.errors import StoreError
from errands.runs.documents import ResultDocument
from errands.runs.folder import CellDocument, SeedFolder, SweepDocument, SweepFolder, create_sweep, open_sweep


def cell(**changed: Any) -> CellDocument:
    given = {"task": "figure-1", "map_seed": 0, "learner": "crm", "machine": "agenda", "preset": "tuned",
             "settings": [], "steps": 10, "seeds": 2, "folder": "0"}  # fmt: skip
    return CellDocument(**{**given, **changed})


def plan(*cells: CellDocument) -> SweepDocument:
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
        StoreError, match="exists and is never overwritten; choose another --name, or type 'errands resume s'"
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
        {"folder": ""},
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
