"""What a reproduction found, as parts of one report, and the files that it is written to."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from errands.paper.measured import Measured, Trained
from errands.paper.paper import Cell, Method, Panel
from errands.paper.report import Figure
from errands.paper.reproduced import STOPPING, Part, joined, tabular_part, write
from errands.tables import Evaluation


def measured(learner: str, lengths: list[int], seconds: float = 2.0) -> Measured:
    """One seed per length: at 500 steps still failing, at 1000 steps at its length."""
    cell = Cell("delivery-2", Method(learner, "agenda" if learner == "crm" else None), "tuned", len(lengths), 1000)
    rows = [(Evaluation(500, 99, 0.0, False), Evaluation(1000, n, 1.0, True)) for n in lengths]
    return Measured(cell, tuple(Trained(evaluations, seconds, 1000) for evaluations in rows), 7.0, "")


PANEL = Panel("delivery-2", "Delivery, 2 boxes", ("delivery-2",))


@pytest.fixture(scope="module")
def part() -> Part:
    return tabular_part((PANEL,), [measured("crm", [7, 8, 9]), measured("scout", [7, 7, 7])])


def test_every_method_has_a_summary_and_only_those_that_go_on_have_a_time(part: Part) -> None:
    assert [row["name"] for row in part.summaries] == ["crm agenda", "scout"]
    (row,) = part.runtimes
    assert row["method"] == "crm agenda"
    assert row["q1"] == row["median"] == row["q3"] == pytest.approx(2.0 / 1000 * 1e6)
    assert "scout" in STOPPING


def test_minutes_of_all_seeds_are_told(part: Part) -> None:
    assert any("took 0.2 minutes of one core" in note for note in part.notes)


def test_figures_are_drawn_for_the_panel(part: Part) -> None:
    assert [figure.name for figure in part.figures][:2] == ["delivery-2-tuned", "delivery-2-tuned-bars"]
    assert all("<svg" in figure.svg for figure in part.figures)


def test_errors_are_named_by_their_cell() -> None:
    good = measured("crm", [7])
    bad = Measured(good.cell, (), None, "out of memory")
    assert tabular_part((), [bad]).errors == (f"{good.cell.name}: out of memory",)


def test_parts_are_joined_in_their_order_and_written_as_files(tmp_path: Path, part: Part) -> None:
    other = Part(
        figures=(Figure("extra", "Extra", "<svg/>"),), notes=("a note of the other part",), errors=("it broke",)
    )
    report = joined("quick", "errands reproduce", [part, other], [], ["first"])
    assert report.notes[0] == "first"
    assert report.notes[-1] == "a note of the other part"
    assert report.errors == ("it broke",)
    assert report.figures[-1].name == "extra"
    page = write(report, tmp_path / "out")
    assert page.read_text(encoding="utf-8").count("<svg") >= 2
    with (tmp_path / "out" / "summary.csv").open() as table:
        assert [row["name"] for row in csv.DictReader(table)] == ["crm agenda", "scout"]
    assert json.loads((tmp_path / "out" / "claims.json").read_text())
    assert (tmp_path / "out" / "extra.svg").read_text() == "<svg/>"
    write(report, tmp_path / "bare", page=False)
    assert not (tmp_path / "bare" / "report.html").exists()
