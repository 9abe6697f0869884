import csv
from pathlib import Path

import numpy as np
import pytest

from errands.errors import StoreError
from errands.paper.collected import collected, read_rows, steadied

RESULTS = Path(__file__).parents[2] / "paper" / "results"
ROWS = [
    {"task": "water-3", "run": "crm", "preset": "tuned", "map_seed": 0, "step": 200, "lengths": [20, 30]},
    {"task": "water-3", "run": "crm", "preset": "tuned", "map_seed": 0, "step": 100, "lengths": [-600, 40]},
    {"task": "water-3", "run": "crm", "preset": "tuned", "map_seed": 1, "step": 100, "lengths": [50]},
    {"task": "water-3", "run": "qcorm/one-hot", "us_per_step": 300.0},
    {"task": "water-3", "run": "qcorm", "us_per_step": 900.0},
    {"task": "water-3", "run": "qcorm", "us_per_step": 200.0, "all": [200.0, 220.0]},
]


def test_rows_become_curves_by_task_map_method_and_preset():
    found = collected(ROWS)
    assert list(found.curves) == [("water-3", "crm agenda", "tuned"), ("water-3, map 1", "crm agenda", "tuned")]
    curve = found.curves["water-3", "crm agenda", "tuned"]
    assert curve.steps.tolist() == [100, 200]
    assert curve.lengths.tolist() == [[np.inf, 20.0], [40.0, 30.0]]


def test_paces_are_kept_apart_by_network_the_later_row_counts_and_its_least_repeat_is_evidence():
    found = collected(ROWS)
    assert found.paces == {
        ("water-3", "qcorm", "one-hot"): (300.0,),
        ("water-3", "qcorm", "heads"): (200.0, 220.0),
    }
    assert found.evidence().seconds["water-3", "qcorm", "heads"] == 200.0


def test_one_bad_evaluation_among_three_undoes_nothing():
    lengths = [[-1], [20], [20], [-1], [22], [21]]
    rows = [{**ROWS[0], "step": 100 * (i + 1), "lengths": n} for i, n in enumerate(lengths)]
    (curve,) = collected(rows).curves.values()
    assert steadied(curve).lengths.tolist() == [[np.inf, np.inf, 20, 20, 22, 22]]


def test_budgets_of_dirl_are_runs_of_their_own_and_are_not_smoothed():
    rows = [{**ROWS[0], "run": "dirl", "step": 100 * (i + 1), "lengths": [n]} for i, n in enumerate([-600, 40, 30])]
    (curve,) = collected(rows).curves.values()
    assert curve.apart
    assert steadied(curve).lengths.tolist() == [[np.inf, 40, 30]]


def test_a_line_that_is_no_row_is_told_with_its_number(tmp_path):
    path = tmp_path / "learn.jsonl"
    path.write_text('{"task": "water-3", "run": "crm"}\n{"task": 3}\n')
    with pytest.raises(StoreError, match=r"line 2 of .* is not a row"):
        read_rows(path)


def test_the_published_median_of_three_repeats_is_the_middle_one():
    repeats = [271.6, 287.9, 240.0]
    found = collected([{"task": "water-2", "run": "qrm", "us_per_step": 240.0, "all": repeats}])
    assert np.median(found.paces["water-2", "qrm agenda", "heads"]) == 271.6
    table = csv.DictReader((RESULTS / "deep" / "runtimes.csv").read_text().splitlines())
    published = {(row["task"], row["method"], row["preset"]): float(row["median"]) for row in table}
    assert published["water-2", "qrm agenda", "heads"] == 271.6
