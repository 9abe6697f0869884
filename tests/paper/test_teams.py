import json
from dataclasses import replace

import numpy as np
import pytest

from errands.paper import team_store
from errands.paper.continuous import TeamCell
from errands.paper.pace import forecast
from errands.paper.paper import Method
from errands.paper.team_store import Kept
from errands.paper.teams import measure_team, measure_teams

CELL = TeamCell("water-2", Method("qrm", "agenda"), "tuned", 2, 60, width=8)
LONG = replace(CELL, steps=10_000)
CUT = 0.0
"""A moment that has passed: a sitting ends at its first look at the clock."""


def rows(kept):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in kept.rows]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    told = []
    (kept,) = measure_teams([CELL], folder, told.append)
    return folder, kept, told


def test_a_cell_has_a_row_with_all_seeds_for_every_evaluation(whole):
    folder, kept, told = whole
    assert kept.ended
    assert [row["step"] for row in kept.rows] == list(range(3, 61, 3))
    assert all(len(row["lengths"]) == len(row["orders"]) == 2 for row in kept.rows)
    assert told[0].startswith("[1/1] water-2 qrm agenda tuned: step 60 of 60, ")
    assert [path.name for path in folder.iterdir()] == ["water-2_qrm_agenda_tuned.json"]


def test_what_is_measured_is_not_measured_again(whole):
    folder, kept, _ = whole
    told = []
    (again,) = measure_teams([CELL], folder, told.append)
    assert (again.rows, told) == (kept.rows, [])
    assert forecast([again]).seconds == 0
    assert team_store.read(folder, replace(CELL, steps=80)).rows == ()


def test_a_cell_that_was_cut_again_and_again_gives_the_same_rows(whole, tmp_path):
    cut = measure_team(CELL, tmp_path, CUT)
    assert (cut.ended, cut.step, cut.reached) == (False, 3, 3)
    assert (tmp_path / "water-2_qrm_agenda_tuned@3.npz").is_file()
    measure_team(CELL, tmp_path, CUT)
    done = measure_team(CELL, tmp_path)
    assert done.ended
    assert rows(done) == rows(whole[1])
    assert not list(tmp_path.glob("*.npz"))


def test_rows_after_the_last_checkpoint_are_measured_anew(whole, tmp_path):
    cut = measure_team(CELL, tmp_path, CUT)
    team_store.write(tmp_path, replace(cut, rows=(*cut.rows, {**cut.rows[-1], "step": 6, "lengths": [1, 1]})))
    assert rows(measure_team(CELL, tmp_path)) == rows(whole[1])


def test_damaged_arrays_start_the_cell_anew(tmp_path):
    measure_team(CELL, tmp_path, CUT)
    path = tmp_path / "water-2_qrm_agenda_tuned@3.npz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    assert team_store.read(tmp_path, CELL, arrays=True) == Kept(CELL)


def test_a_clock_that_has_run_out_starts_nothing(tmp_path):
    assert measure_teams([CELL], tmp_path / "no", lambda line: None, 0.0) == [Kept(CELL)]


def test_the_pace_of_a_cell_is_one_row_that_is_kept(tmp_path):
    cell = replace(LONG, timed=True)
    kept = measure_team(cell, tmp_path)
    row = json.loads((tmp_path / "water-2_qrm_agenda_heads_pace.json").read_text())["rows"][0]
    assert kept.rows == (row,)
    assert row["run"] == "qrm"
    assert row["us_per_step"] == min(row["all"])
    assert np.all(np.array(row["all"]) > 0)


def test_a_forecast_is_told_with_what_was_warmed_up():
    found = forecast([Kept(LONG), Kept(replace(LONG, preset="paper"), step=5_000)])
    assert found.seconds > 0
    assert found.words.endswith("(reckoned from a warm-up of qcorm on water-2)")
