"""What `train`, `sweep` and `resume` say about seeds that have ended: medians counted by hand, exit code 1 for a failed run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from errands.cli.summary import run_document, run_summary, run_table, seed_summary, sentence, sweep_summary
from errands.runs.documents import BoundsDocument, Cell, ResultDocument, SweepDocument
from errands.runs.folder import RunFolder, SweepFolder, create
from errands.runs.request import Request
from errands.tasks import load


def result(seed: int = 0, length: float | None = 10, **changed: Any) -> ResultDocument:
    given: dict[str, Any] = {"final_success": True, "optimum": 10.0, "certificate": f"{length} steps", **changed}
    if given["final_success"] is True and length is not None and given["optimum"] is not None:
        given = {"final_gap": length - given["optimum"], **given}
    return ResultDocument(seed=seed, steps=100, final_length=length, wall_seconds=0.5, **given)


def test_one_seed_is_told_by_its_certificate_or_its_own_proof() -> None:
    assert seed_summary(result()) == "10 steps"
    assert seed_summary(result(proved=True, proved_step=1234)) == "10 steps, proved optimal after 1,234 steps"
    assert (
        seed_summary(result(proved=True, proved_step=3, final_success=False, certificate="no run succeeds"))
        == "no run succeeds"
    )
    assert sentence([result(certificate="only one")]) == "only one"


def test_several_seeds_are_counted_against_the_optimum() -> None:
    seeds = [
        result(0),
        result(1, 12),
        result(2, 9, final_success=False),
        result(3, None, error="out of memory", final_success=False),
    ]
    assert sentence(seeds) == "1 of 4 seeds end at the optimum of 10 steps; 2 succeed."
    proved = [result(0, proved=True, proved_step=5), result(1)]
    assert sentence(proved) == "2 of 2 seeds end at the optimum of 10 steps, 1 with a proof after 5 steps; 2 succeed."
    both = [result(0, proved=True, proved_step=1234), result(1, proved=True, proved_step=5)]
    assert sentence(both) == "2 of 2 seeds end at the optimum of 10 steps, 2 with a proof after 5 to 1,234 steps; 2 succeed."


def test_without_an_optimum_only_successes_are_counted() -> None:
    assert sentence([result(0, optimum=None), result(1, optimum=None, final_success=False)]) == (
        "1 of 2 seeds succeed; the optimum is not known."
    )


BOUNDS = {"lower": 9, "upper": 12, "proved": False, "delta": None}


def test_bounds_stand_where_the_optimum_is_not_known(folder: RunFolder) -> None:
    wide = BoundsDocument(**{**BOUNDS, "lower": 5})
    seeds = [result(0, optimum=None, bounds=wide), result(1, optimum=None, bounds=BoundsDocument(**BOUNDS))]
    assert sentence(seeds) == "2 of 2 seeds succeed; the optimum lies between 9 and 12."
    found = run_document(folder, seeds)
    assert (found["optimum"], found["bounds"]) == (None, BOUNDS)
    assert [row["bounds"]["lower"] for row in found["runs"]] == [5, 9]
    proved = BoundsDocument(lower=10, upper=10, proved=True, delta=0.05)
    assert run_document(folder, [*seeds, result(2, optimum=None, bounds=proved)])["bounds"] == proved.model_dump()


def test_an_optimum_is_its_own_bounds(folder: RunFolder) -> None:
    exact = {"lower": 10, "upper": 10, "proved": True, "delta": None}
    assert run_document(folder, [result(0, bounds=BoundsDocument(**BOUNDS))])["bounds"] == exact
    assert run_document(folder, [result(0, optimum=None)])["bounds"] is None


def test_the_interval_of_a_mean_stands_beside_it(folder: RunFolder) -> None:
    ends = {"final_length_low": 30.25, "final_length_high": 41.0, "final_success_low": 0.584, "final_success_high": 0.919}
    mean = result(0, 35.5, final_success=0.8, final_episodes=20, optimum=None, **ends)
    console = Console(width=120, record=True)
    console.print(run_table(folder, [mean]))
    shown = console.export_text()
    assert "35.5 (30.2-41)" in shown
    assert "0.8 (0.584-0.919)" in shown
    row = run_document(folder, [mean])["runs"][0]
    assert {name: row[name] for name in ends} == ends


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    task = load("figure-1")
    return create(tmp_path / "a", Request.of(task, "qcorm", seeds=[0, 1]), git={})


def test_the_document_names_the_learners_own_machine_and_a_whole_optimum(folder: RunFolder) -> None:
    found = run_document(folder, [result(0)])
    assert (found["machine"], found["optimum"]) == ("coupled", 10)
    assert isinstance(found["optimum"], int)
    assert run_document(folder, [])["optimum"] is None
    assert found["runs"][0]["final_length"] == 10


def test_a_seed_that_ended_in_an_error_is_exit_code_one(folder: RunFolder) -> None:
    folder.seed(0).end(result(0, run=folder.document.id))
    assert run_summary(folder).code == 0
    folder.seed(1).end(result(1, None, error="the disk is full", final_success=False, optimum=None))
    told = run_summary(folder)
    assert told.code == 1
    console = Console(width=120)
    with console.capture() as heard:
        console.print(told.shown)
    text = heard.get()
    assert "figure-1, qcorm, tuned" in text
    assert "the disk is full" in text
    assert "stored in" in text


@pytest.fixture
def sweep(tmp_path: Path) -> SweepFolder:
    cell = Cell(task="figure-1", map_seed=0, learner="crm", machine="agenda", preset="tuned", settings=[],
                        steps=10, seeds=3, folder="0")  # fmt: skip
    return SweepFolder(
        tmp_path / "s", SweepDocument(cells=[cell], files={}, checkpoint_seconds=1.0, created="", git={})
    )


def row(seed: int, length: int, **changed: Any) -> dict[str, Any]:
    return {"folder": "0", "task": "figure-1", "learner": "crm", "machine": "agenda", "preset": "tuned", "settings": [],
            "seed": seed, "optimum": 10, "final_length": length, "final_success": True, "first_optimal_step": None,
            "final_gap": length - 10.0, "wall_seconds": 1.0, "error": None, **changed}  # fmt: skip


def shown(sweep: SweepFolder, rows: list[dict[str, Any]]) -> str:
    console = Console(width=200)
    with console.capture() as heard:
        console.print(sweep_summary(sweep, rows, {}).shown)
    return heard.get()


def cells(text: str, task: str = "figure-1") -> list[str]:
    (line,) = [line for line in text.splitlines() if task in line]
    return re.split(r"\s{2,}", line.strip())


def test_a_cell_is_shown_by_its_medians(sweep: SweepFolder) -> None:
    rows = [row(0, 10, first_optimal_step=2000), row(1, 12, wall_seconds=3.0), row(2, 10, first_optimal_step=4000)]
    assert cells(shown(sweep, rows)) == ["figure-1", "crm agenda tuned", "3", "10", "10", "2/3", "3,000", "1.00"]


def test_a_failed_episode_counts_as_endless_and_a_rare_optimum_has_no_median(sweep: SweepFolder) -> None:
    rows = [row(0, 10, first_optimal_step=2000), row(1, 5, final_success=False), row(2, 5, final_success=False)]
    assert cells(shown(sweep, rows))[4:7] == ["fails", "1/3", "-"]


def test_an_unknown_optimum_is_a_dash(sweep: SweepFolder) -> None:
    assert cells(shown(sweep, [row(0, 12, optimum=None)]))[3:6] == ["-", "12", "0/1"]


def test_failed_runs_are_counted_and_told(sweep: SweepFolder) -> None:
    rows = [row(0, 10), row(1, 0, error="no memory")]
    told = sweep_summary(sweep, rows, {"runs": 2})
    assert (told.code, told.document["finished"], told.document["failed"]) == (1, 1, 1)
    assert told.document["predicted"] == {"runs": 2}
    assert "1 runs ended, 1 failed; stored in" in shown(sweep, rows)
    lost = shown(sweep, [row(0, 0, error="it would take 9 GB")])
    assert "it would take 9 GB" in lost
    assert sweep_summary(sweep, [row(0, 10)], {}).code == 0


def test_where_there_is_chance_seeds_are_told_by_their_probabilities() -> None:
    """Expectations (episodes 0): never one drawn episode against an expected optimum."""
    drawn = {"optimum": 51.3931, "final_episodes": 0}
    seeds = [result(0, 10, final_success=0.9446, **drawn), result(1, 11, final_success=0.9471, **drawn)]
    assert sentence(seeds) == (
        "0 of 2 seeds end at the optimum of 51.3931 expected steps; each succeeds with probability 0.945 to 0.947."
    )
    assert sentence([*seeds, result(2, 52, final_success=1.0, **drawn)]).endswith(
        "; 1 succeed surely, the others with probability 0.945 to 0.947."
    )


def test_a_few_drawn_episodes_are_never_called_sure() -> None:
    drawn = {"optimum": None, "certificate": None, "final_episodes": 5}
    always, often = result(0, 30, final_success=1.0, **drawn), result(1, 57, final_success=0.8, **drawn)
    assert sentence([always, always]) == "2 seeds: 2 succeed in all 5 greedy episodes; the optimum is not known."
    assert "1 succeed in all 5 greedy episodes, the others in 0.8 of theirs;" in sentence([always, often])
    assert "each succeeds in 0.8 of 5 greedy episodes;" in sentence([often, often])
