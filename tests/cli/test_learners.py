"""`errands learners`: the methods, and every setting of one with the sentence under its field."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from errands.cli import main
from errands.cli.verbs import sentences
from errands.learners import LEARNERS
from errands.learners.qcorm.settings import QCoRMConfig


def test_all_methods_are_listed_with_their_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learners", "--json"]) == 0
    rows = {row["learner"]: row for row in json.loads(capsys.readouterr().out)["learners"]}
    assert list(rows) == list(LEARNERS)
    assert rows["qrm"]["machines"] == ["agenda", "boolean"]
    assert rows["qcorm"]["machines"] == []
    assert rows["scout"]["worlds"] == ["finite"]


def test_the_settings_of_one_show_both_presets(capsys: pytest.CaptureFixture[str]) -> None:
    """The paper's learning rate on Delivery is 1e-5; every setting says what it is."""
    assert main(["learners", "crm", "--task", "figure-1", "--json"]) == 0
    rows = {row["setting"]: row for row in json.loads(capsys.readouterr().out)["settings"]}
    assert rows["alpha"]["paper"] == 1e-5
    assert rows["alpha"]["tuned"] > rows["alpha"]["paper"]
    assert all(row["about"] for row in rows.values())


def test_sentences_are_read_from_a_class_and_its_parents() -> None:
    said = sentences(Child)
    assert said == {"first": "The first.", "second": "Said anew."}
    assert "gamma" in sentences(QCoRMConfig)


@dataclass
class Parent:
    """A config."""

    first: int = 1
    """The first."""
    second: int = 2
    """The second."""


@dataclass
class Child(Parent):
    """Another."""

    second: int = 3
    """Said anew."""
    silent: int = 4


def test_a_misspelt_learner_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learners", "scuot"]) == 2
    assert "did you mean 'scout'" in capsys.readouterr().err
