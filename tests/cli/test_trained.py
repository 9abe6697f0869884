"""What `train` and `resume` say about seeds that have ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from errands.cli.trained import answer, document, sentence, words
from errands.runs.documents import ResultDocument
from errands.runs.folder import RunFolder, create
from errands.runs.request import prepare
from errands.tasks import load


def result(seed: int = 0, length: int | None = 10, **changed: Any) -> ResultDocument:
    given = {"final_success": True, "optimum": 10.0, "certificate": f"{length} steps", **changed}
    return ResultDocument(seed=seed, steps=100, final_length=length, wall_seconds=0.5, **given)


def test_one_seed_is_told_by_its_certificate_or_its_own_proof() -> None:
    assert words(result()) == "10 steps"
    assert words(result(proved=True, proved_step=1234)) == "10 steps, proved optimal after 1,234 steps"
    assert (
        words(result(proved=True, proved_step=3, final_success=False, certificate="no run succeeds"))
        == "no run succeeds"
    )
    assert words(result(certificate=None, final_success=False)) == "10 steps, no success"
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


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    task = load("figure-1")
    return create(tmp_path / "a", prepare(task, "qcorm", seeds=[0, 1], git={}), task)


def test_the_document_names_the_learners_own_machine_and_a_whole_optimum(folder: RunFolder) -> None:
    found = document(folder, [result(0)])
    assert (found["machine"], found["optimum"]) == ("coupled", 10)
    assert isinstance(found["optimum"], int)
    assert document(folder, [])["optimum"] is None
    assert found["runs"][0]["final_length"] == 10


def test_a_seed_that_ended_in_an_error_is_exit_code_one(folder: RunFolder) -> None:
    folder.seed(0).end(result(0))
    assert answer(folder).code == 0
    folder.seed(1).end(result(1, None, error="the disk is full", final_success=False, optimum=None))
    told = answer(folder)
    assert told.code == 1
    console = Console(width=120)
    with console.capture() as heard:
        console.print(told.shown)
    text = heard.get()
    assert "figure-1, qcorm, tuned" in text
    assert "the disk is full" in text
    assert "stored in" in text
