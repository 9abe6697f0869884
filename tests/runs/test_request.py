"""The document of a run: defaults filled in, and what cannot be trained refused before anything is written."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from errands.errors import ConfigError, UnknownName
from errands.runs.request import SCOUT_STEPS, STEPS, fresh_name, plain, prepare
from errands.tasks import load

TASK = load("figure-1")


def test_defaults_are_filled_in() -> None:
    document = prepare(TASK)
    assert (document.learner, document.machine, document.steps, document.seeds) == ("scout", None, SCOUT_STEPS, [0])
    assert document.task_sha256 == hashlib.sha256(TASK.text.encode()).hexdigest()
    assert prepare(TASK, "crm").machine == "agenda"
    assert prepare(TASK, "crm").steps == STEPS


def test_settings_override_the_preset() -> None:
    document = prepare(TASK, "crm", preset="paper", settings=["gamma=0.5"])
    assert (document.config["alpha"], document.config["gamma"]) == (1e-5, 0.5)


def test_what_git_says_is_asked_once_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert prepare(TASK, git={"commit": "abc"}).git == {"commit": "abc"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seeds": ()}, "no seed was asked for; train at least one"),
        ({"seeds": (0, -3, -4)}, "seed -3 was asked for; seeds are 0 or more"),
        ({"seeds": (2**63,)}, "seeds are 0 or more"),
        ({"steps": 0}, "steps is 0; train for at least 1 step"),
        ({"checkpoint_seconds": 0}, "give a positive number"),
        ({"checkpoint_seconds": float("nan")}, "give a positive number"),
        ({"learner": "qcorm", "machine": "boolean"}, "uses its own machine"),
        ({"settings": ["alpha=2"], "learner": "crm"}, "between 0 and 1"),
    ],
)
def test_what_cannot_be_trained_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        prepare(TASK, **given)  # type: ignore[arg-type]


def test_names_that_are_not_known_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'crm'"):
        prepare(TASK, "crmm")
    with pytest.raises(UnknownName, match="did you mean 'tuned'"):
        prepare(TASK, "crm", preset="tund")


def test_a_fresh_name_is_one_that_no_run_has(tmp_path: Path) -> None:
    document = prepare(TASK, "crm", "boolean")
    first = fresh_name(document, tmp_path)
    assert re.fullmatch(r"figure-1-crm-boolean-\d{8}-\d{6}", first)
    stamps = set()
    for _ in range(3):
        name = fresh_name(document, tmp_path)
        (tmp_path / name).mkdir()
        stamps.add(name)
    assert len(stamps) == 3
    assert re.fullmatch(r"figure-1-qcorm-\d{8}-\d{6}", fresh_name(prepare(TASK, "qcorm"), tmp_path))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("office-3", "office-3"),
        ("my task/2", "my-task-2"),
        ("../up", "up"),
        ("größe", "gr--e"),
        ("---", "task"),
        ("", "task"),
    ],
)
def test_any_text_becomes_part_of_a_folders_name(text: str, kept: str) -> None:
    assert plain(text) == kept


def test_long_texts_are_cut() -> None:
    assert plain("a" * 200) == "a" * 50
