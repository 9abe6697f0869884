"""What is kept of a team: read back as written, nothing from another cell, and arrays only with their step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")

from errands.paper.continuous import TeamCell
from errands.paper.paper import Method
from errands.paper.team_store import Kept, mark_of, read, write, write_arrays

CELL = TeamCell("water-2", Method("qrm", "agenda"), "tuned", 2, 60, width=8)
ROWS = tuple({"task": "water-2", "run": "qrm", "preset": "tuned", "step": s, "lengths": [s, s]} for s in (3, 6, 9))


def test_rows_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    assert read(tmp_path, CELL) == Kept(CELL)
    write(tmp_path, Kept(CELL, ROWS, True, 9, 1.5))
    found = read(tmp_path, CELL)
    assert (found.rows, found.ended, found.step, found.seconds) == (ROWS, True, 9, 1.5)
    assert found.reached == 9
    assert Kept(CELL).reached == 0


@pytest.mark.parametrize("changed", [replace(CELL, steps=61), replace(CELL, seeds=3), replace(CELL, width=9)])
def test_what_was_made_of_something_else_does_not_count(tmp_path: Path, changed: TeamCell) -> None:
    write(tmp_path, Kept(CELL, ROWS, True, 9, 1.5))
    assert mark_of(changed) != mark_of(CELL)
    assert read(tmp_path, changed) == Kept(changed)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"mark": 1}'])
def test_a_file_that_holds_no_cell_is_taken_for_none(tmp_path: Path, text: str) -> None:
    write(tmp_path, Kept(CELL, ROWS))
    (path,) = tmp_path.glob("*.json")
    path.write_text(text)
    assert read(tmp_path, CELL) == Kept(CELL)


def test_a_cut_cell_continues_from_its_arrays_and_forgets_later_rows(tmp_path: Path) -> None:
    write_arrays(tmp_path, CELL, 6, {"w": np.arange(4.0), "step": np.array(6)})
    write(tmp_path, Kept(CELL, ROWS, False, 6, 1.0))
    found = read(tmp_path, CELL, arrays=True)
    assert [row["step"] for row in found.rows] == [3, 6]
    assert found.arrays is not None
    assert np.array_equal(found.arrays["w"], np.arange(4.0))
    assert read(tmp_path, CELL).arrays is None


def test_arrays_of_another_step_are_dropped_and_all_at_the_end(tmp_path: Path) -> None:
    for step in (3, 6):
        write_arrays(tmp_path, CELL, step, {"w": np.zeros(2)})
    write(tmp_path, Kept(CELL, ROWS[:2], False, 6))
    assert [p.name for p in tmp_path.glob("*.npz")] == ["water-2_qrm_agenda_tuned@6.npz"]
    write(tmp_path, Kept(CELL, ROWS, True, 9))
    assert not list(tmp_path.glob("*.npz"))


def test_without_good_arrays_a_cut_cell_starts_anew(tmp_path: Path) -> None:
    write_arrays(tmp_path, CELL, 6, {"w": np.zeros(2)})
    write(tmp_path, Kept(CELL, ROWS, False, 6))
    (path,) = tmp_path.glob("*.npz")
    path.write_bytes(path.read_bytes()[:-30])
    assert read(tmp_path, CELL, arrays=True) == Kept(CELL)
    path.unlink()
    assert read(tmp_path, CELL, arrays=True) == Kept(CELL)
