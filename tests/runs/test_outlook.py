"""The outlook of a sweep: its sums, checked on costs that are written down here."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from errands.runs import sweep as outlook
from errands.runs.cost import Cost
from errands.runs.folder import CellDocument
from errands.runs.plan import make_block
from errands.runs.sweep import SHOWN, Outlook, begin, look_ahead, train_sweep


def cell(folder: str, seeds: int = 2) -> CellDocument:
    return CellDocument(task="figure-1", map_seed=0, learner="crm", machine="agenda", preset="tuned", settings=[],
                        steps=10, seeds=seeds, folder=folder)  # fmt: skip


A, B = cell("a", 3), cell("b", 1)
COSTS = {"a": Cost(2.0, 1_000_000, True), "b": Cost(9.0, 5_000_000, False)}


def test_work_is_shared_but_no_seed_is_split() -> None:
    """3 x 2 + 9 = 15 seconds of work: 15 on one process; on two the 9-second seed and the others side by side."""
    waiting = [(A, [0, 1, 2]), (B, [0])]
    assert Outlook(waiting, COSTS, 1).runs == 4
    assert Outlook(waiting, COSTS, 1).seconds == 15.0
    assert Outlook(waiting, COSTS, 2).seconds == 9.0
    assert Outlook([(A, [0, 1, 2])], COSTS, 2).seconds == 3.0


def test_memory_is_that_of_the_largest_seeds_that_run_together() -> None:
    waiting = [(A, [0, 1, 2]), (B, [0])]
    assert [Outlook(waiting, COSTS, n).bytes for n in (1, 2, 3, 8)] == [5_000_000, 6_000_000, 7_000_000, 8_000_000]


def test_nothing_left_costs_nothing() -> None:
    done = Outlook([], {}, 4)
    assert (done.runs, done.bytes) == (0, 0)
    assert done.seconds == 0


def test_it_is_told_in_one_line_and_in_one_document() -> None:
    ahead = Outlook([(A, [0, 1, 2]), (B, [0])], COSTS, 2)
    assert ahead.document() == {"runs": 4, "seconds": 9.0, "bytes": 6_000_000, "workers": 2}
    assert ahead.words().startswith("4 runs on 2 processes: about ")
    assert ahead.words().endswith("6 MB of tables")


def test_a_long_plan_is_shown_by_its_first_cells() -> None:
    many = [(cell(f"c{i}"), [0]) for i in range(SHOWN + 5)]
    console = Console(record=True, width=120, file=StringIO())
    console.print(Outlook(many, {c.folder: COSTS["b"] for c, _ in many}, 2).table())
    text = console.export_text()
    assert text.count("figure-1") == SHOWN
    assert "and 5 more" in text
    assert "~9.00" in text


def test_what_is_left_of_a_sweep_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = make_block({"task": "figure-1", "learner": "qcorm,crm", "seeds": 2, "steps": 1000})
    sweep = begin([block], tmp_path / "s")
    ahead = look_ahead(sweep, 2)
    assert (ahead.runs, ahead.workers) == (4, 2)
    assert all(c.measured and c.bytes > 0 for c in ahead.costs.values())
    monkeypatch.setattr(outlook, "memory", lambda: 10)
    assert look_ahead(sweep, 8).workers == 1
    train_sweep(sweep, 1, quiet=True)
    assert look_ahead(sweep, 2).runs == 0
