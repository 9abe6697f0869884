"""`errands tasks`: the catalogue, each family with its range."""

from __future__ import annotations

import json

import pytest

from errands.cli import main
from errands.tasks.catalogue import CATALOGUE


def test_every_family_is_listed_with_its_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [f["name"] for f in document["families"]] == [e.shown for e in CATALOGUE]
    ranges = {f["name"]: (f["from"], f["to"]) for f in document["families"]}
    assert ranges["office-N"] == (1, 6)
    assert ranges["corridor"] == (None, None)


def test_people_see_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks"]) == 0
    out = capsys.readouterr().out
    assert "N is any number in the range" in out
    assert "delivery-N" in out
