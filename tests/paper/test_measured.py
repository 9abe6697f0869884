import json

import numpy as np
import pytest

import errands
from errands.learners import make_learner
from errands.paper.measured import measure, measure_all, stored, timed
from errands.paper.paper import Cell, Method

CELL = Cell("figure-1", Method("qcorm-0"), "tuned", 4_500, 2)


def test_a_timed_learner_gives_the_evaluations_of_train():
    task = errands.load("figure-1")
    rows = [evaluation for evaluation, _ in timed(make_learner(task, "qcorm-0"), 4_500)]
    assert rows == list(make_learner(task, "qcorm-0").train(4_500))


def test_a_measured_cell_is_what_train_finds():
    found = measure(CELL)
    expected = errands.train(errands.load("figure-1"), "qcorm-0", steps=4_500, seed=1).evaluations
    assert found.seeds[1].evaluations == expected
    assert found.optimum == 10
    assert found.curve.name == "qcorm-0"
    assert all(seconds > 0 for seconds in found.per_million)


def test_dirl_is_run_anew_for_each_budget():
    found = measure(Cell("figure-1", Method("dirl"), "tuned", 25_600, 1))
    assert [e.step for e in found.seeds[0].evaluations] == [100 * 2**k for k in range(9)]
    last = errands.train(errands.load("figure-1"), "dirl", steps=25_600).evaluations[-1]
    assert found.seeds[0].evaluations[-1].episode_length == last.episode_length


def test_what_cannot_be_run_is_recorded_with_its_reason():
    found = measure(Cell("delivery-12", Method("crm", "boolean"), "tuned", 100, 1))
    assert found.seeds == ()
    assert "GB" in found.error


@pytest.fixture
def kept(tmp_path):
    cell = Cell("delivery-2", Method("qcorm"), "tuned", 2_000, 2)
    told = []
    (first,) = measure_all([cell], tmp_path, 2, told.append)
    return tmp_path, cell, first, told


def test_a_measured_cell_is_kept_and_not_measured_again(kept):
    folder, cell, first, told = kept
    assert told[0].startswith("[1/1] delivery-2 qcorm tuned: ")
    again = []
    (second,) = measure_all([cell], folder, 1, again.append)
    assert again == []
    assert np.array_equal(second.curve.lengths, first.curve.lengths)
    assert second.per_million == pytest.approx(first.per_million)


def test_a_cell_of_other_steps_or_a_damaged_one_is_measured_again(kept):
    folder, cell, _, _ = kept
    assert stored(folder, Cell("delivery-2", Method("qcorm"), "tuned", 3_000, 2)) is None
    (path,) = folder.glob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "mark": "0"}))
    assert stored(folder, cell) is None
    path.write_text("{")
    assert stored(folder, cell) is None
