"""Rows of teams as figures, summaries and verdicts, from rows that are written down here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("jax")

from errands.paper.collected import collected
from errands.paper.continuous import PANELS, TeamCell
from errands.paper.paper import Method
from errands.paper.reproduced_teams import collected_part, teams_part
from errands.paper.team_store import Kept


def rows(run: str, lengths: list[list[int]], task: str = "water-2") -> list[dict[str, Any]]:
    """An evaluation every 1000 steps; failures are negative."""
    return [
        {
            "task": task,
            "run": run,
            "preset": "tuned",
            "step": 1000 * (i + 1),
            "lengths": some,
            "seconds": 30.0 * (i + 1),
        }
        for i, some in enumerate(lengths)
    ]


CRM = rows("crm", [[-300, -300], [40, 50], [30, 50], [30, 50]])
QCORM = rows("qcorm", [[60, 60], [20, 30], [20, 25], [20, 25]])


def test_every_method_gets_a_summary_and_a_line_of_the_figure() -> None:
    part = collected_part([PANELS["water-2"]], collected([*CRM, *QCORM]))
    assert [(row["task"], row["name"], row["preset"]) for row in part.summaries] == [
        ("water-2", "crm agenda", "tuned"), ("water-2", "qcorm", "tuned"),
    ]  # fmt: skip
    (figure,) = part.figures
    assert figure.name == "water-2-tuned"
    assert figure.notes == (
        "Median of 2 seeds, quartiles shaded",
        "The shortest episode that any seed met has 20 steps",
    )


def test_a_run_that_ended_earlier_is_said_to_have() -> None:
    (figure,) = collected_part([PANELS["water-2"]], collected([*CRM, *QCORM[:2]])).figures
    assert figure.notes[-1] == "qcorm was run to step 2,000"


def test_paces_become_runtimes_with_the_least_of_the_repeats() -> None:
    pace = [
        {"task": f"water-{n}", "run": "qcorm", "us_per_step": 10.0 * n, "all": [10.0 * n, 14.0 * n]} for n in (2, 3)
    ]
    part = collected_part([PANELS["water-runtime"]], collected(pace))
    assert [(row["task"], row["least"]) for row in part.runtimes] == [("water-2", 20.0), ("water-3", 30.0)]
    (figure,) = part.figures
    assert figure.name == "water-runtime-heads"


def test_other_maps_are_figures_of_their_own() -> None:
    elsewhere = [{**row, "map_seed": 3} for row in CRM]
    part = collected_part([PANELS["water-2"]], collected([*CRM, *elsewhere]))
    assert [figure.name for figure in part.figures] == ["water-2-tuned", "water-2-map-3-tuned"]


def test_cells_that_are_not_at_their_end_are_told_with_errors_and_minutes() -> None:
    cell = TeamCell("water-2", Method("crm", "agenda"), "tuned", 2, 4000, width=8)
    cut = Kept(replace(cell, preset="paper"), tuple(CRM[:2]), False, 2000)
    kept = [
        Kept(cell, tuple(CRM), True, 4000),
        cut,
        Kept(replace(cell, seeds=3)),
        Kept(replace(cell, seeds=4), error="no memory"),
    ]
    part = teams_part([PANELS["water-2"]], kept)
    assert part.notes[0] == "Training of teams took 3.0 minutes in all, evaluations and compilation included."
    assert part.notes[1] == (
        "Not at the end yet; the same command continues: water-2 crm agenda paper at 2,000 of 4,000, 1 cells not begun."
    )
    assert part.errors == ("water-2 crm agenda tuned: no memory",)


def test_without_rows_nothing_is_run_and_nothing_drawn() -> None:
    part = collected_part([PANELS["water-2"], PANELS["water-runtime"]], collected([]))
    assert (part.figures, part.summaries, part.runtimes) == ((), (), ())
    assert {claim.verdict for claim in part.claims} == {"not run"}
