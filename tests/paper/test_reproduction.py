"""The road of `reproduce`: panels become a sweep folder, and what it holds becomes figures, tables and verdicts."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from errands.analysis.compare import compared
from errands.analysis.curve import Curve, curve_of
from errands.errors import StoreError
from errands.paper import panels as paper_panels
from errands.paper.evidence import Evidence
from errands.paper.panels import PANELS, PROFILES, PanelMethod, Skipped, plan
from errands.paper.report import figures, runtime_rows, summaries, write
from errands.paper.reproduction import prepare, prices, report, report_of
from errands.runs.cost import Cost
from errands.runs.folder import open_sweep
from errands.runs.sweep import Forecast, train_sweep, unfinished
from errands.tables import Evaluation

TINY = replace(PROFILES["quick"], seeds=2, steps=1_000, scout_steps=1_000, budgets=2)


@pytest.fixture
def two_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """CRM and DiRL alone."""
    monkeypatch.setattr(paper_panels, "TABULAR", (PanelMethod("crm", "agenda"), PanelMethod("dirl")))


@pytest.mark.usefixtures("two_methods")
def test_panels_become_run_folders_that_other_verbs_can_read(tmp_path: Path) -> None:
    output = tmp_path / "reproduction"
    wanted = prepare([PANELS["delivery-2"]], TINY, output)
    train_sweep(wanted.sweep, 1, quiet=True)
    assert list(unfinished(wanted.sweep)) == []
    names = {(c.curve.name, c.settings["preset"]) for c in compared([str(output)])}
    assert {preset for _, preset in names} == {"tuned", "paper"}
    found = report(wanted, "errands reproduce delivery-2")
    assert found.errors == ()
    assert [(row["name"], row["preset"], row["seeds"]) for row in found.tables[0].rows] == [
        ("crm agenda", "tuned", 2), ("crm agenda", "paper", 2), ("dirl", "tuned", 2), ("dirl", "paper", 2),
    ]  # fmt: skip
    # What stops by itself has no time per step.
    assert {row["method"] for row in found.tables[1].rows} == {"crm agenda"}
    page = write(found, output)
    assert page.read_text(encoding="utf-8").count("](delivery-2-") == len(list(output.glob("*.svg"))) == 4
    with (output / "summary.csv").open() as table:
        assert len(list(csv.DictReader(table))) == 4
    assert {"words", "reading"} <= set(json.loads((output / "claims.json").read_text())["claims"][0])


@pytest.mark.usefixtures("two_methods")
def test_a_report_says_where_its_runs_were_made_not_where_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("errands.runs.request.versions", lambda *_, **__: {"python": "3.99"})
        elsewhere.setattr("errands.runs.request.computer", lambda: {"cores": 64})
        train_sweep(prepare([PANELS["delivery-2"]], TINY, tmp_path / "runs").sweep, 1, quiet=True)
    both = prepare([PANELS["delivery-2"], PANELS["office-3"]], TINY, tmp_path / "runs")
    train_sweep(both.sweep, 1, quiet=True)
    found = report(both, "errands reproduce delivery-2 office-3")
    assert found.facts[-2:] == ["Versions: python 3.99.", "Machine: cores 64."]
    assert any(note.startswith("6 of 12 runs were made elsewhere: python 3.") for note in found.notes)


@pytest.mark.usefixtures("two_methods")
def test_a_folder_is_extended_by_other_panels_and_keeps_what_it_has(tmp_path: Path) -> None:
    output = tmp_path / "reproduction"
    first = prepare([PANELS["delivery-2"]], TINY, output)
    train_sweep(first.sweep, 1, quiet=True)
    more = prepare([PANELS["office-3"]], TINY, output)
    assert {cell.task for cell in more.sweep.document.cells} == {"office-3"}
    assert {cell.task for cell in open_sweep(output).document.cells} == {"delivery-2", "office-3"}
    assert list(unfinished(prepare([PANELS["delivery-2"]], TINY, output).sweep)) == []


@pytest.mark.usefixtures("two_methods")
def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    wanted = prepare([PANELS["delivery-2"]], TINY, tmp_path / "reproduction", dry=True)
    assert len(wanted.sweep.document.cells) == 6  # CRM and two budgets of DiRL, each under two presets
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("two_methods")
def test_runs_of_other_settings_are_not_taken_for_the_presets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from errands.paper import reproduction

    output = tmp_path / "reproduction"
    train_sweep(prepare([PANELS["delivery-2"]], TINY, output).sweep, 1, quiet=True)
    known = reproduction.as_document
    monkeypatch.setattr(reproduction, "as_document", lambda config: {**known(config), "alpha": 0.123})
    with pytest.raises(StoreError, match="was trained with another alpha than preset 'tuned' has now"):
        prepare([PANELS["delivery-2"]], TINY, output)


def long(
    lengths: list[int | None], name: str = "crm agenda", optimum: float | None = None, task: str = "water-3"
) -> Curve:
    """Two equal seeds, evaluated every 1,000 steps; None is a failure."""
    rows = [Evaluation(1_000 * (i + 1), n or 7, 0.0, n is not None) for i, n in enumerate(lengths)]
    return curve_of(name, task, [rows, rows], optimum)


def test_every_map_is_a_figure_of_its_own_and_a_line_ends_where_its_runs_end() -> None:
    curves = {
        ("water-3", "crm agenda", "tuned"): long([None, 40, 30, 30]),
        ("water-3", "qcorm", "tuned"): long([60, 20], "qcorm"),
        ("water-3, map 1", "crm agenda", "tuned"): long([50], task="water-3, map 1"),
    }
    drawn = figures([PANELS["water-3"], PANELS["water-maps"]], Evidence(curves, {}))
    assert [f.name for f in drawn] == [f"water-3-{x}" for x in ("tuned", "tuned-each", "map-1-tuned", "map-1-tuned-each")]
    assert drawn[2].title == "Water, 3 balls, map 1 (tuned preset)"
    assert "× stops there" in drawn[0].svg
    assert "× stops there" not in drawn[2].svg
    assert "The shortest episode that any seed met has 20 steps" in drawn[1].notes
    assert drawn[1].notes[-1] == "qcorm was run to step 2,000"


def test_our_methods_have_no_curve_under_the_preset_of_the_paper() -> None:
    curves = {("delivery-2", name, preset): long([50], name, 21, "delivery-2")
              for name, preset in (("qcorm", "tuned"), ("qcorm", "paper"), ("qcorm-plus", "tuned"))}  # fmt: skip
    drawn = {figure.name: figure.svg for figure in figures([PANELS["delivery-2"]], Evidence(curves, {}))}
    assert ["qcorm-plus" in drawn[f"delivery-2-{preset}"] for preset in ("tuned", "paper")] == [True, False]


def test_the_three_domains_are_drawn_and_nothing_is_run_for_them() -> None:
    drawn = figures([PANELS[name] for name in ("office-map", "water-map", "cheetah-map")], Evidence({}, {}))
    assert [figure.title for figure in drawn] == ["Office", "Water", "HalfCheetah"]
    assert all("<image" in figure.svg for figure in drawn[:2])
    assert plan([PANELS["office-map"]], PROFILES["full"]) == ([], [])


def test_each_panel_has_its_own_price(tmp_path: Path) -> None:
    wanted = prepare([PANELS["delivery-2"], PANELS["office-map"]], TINY, tmp_path / "runs")
    expected = Forecast(list(unfinished(wanted.sweep)), defaultdict(lambda: Cost(2.0, 0, True)), 1)
    lines = prices(wanted, expected)
    cells = len(wanted.sweep.document.cells)
    assert lines[0].startswith(f"a  delivery-2           {expected.runs} runs, about")
    assert lines[0].endswith(f"({cells} of {cells} cells measured)")
    assert lines[1] == "d  office-map           nothing is left to run"


def test_variants_of_methods_have_a_figure_of_their_own_behind_the_method() -> None:
    names = ("hrm agenda (first code)", "qcorm delta=gated", "crm agenda", "hrm agenda", "qcorm")
    curves = {("water-3", name, "tuned"): long([50] * (5 - i), name) for i, name in enumerate(names)}
    curves["water-3", "qcorm delta=gated", "paper"] = long([50], "qcorm delta=gated")
    main, variants, alone = figures([PANELS["water-3"]], Evidence(curves, {}))[1::2]
    assert [f.name for f in (main, variants, alone)] == [f"water-3-{x}-each" for x in ("tuned", "tuned-variants", "paper-variants")]
    assert variants.title == "Water, 3 balls (tuned preset, variants)"
    # Every line but the longest says how far it was run, in the order of the lines.
    said = {f.title: [note.split(" was run")[0] for note in f.notes if " was run to" in note] for f in (main, variants)}
    assert said == {main.title: ["qcorm", "hrm agenda"], variants.title: ["qcorm", "hrm agenda", "qcorm delta=gated"]}


def test_what_was_not_run_is_named_under_its_figure() -> None:
    curves = {("delivery-8", "crm agenda", "tuned"): long([90, 81], optimum=81, task="delivery-8")}
    (_, curve) = figures(
        [PANELS["delivery-8"]], Evidence(curves, {}), [Skipped("delivery-8", "crm boolean", "too large")]
    )
    assert "crm boolean was not run: too large" in curve.notes


def test_all_methods_on_a_task_are_measured_by_one_reference() -> None:
    curves = {("water-3", name, "tuned"): long([n], name) for name, n in (("crm agenda", 30), ("qcorm", 20))}
    assert [row["reference"] for row in summaries(Evidence(curves, {})).rows] == [20, 20]


def test_runtimes_have_quartiles_and_the_least() -> None:
    (row,) = runtime_rows(Evidence({}, {("water-2", "qrm agenda", "heads"): (271.6, 287.9, 240.0)})).rows
    assert (row["median"], row["least"]) == (271.6, 240.0)
    (figure,) = figures([PANELS["water-runtime"]], Evidence({}, {("water-2", "qrm agenda", "heads"): (271.6, 240.0)}))
    assert figure.name == "water-runtime-heads"


def test_without_evidence_nothing_is_drawn_and_nothing_judged() -> None:
    pytest.importorskip("jax")
    found = report_of(
        Evidence({}, {}), [PANELS["water-2"], PANELS["water-runtime"]], "quick", "errands reproduce water-2", []
    )
    assert (found.figures, *(table.rows for table in found.tables)) == ((), (), ())
    assert {claim.verdict for claim in found.claims} == {"not run"}
