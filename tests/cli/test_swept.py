"""What `sweep` and `resume` say about a sweep: medians counted by hand, and exit code 1 for a failed run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from errands.cli.swept import answer
from errands.runs.folder import CellDocument, SweepDocument, SweepFolder


@pytest.fixture
def sweep(tmp_path: Path) -> SweepFolder:
    cell = CellDocument(task="figure-1", map_seed=0, learner="crm", machine="agenda", preset="tuned", settings=[],
                        steps=10, seeds=3, folder="0")  # fmt: skip
    return SweepFolder(
        tmp_path / "s", SweepDocument(cells=[cell], files={}, checkpoint_seconds=1.0, created="", git={})
    )


def row(seed: int, length: int, **changed: Any) -> dict[str, Any]:
    return {"folder": "0", "task": "figure-1", "learner": "crm", "machine": "agenda", "preset": "tuned", "settings": [],
            "seed": seed, "optimum": 10, "final_length": length, "final_success": True, "first_optimal_step": None,
            "wall_seconds": 1.0, "error": None, **changed}  # fmt: skip


def shown(sweep: SweepFolder, rows: list[dict[str, Any]]) -> str:
    console = Console(width=200)
    with console.capture() as heard:
        console.print(answer(sweep, rows, {}).shown)
    return heard.get()


def cells(text: str, task: str = "figure-1") -> list[str]:
    (line,) = [line for line in text.splitlines() if task in line]
    return [part.strip() for part in line.strip("│").split("│")]


def test_a_cell_is_shown_by_its_medians(sweep: SweepFolder) -> None:
    rows = [row(0, 10, first_optimal_step=2000), row(1, 12, wall_seconds=3.0), row(2, 10, first_optimal_step=4000)]
    assert cells(shown(sweep, rows)) == ["figure-1", "crm agenda tuned", "3", "10", "10", "2/3", "3,000", "1.00"]


def test_a_failed_episode_counts_as_endless_and_a_rare_optimum_has_no_median(sweep: SweepFolder) -> None:
    rows = [row(0, 10, first_optimal_step=2000), row(1, 5, final_success=False), row(2, 5, final_success=False)]
    assert cells(shown(sweep, rows))[4:7] == ["inf", "1/3", "-"]


def test_an_unknown_optimum_is_a_dash(sweep: SweepFolder) -> None:
    assert cells(shown(sweep, [row(0, 12, optimum=None)]))[3:6] == ["-", "12", "0/1"]


def test_failed_runs_are_counted_and_told(sweep: SweepFolder) -> None:
    rows = [row(0, 10), row(1, 0, error="no memory")]
    told = answer(sweep, rows, {"runs": 2})
    assert (told.code, told.document["finished"], told.document["failed"]) == (1, 1, 1)
    assert told.document["predicted"] == {"runs": 2}
    assert "1 runs ended, 1 failed; stored in" in shown(sweep, rows)
    lost = shown(sweep, [row(0, 0, error="it would take 9 GB")])
    assert "it would take 9 GB" in lost
    assert answer(sweep, [row(0, 10)], {}).code == 0
