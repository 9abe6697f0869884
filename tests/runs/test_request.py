"""The document of a run: defaults filled in, and what cannot be trained refused before anything is written."""

from __future__ import annotations

import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from errands.errors import ConfigError, StoreError, UnknownName
from errands.runs.folder import create, create_named, slug
from errands.runs.request import Request
from errands.tasks import Task, load

TASK = load("figure-1")


def test_defaults_are_filled_in() -> None:
    request = Request.of(TASK)
    assert (request.learner, request.machine, request.steps, request.seeds) == ("scout", None, 20_000, (0,))
    assert Request.of(TASK, "crm").machine == "agenda"
    assert Request.of(TASK, "crm").steps == 1_000_000


def test_what_is_stored_of_a_request_is_that_request_again(tmp_path: Path) -> None:
    for request in (Request.of(TASK), Request.of(TASK, "crm", "boolean", "paper", {"gamma": 0.5}, 7_000, (3, 1))):
        folder = create(tmp_path / request.learner, request)
        assert folder.request == request
        assert folder.document.task_sha256 == hashlib.sha256(TASK.text.encode()).hexdigest()


def test_settings_override_the_preset() -> None:
    config: Any = Request.of(TASK, "crm", preset="paper", settings=["gamma=0.5"]).config
    assert (config.alpha, config.gamma) == (1e-5, 0.5)


def test_what_git_says_is_asked_once_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert create(tmp_path / "run", Request.of(TASK), git={"commit": "abc"}).document.git == {"commit": "abc"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seeds": ()}, "no seed was asked for; train at least one"),
        ({"seeds": (0, -3, -4)}, "seed -3 was asked for; seeds are whole numbers, 0 or more"),
        ({"seeds": (2**63,)}, "seeds are whole numbers, 0 or more"),
        ({"steps": 0}, "steps is 0; train for at least 1 step"),
        ({"learner": "qcorm", "machine": "boolean"}, "uses its own machine"),
        ({"settings": ["alpha=2"], "learner": "crm"}, "between 0 and 1"),
    ],
)
def test_what_cannot_be_trained_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Request.of(TASK, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [0.0, float("nan"), float("inf")])
def test_checkpoints_that_could_not_be_written_are_refused_before_there_is_a_folder(tmp_path: Path, seconds: float) -> None:
    with pytest.raises(ConfigError, match="give a positive number"):
        create(tmp_path / "run", Request.of(TASK), seconds)
    assert not list(tmp_path.iterdir())


def test_names_that_are_not_known_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'crm'"):
        Request.of(TASK, "crmm")
    with pytest.raises(UnknownName, match="did you mean 'tuned'"):
        Request.of(TASK, "crm", preset="tund")


def test_runs_without_a_name_never_take_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight at once: within a second all would have the same time in their names. Each gets its turn, however long it takes."""
    request = Request.of(TASK, "crm", "boolean")
    with ThreadPoolExecutor(8) as threads:
        folders = list(threads.map(lambda _: create_named(request, runs=tmp_path), range(8)))
    assert len({folder.name for folder in folders}) == len(list(tmp_path.iterdir())) == 8
    for folder in folders:
        assert re.fullmatch(r"figure-1-crm-boolean-\d{8}-\d{6}(-\d)?", folder.name)
    assert re.fullmatch(r"figure-1-qcorm-\d{8}-\d{6}", create_named(Request.of(TASK, "qcorm"), runs=tmp_path).name)
    create_named(request, "mine", runs=tmp_path)
    with pytest.raises(StoreError, match="mine exists and is never overwritten"):
        create_named(request, "mine", runs=tmp_path)


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
    assert slug(text) == kept


def test_long_texts_are_cut() -> None:
    assert slug("a" * 200) == "a" * 50


def test_the_default_steps_of_scout_follow_a_large_world() -> None:
    """100 x 100 cells have 40,000 pairs of a cell and a move, and 10 x 10 have 400."""
    assert Request.of(load("visit-4"), "scout").steps == 20_000
    assert Request.of(load("visit-4"), "crm").steps == 1_000_000
    large = Task.from_toml('name = "x"\n[world]\nkind = "visit"\nplaces = 2\nsize = 100\n[machine]\nphrase = "any_order(v1, v2)"\n')
    assert Request.of(large, "scout").steps == 80_000
