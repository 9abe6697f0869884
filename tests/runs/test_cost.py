"""Predictions: measured where a short piece can be run, reckoned where the machine is too large to build."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.learners.base import memory
from errands.runs import sweep as outlook
from errands.runs.cost import cost
from errands.runs.plan import make_block
from errands.runs.request import prepare
from errands.runs.sweep import begin, look_ahead, train_sweep
from errands.tasks import load


def test_more_steps_cost_more_and_tables_have_their_size() -> None:
    task = load("delivery-4")
    few, many = (cost(prepare(task, "crm", steps=n, git={}), task) for n in (10_000, 100_000_000))
    assert few.measured
    assert many.seconds > 100 * few.seconds
    # 31 agenda states, 100 cells, 4 actions, 8 bytes each
    assert 31 * 100 * 4 * 8 <= many.bytes < 2 * 31 * 100 * 4 * 8


def test_a_machine_of_219201_states_is_reckoned_and_not_built() -> None:
    task = load("delivery-8")
    found = cost(prepare(task, "crm", "boolean", steps=1_000_000, git={}), task)
    assert not found.measured
    # facts: 222,000 ns a step and 219,201 states; 100 cells, 4 actions and the best of them
    assert found.seconds == pytest.approx(222, rel=0.3)
    assert found.bytes == 219_201 * 100 * 5 * 8


def test_the_outlook_of_a_sweep_counts_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = [make_block({"task": "figure-1,delivery-2", "learner": "qcorm", "seeds": 3, "steps": 2000})]
    sweep = begin(plan, tmp_path / "sweep")
    ahead = look_ahead(sweep, 2)
    assert (ahead.runs, ahead.workers) == (6, 2)
    assert 0 < ahead.seconds < 60
    assert "6 runs on 2 processes: about" in ahead.words()
    assert ahead.table().row_count == 2
    monkeypatch.setattr(outlook, "CALIBRATION", -1.0)
    train_sweep(sweep, 1, quiet=True)
    assert look_ahead(sweep, 2).runs == 0


def test_what_would_not_fit_into_memory_is_trained_by_fewer_processes(tmp_path: Path) -> None:
    plan = [make_block({"task": "delivery-8", "learner": "crm", "machine": "boolean", "seeds": 1000, "steps": 10})]
    workers = look_ahead(begin(plan, tmp_path / "sweep"), 1000).workers
    assert 1 <= workers < 1000
    assert workers == 1 or workers * 219_201 * 100 * 5 * 8 <= 0.8 * memory()


def test_long_plans_are_measured_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 0.0, 0.0, *[9.0] * 100])
    plan = [make_block({"task": "figure-1", "learner": "qcorm", "map_seed": "0..9", "seeds": 1, "steps": 1000})]
    sweep = begin(plan, tmp_path / "sweep")
    monkeypatch.setattr("errands.runs.sweep.time.perf_counter", lambda: next(ticks))
    monkeypatch.setattr("errands.runs.sweep.cost", lambda document, task: outlook.Cost(2.0, 100, True))
    ahead = look_ahead(sweep, 1)
    assert ahead.seconds == 20.0
    assert [ahead.costs[cell.folder].measured for cell, _ in ahead.waiting] == [True] * 2 + [False] * 8
