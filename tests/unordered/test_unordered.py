"""The benchmark of unordered tasks: its plan, what is known of optima, its table and figure, and a tiny run of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest

import errands
from errands.analysis.curve import curve_of
from errands.errors import UnknownName
from errands.learners import LEARNERS
from errands.learners.method import Form, Method
from errands.learners.qrm.settings import QRMConfig
from errands.learners.qrm.tabular import CRM
from errands.paper import panels as paper_panels
from errands.paper.evidence import Evidence
from errands.paper.panels import EVERYTHING, PROFILES, PanelMethod, key_of
from errands.paper.report import write
from errands.runs.plan import expand
from errands.runs.sweep import train_sweep
from errands.tables import Evaluation
from errands.unordered.gaps import bounds_of, draw_gaps, gap_rows, known_of, measured_by, report
from errands.unordered.plan import DOMAINS, chosen, plan, prepare

NAMES = ["unordered-visit", "unordered-office", "unordered-letters", "unordered-water", "unordered-zones"]


def cells(profile: str):
    plans = [plan(domain, PROFILES[profile], EVERYTHING) for domain in DOMAINS.values()]
    run = [cell for blocks, _ in plans for cell in expand(blocks)]
    return [(*key_of(cell)[:2], cell) for cell in run], [each for _, left in plans for each in left]


def test_one_name_stands_for_every_domain_and_other_figures_are_run_apart():
    assert list(chosen(["unordered"])) == NAMES
    assert list(chosen(["unordered-water"])) == ["unordered-water"]
    with pytest.raises(UnknownName, match="no unordered figure is called 'delivery-2'"):
        chosen(["unordered", "delivery-2"])


def test_the_full_profile_has_every_size_on_three_maps_and_the_quick_one_small_ones_on_the_first():
    full, quick = ({task for task, _, _ in cells(profile)[0]} for profile in ("full", "quick"))
    sizes = (2, 4, 8, 16, 32, 64, 100)
    first = {f"{domain}-{n}" for domain in ("visit", "zones") for n in sizes}
    first |= {"office-2", "office-4", "letters-2", "letters-4", "letters-8", "water-2", "water-4"}
    assert full == first | {f"{task}, map {k}" for task in first if "office" not in task for k in (1, 2)}
    assert quick == {"visit-2", "visit-4", "visit-8", "visit-16", "office-2", "office-4", "letters-2", "letters-4",
                     "letters-8", "water-2", "zones-2"}  # fmt: skip


def test_methods_are_run_where_their_machines_have_room_and_the_others_are_named_with_the_reason():
    run, left = cells("full")
    by_task = {task: {name for other, name, _ in run if other == task} for task, _, _ in run}
    tables = {"qcorm", "qcorm-0", "qrm agenda", "qcorm-plus", "scout"}
    small = {*tables, "crm agenda", "hrm agenda", "dirl"}
    assert by_task["visit-8"] == small
    assert (by_task["visit-64"], by_task["visit-100"]) == (tables - {"qcorm-plus"}, {"scout"})
    assert by_task["letters-2"] == {*small, "skills"}
    assert by_task["zones-8"] == small - {"scout"} | {"pqn", "skills"}
    assert by_task["zones-16"] == {"qcorm", "qcorm-0", "qcorm-plus", "skills"}
    assert by_task["zones-32"] == {"skills"}
    reasons = {(each.task, each.method): each.reason for each in left}
    # 2 to the 16 sets of places that remain.
    assert reasons["visit-16", "crm agenda"] == "its agenda machine has 65,536 states, more than 10,000"
    assert {cell.preset for _, _, cell in run} == {"tuned"}
    assert not any(cell.machine == "boolean" for _, _, cell in run)


def test_optima_are_exact_where_they_can_be_and_bounded_elsewhere(tmp_path: Path):
    # Every order of four places, where a way on an empty grid is a sum of differences.
    layout = errands.load("visit-4").layout
    assert layout is not None
    start, *spots = [divmod(cell, layout.width) for cell in (layout.start, *(cell for _, cell in layout.places))]
    ways = [[start, *order] for order in permutations(spots)]
    best = min(sum(abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairwise(way)) for way in ways)
    assert bounds_of("visit-4") == (best, best)
    known = known_of(["letters-2", "zones-1"], tmp_path / "optima.json")
    assert all(lower == upper for lower, upper in known.values())
    assert json.loads((tmp_path / "optima.json").read_text()) == {name: list(pair) for name, pair in known.items()}
    lower, upper = bounds_of("visit-32")
    assert 0 < lower <= upper


def test_the_table_has_gaps_to_the_optimum_or_to_the_shortest_way_known():
    def curve(task: str, name: str, *ends: int | None):
        return curve_of(name, task, [[Evaluation(100, n or 7, 0.0, n is not None)] for n in ends])

    found = {("visit-2", "qcorm", "tuned"): curve("visit-2", "qcorm", 11, 12, 13),
             ("visit-32", "scout", "tuned"): curve("visit-32", "scout", 44, None, 44),
             ("visit-32", "qcorm", "tuned"): curve("visit-32", "qcorm", None, None, 50)}  # fmt: skip
    evidence = measured_by(Evidence(found, {}), {"visit-2": (10, 10), "visit-32": (30, 40)})
    assert gap_rows(evidence).rows == (
        {"task": "visit-2", "N": 2, "optimum": "10", "qcorm": "12 (+20 %)", "scout": None},
        {"task": "visit-32", "N": 32, "optimum": "30 to 40", "qcorm": "fails, 1 of 3 succeed",
         "scout": "44 (+10 %), 2 of 3 succeed"},
    )  # fmt: skip
    # What was met bounds the optimum too.
    met = measured_by(Evidence(found, {}), {"visit-2": (10, 10), "visit-32": (30, 47)})
    assert gap_rows(met).rows[-1]["optimum"] == "30 to 44"
    figure = draw_gaps(evidence)
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].get_lines()}
    assert np.allclose(lines["qcorm"], [0.2, 4.0])
    assert np.allclose(lines["scout"], [0.1])


def test_a_tiny_run_ends_in_a_report_with_its_table_and_no_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paper_panels, "TABULAR", (PanelMethod("crm", "agenda"), PanelMethod("scout", ours=True)))
    tiny = replace(PROFILES["quick"], seeds=2, steps=1_000, scout_steps=1_000)
    wanted = prepare(["unordered-office"], tiny, tmp_path, False, EVERYTHING)
    train_sweep(wanted.sweep, 1, quiet=True)
    best = errands.optimum(errands.load("office-2")).length
    found = report(wanted, "errands reproduce unordered-office")
    write(found, tmp_path)
    row = found.tables[0].rows[0]
    assert (row["task"], row["optimum"], row["scout"]) == ("office-2", f"{best:g}", f"{best:g} (+0 %)")
    assert found.claims == ()
    assert [figure.name for figure in found.figures] == ["unordered"]
    assert (tmp_path / "unordered.csv").read_text().startswith("task,N,optimum,")
    assert "## Unordered tasks" in (tmp_path / "README.md").read_text()


class Mine(CRM):
    """CRM by another name."""


@dataclass(frozen=True)
class MineConfig(QRMConfig):
    """It takes 300 steps at once."""

    @property
    def step_multiple(self) -> int:
        return 300


def test_a_method_of_ones_own_takes_part_on_every_task(monkeypatch: pytest.MonkeyPatch):
    mine = Method("mine", "CRM by another name", tabular=Form(Mine, MineConfig))
    monkeypatch.setitem(LEARNERS, "mine", mine)  # type: ignore[arg-type]
    run, _ = cells("full")
    own = {task: cell for task, name, cell in run if name == "mine"}
    assert {"visit-2", "visit-100", "letters-8, map 2"} <= set(own)
    # The first multiple of 300 from a million on.
    assert (own["visit-2"].steps, own["visit-2"].seeds) == (1_000_200, 10)
