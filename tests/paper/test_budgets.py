from itertools import chain, repeat
from types import SimpleNamespace

import pytest

from errands.learners.dirl import deep as farm
from errands.paper.budgets import measure_budgets
from errands.paper.continuous import TeamCell
from errands.paper.paper import Method

CELL = TeamCell("water-2", Method("dirl"), "tuned", 2, 2_000, width=8)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return folder, measure_budgets(CELL, folder, float("inf"))


def test_every_budget_is_a_complete_run_of_every_seed(whole):
    folder, kept = whole
    assert kept.ended
    assert [row["step"] for row in kept.rows] == [500, 1_000, 2_000]
    assert all(len(row["lengths"]) == 2 for row in kept.rows)
    assert [path.name for path in folder.iterdir()] == ["water-2_dirl_tuned.json"]


def test_a_cell_that_was_cut_gives_the_same_rows(whole, tmp_path, monkeypatch):
    ticks = chain(repeat(0.0, 2), repeat(float("inf")))
    with monkeypatch.context() as clock:
        clock.setattr(farm, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
        cut = measure_budgets(CELL, tmp_path, 1e9)
    assert 0 < cut.step < CELL.steps
    assert not cut.ended
    assert len(list(tmp_path.glob("*.npz"))) == 1
    done = measure_budgets(CELL, tmp_path, float("inf"))
    assert [row["lengths"] for row in done.rows] == [row["lengths"] for row in whole[1].rows]
    assert not list(tmp_path.glob("*.npz"))
