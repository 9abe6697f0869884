"""`errands tasks`: the catalogue with sizes and optima that are known from the paper, the facts or by hand."""

from __future__ import annotations

import json

import pytest

from errands.cli import main
from errands.tasks.catalogue import CATALOGUE


def test_families_and_examples_are_listed_with_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [f["name"] for f in document["families"]] == [e.shown for e in CATALOGUE]
    rows = {row["task"]: row for row in document["examples"]}
    assert rows["figure-1"] == {
        "task": "figure-1", "world": "grid", "agenda": 7, "coupled": 8, "policies": 3, "optimum": 10,
    }  # fmt: skip
    assert rows["corridor"]["optimum"] == 20
    assert rows["office-6"]["optimum"] == 60
    assert rows["delivery-8"]["agenda"] == 2**9 - 1
    assert rows["visit-12"]["coupled"] == 12 * 2**11 + 1
    assert {row["task"] for row in rows.values() if row["optimum"] is None} == {
        "water-3",
        "water-5",
        "cheetah-bcd",
        "cheetah-bcde",
    }
    ranges = {f["name"]: (f["from"], f["to"]) for f in document["families"]}
    assert ranges["office-N"] == (1, 6)
    assert ranges["corridor"] == (None, None)


def test_people_see_two_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--map-seed", "3"]) == 0
    out = capsys.readouterr().out
    assert "N is any number in the range" in out
    assert "Examples" in out
    assert "delivery-N" in out
