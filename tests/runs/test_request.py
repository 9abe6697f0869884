"""The document of a run: defaults filled in, and what cannot be trained refused before anything is written."""

from __future__ import annotations

import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from errands.errors import ConfigError, StoreError, UnknownName
from errands.runs.request import SCOUT_STEPS, STEPS, created, plain, prepare
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


def test_runs_without_a_name_never_take_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight at once: within a second all would have the same time in their names. Each gets its turn, however long it takes."""
    monkeypatch.setattr("errands.runs.folder.PATIENCE", 0.0)
    document = prepare(TASK, "crm", "boolean")
    with ThreadPoolExecutor(8) as threads:
        folders = list(threads.map(lambda _: created(document, TASK, runs=tmp_path), range(8)))
    assert len({folder.name for folder in folders}) == len(list(tmp_path.iterdir())) == 8
    for folder in folders:
        assert re.fullmatch(r"figure-1-crm-boolean-\d{8}-\d{6}(-\d)?", folder.name)
    assert re.fullmatch(r"figure-1-qcorm-\d{8}-\d{6}", created(prepare(TASK, "qcorm"), TASK, runs=tmp_path).name)
    created(document, TASK, "mine", tmp_path)
    with pytest.raises(StoreError, match="mine exists and is never overwritten"):
        created(document, TASK, "mine", tmp_path)


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
