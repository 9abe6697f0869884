"""Rows: one importer reads what was measured before measurements were run folders."""

import csv
import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from errands.errors import StoreError
from errands.paper.panels import PANELS, PRINTED, PROFILES, Choice
from errands.paper.reproduction import prepare
from errands.runs.sweep import train_sweep

PAPER = Path(__file__).parents[2] / "paper"
spec = importlib.util.spec_from_file_location("importer", PAPER / "importer.py")
importer = importlib.util.module_from_spec(spec)
sys.modules["importer"] = importer
spec.loader.exec_module(importer)
evidence_of, read_rows = importer.evidence_of, importer.read_rows

TINY = replace(PROFILES["quick"], seeds=2, steps=1_000)
CRM = {"task": "water-3", "run": "crm", "preset": "tuned"}
ROWS = [
    {**CRM, "map_seed": 0, "step": 200, "lengths": [20, 30], "success": [True, True]},
    {**CRM, "map_seed": 0, "step": 100, "lengths": [600, 40], "success": [False, True]},
    {**CRM, "map_seed": 1, "step": 100, "lengths": [50], "success": [True]},
]


def row(run, preset="paper", **more):
    return {"task": "water-3", "run": run, "preset": preset, "step": 100, "lengths": [30], "success": [True], **more}


def names(*rows):
    return [key[1] for key in evidence_of(rows).curves]


def test_rows_become_curves_by_task_map_method_and_preset():
    found = evidence_of(ROWS)
    assert list(found.curves) == [("water-3", "crm agenda", "tuned"), ("water-3, map 1", "crm agenda", "tuned")]
    curve = found.curves["water-3", "crm agenda", "tuned"]
    assert curve.steps.tolist() == [100, 200]
    assert curve.lengths.tolist() == [[np.inf, 20.0], [40.0, 30.0]]


def test_a_run_is_named_by_the_settings_that_todays_preset_does_not_have():
    printed = '{"delta": "printed", "ground_replay": "always", "shortest": "ratchet", "failed": "length"}'
    assert names(row("qcorm" + printed)) == ["qcorm printed ground_replay=always"]
    assert names(row("qcorm" + printed, "tuned")) == [PRINTED.name] == ["qcorm printed"]
    assert "delta" not in names(row("qcorm"))[0]
    assert names(row('qcorm{"delta": "episode", "ground_replay": "once"}')) == names(row("qcorm"))
    assert names(row("qcorm/alpha=1e-4"))[0].endswith("alpha=0.0001")
    assert "delta=gated" in names(row('qcorm{"delta": "gated"}', "tuned"))[0]


def test_a_run_of_the_first_code_stands_beside_a_later_one_where_it_went_further():
    first, second = row("hrm", code="first"), row("hrm")
    new, old = ("water-3", "hrm agenda", "paper"), ("water-3", "hrm agenda (first code)", "paper")
    assert set(evidence_of([first | {"step": second["step"] + 1}, second]).curves) == {new, old}
    assert set(evidence_of([first, second]).curves) == {new}


def test_a_file_continues_a_run_or_is_a_longer_or_shorter_one_of_its_own():
    def file(*steps, length):
        return [row("crm") | {"step": step, "lengths": [length]} for step in steps]

    continued = file(100, 200, length=30), file(300, length=20)
    (curve,) = evidence_of(*continued).curves.values()
    assert curve.lengths.tolist() == [[30.0, 30.0, 20.0]]
    # The run of 100 to 200 steps is not mixed into that of 100 to 300, wherever it stands.
    for files in ((*continued, file(100, 200, length=90)), (file(100, 200, length=90), *continued)):
        (curve,) = evidence_of(*files).curves.values()
        assert curve.lengths.tolist() == [[30.0, 30.0, 20.0]]
    (curve,) = evidence_of(file(100, length=30), file(100, length=20)).curves.values()
    assert curve.lengths.tolist() == [[20.0]]


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


def test_run_folders_and_searches_of_dirl_become_rows(tmp_path):
    wanted = prepare([PANELS["delivery-2"]], TINY, tmp_path / "runs", choice=Choice(("crm agenda",), ("paper",)))
    train_sweep(wanted.sweep, 1, quiet=True)
    rows = list(importer.rows_of_runs(tmp_path / "runs"))
    assert [(row["run"], row["preset"], row["step"], len(row["lengths"])) for row in rows] == [
        ("crm", "paper", 1_000, 2)
    ]
    line = {"task": "water-3", "preset": "paper", "map_seed": 0, "budget": 500, "predicted": 480, "seconds": 1.0,
            "lengths": [60, 600], "success": [True, False], "orders": [["red", "blue"], []]}  # fmt: skip
    by_edge = {"budget": None, "predicted": 540, "ended": [True, True]}
    lines = [{**line, "ended": [True, True]}, {**line, "ended": [True, False]}, {**line, **by_edge}]
    (tmp_path / "dirl.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    row, other = importer.rows_of_dirl(tmp_path / "dirl.jsonl")
    assert (row["run"], row["step"], row["orders"]) == ("dirl", 500, ["rb", ""])
    assert other["step"] == 540
    (curve,) = evidence_of([row]).curves.values()
    assert curve.lengths.tolist() == [[60.0], [np.inf]]


def test_tables_of_rows_tell_quarters_and_single_seeds(tmp_path):
    spec = importlib.util.spec_from_file_location("tables", PAPER / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    # Two seeds, four evaluations: one succeeds from the second on, the other in the third alone.
    lengths, success = [[600, 90], [40, 70], [30, 50], [32, 600]], [[0, 0], [1, 0], [1, 1], [1, 0]]
    row = {"task": "water-3", "run": "qcorm", "preset": "paper", "map_seed": 2}
    rows = [row | {"step": 1_000 * (i + 1), "lengths": n, "success": list(map(bool, s)), "orders": ["br", "rb"]}
            for i, (n, s) in enumerate(zip(lengths, success, strict=True))]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in reversed(rows)), encoding="utf-8")
    name = "water-3 qcorm (paper)"
    assert list(tables.quarters(path))[2:] == [f"| {name} | 0% | 50% 40 | 100% 40 | 50% 32 | 32 |"]
    assert list(tables.each_seed(path))[2:] == [f"| {name} | 2 3 | 30 50 | 32 |"]
    assert list(tables.windows(path, (0, 2_000, 4_000)))[2:] == [f"| {name} | 25% 40 | 75% 32 |"]
    (line,) = list(tables.ends(path))[2:]
    assert line == f"| {name} | 4 k | 1/2 | 32 | 4/8 | 36 (31.5-42.5) | 2/2 | 40 (35-45) | 30 | 2 k | 2 k | br (3/4) |"
