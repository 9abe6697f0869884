"""Old rows: one importer reads both generations of what was measured before measurements were run folders."""

import csv
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from errands.errors import StoreError
from errands.paper.panels import PRINTED

PAPER = Path(__file__).parents[2] / "paper"
spec = importlib.util.spec_from_file_location("importer", PAPER / "importer.py")
importer = importlib.util.module_from_spec(spec)
sys.modules["importer"] = importer
spec.loader.exec_module(importer)
evidence_of, read_rows = importer.evidence_of, importer.read_rows

OLD = [
    {"task": "water-3", "run": "crm", "preset": "tuned", "map_seed": 0, "step": 200, "lengths": [20, 30]},
    {"task": "water-3", "run": "crm", "preset": "tuned", "map_seed": 0, "step": 100, "lengths": [-600, 40]},
    {"task": "water-3", "run": "crm", "preset": "tuned", "map_seed": 1, "step": 100, "lengths": [50]},
]


def row(run, preset="paper", **more):
    return {"task": "water-3", "run": run, "preset": preset, "step": 100, "lengths": [30], **more}


def names(*rows):
    return [key[1] for key in evidence_of(rows).curves]


def test_rows_become_curves_by_task_map_method_and_preset():
    found = evidence_of(OLD)
    assert list(found.curves) == [("water-3", "crm agenda", "tuned"), ("water-3, map 1", "crm agenda", "tuned")]
    curve = found.curves["water-3", "crm agenda", "tuned"]
    assert curve.steps.tolist() == [100, 200]
    assert curve.lengths.tolist() == [[np.inf, 20.0], [40.0, 30.0]]


def test_failure_is_a_field_of_new_rows():
    (curve,) = evidence_of([{**OLD[0], "success": [True, False]}]).curves.values()
    assert curve.lengths.tolist() == [[20.0], [np.inf]]


def test_the_first_codes_qcorm_is_the_printed_reading_and_todays_is_the_presets():
    assert names(row("qcorm")) == ["qcorm printed ground_replay=always"]
    assert names(row("qcorm", "tuned")) == [PRINTED.name] == ["qcorm printed"]
    assert "delta" not in names(row("qcorm", success=[True]))[0]
    assert names(row('qcorm[noKop]{"ground_replay": "once"}')) == names(row("qcorm", success=[True]))
    assert names(row("qcorm/alpha=1e-4", success=[True]))[0].endswith("alpha=0.0001")
    assert "delta=gated" in names(row("qcorm[gate]", "tuned"))[0]


def test_a_method_of_both_generations_is_two_curves():
    found = evidence_of([row("hrm"), row("hrm", success=[True])])
    assert set(found.curves) == {("water-3", "hrm agenda", "paper"), ("water-3", "hrm agenda (first code)", "paper")}


def test_paces_are_kept_apart_by_network_and_the_least_repeat_counts_once():
    repeats = [271.6, 287.9, 240.0]
    paces = [
        {"task": "water-2", "run": "qrm", "us_per_step": 240.0, "all": repeats},
        {"task": "water-2", "run": "qrm/one-hot", "us_per_step": 300.0},
    ]
    found = evidence_of(paces)
    assert found.seconds == {
        ("water-2", "qrm agenda", "heads"): tuple(repeats),
        ("water-2", "qrm agenda", "one-hot"): (300.0,),
    }
    assert found.runtime("water-2", "qrm agenda", "heads") == 240.0


def test_the_published_median_of_three_repeats_is_the_middle_one():
    table = csv.DictReader((PAPER / "results" / "deep" / "runtimes.csv").read_text().splitlines())
    published = {(r["task"], r["method"], r["preset"]): float(r["median"]) for r in table}
    assert published["water-2", "qrm agenda", "heads"] == 271.6


def test_a_line_that_is_no_row_is_told_with_its_number(tmp_path):
    path = tmp_path / "learn.jsonl"
    path.write_text('{"task": "water-3", "run": "crm"}\n{"task": 3}\n')
    with pytest.raises(StoreError, match=r"line 2 of .* is not a row"):
        read_rows(path)


def test_every_file_that_is_judged_can_be_read():
    assert all(read_rows(path) for path in importer.judged_files())
