"""What the page asks for, over the wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import errands
from errands.runs.folder import create
from errands.runs.request import Request
from errands.runs.sweep import train_run
from errands.viewer.api import Api
from errands.viewer.training import PageTrainer

TOKEN = "a-secret-of-the-tests"  # noqa: S105 (the one of conftest.py)
FIGURE = errands.load("figure-1").to_toml()


def test_runs_are_listed_newest_first(served: Any) -> None:
    rows = served.json("runs")["runs"]
    names = [row["name"] for row in rows if row["name"] in ("fig", "fig-crm", "hostile")]
    assert names == ["hostile", "fig", "fig-crm"]
    assert all(row["finished"] for row in rows if row["name"] in names)


def test_sizes_are_exact(served: Any) -> None:
    rows = served.json("sizes?family=office")["rows"]
    sizes = errands.size(errands.load("office-6").machine)
    assert rows[5]["boolean"] == str(sizes.boolean)
    assert rows[5]["coupled"] == str(sizes.coupled)
    assert int(rows[-1]["boolean"]) > 2**64


def test_wrong_questions_are_answered_in_a_sentence(served: Any) -> None:
    assert "did you mean 'fig" in served.json("replay?run=figg")["error"]
    assert "is no seed" in served.json("replay?run=fig&seed=-1")["error"]
    assert "no family is called" in served.json("sizes?family=x")["error"]
    assert "different tasks" in served.json("curves?run=fig&run=hostile")["error"]
    assert "no figure of runs is called 'route'; did you mean 'runtimes'?" in served.json("figure?name=route&run=fig")["error"]
    assert "has no text" in served.json("check", {"text": 3})["error"]
    assert "list of lists" in served.json("trace", {"text": FIGURE, "trace": [[1]]})["error"]
    assert "not a JSON object" in served.json("check", [1])["error"]


def test_a_figure_without_a_module_of_its_own_comes_as_data_and_svg(served: Any) -> None:
    listed = served.json("runs")["figures"]
    assert [(f["name"], f["script"]) for f in listed] == [("curves", "curves.js"), ("runtimes", "")]
    shown = served.json("figure?name=runtimes&run=fig&run=fig-crm")
    assert shown["data"]["kind"] == "runtimes"
    assert shown["svg"].startswith("<?xml")
    assert "</svg>" in shown["svg"]


def test_training_has_limits(served: Any) -> None:
    told = [
        ({"text": FIGURE, "steps": 10**9, "learner": "scout"}, "the page trains 1 to 2,000,000"),
        ({"text": FIGURE, "steps": 0, "learner": "scout"}, "the page trains 1 to"),
        ({"text": FIGURE, "steps": 1.5, "learner": "scout"}, "whole numbers"),
        ({"text": FIGURE, "learner": "qcrom"}, "did you mean 'qcorm'"),
        ({"text": FIGURE, "seed": -1, "learner": "scout"}, "seeds are whole numbers, 0 or more"),
        ({"text": errands.load("water-2").to_toml(), "learner": "scout"}, "continuous"),
        ({"text": errands.load("delivery-30").to_toml(), "learner": "scout"}, "at most 16"),
        ({"text": "name = 1", "learner": "scout"}, "name"),
    ]
    before = served.json("runs")["runs"]
    for body, said in told:
        answer = served.json("train", body)
        assert answer["status"] == 400
        assert said in answer["error"]
    assert len(served.json("runs")["runs"]) == len(before)
    assert "not being trained" in served.json("cancel", {"run": "fig"})["error"]
    assert "give more than 20,000" in served.json("further", {"run": "fig", "steps": 20_000})["error"]
    assert "a whole number of steps, a total" in served.json("further", {"run": "fig"})["error"]


def test_a_run_that_is_said_to_have_ended_is_shown_with_all_that_it_stored(tmp_path: Path) -> None:
    task = errands.load("figure-1")
    run = create(tmp_path / "run", Request.of(task, "crm", steps=100), git={})

    class Ending(PageTrainer):
        """The process of the page ends, with all that it stores, just when it is asked how it stands."""

        def state(self, name: str) -> str:
            train_run(run, quiet=True)
            return "done"

    told = Api(tmp_path, trainer=Ending(tmp_path)).progress("run")
    assert (told["state"], told["finished"], told["seeds"][0]["checkpoint"]) == ("done", True, 100)


def test_progress_of_an_ended_run_is_one_event(served: Any) -> None:
    status, headers, body = served.ask(f"/{TOKEN}/api/events?run=fig")
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    first, last = body.decode().strip().split("\n\n")
    told = json.loads(first.removeprefix("event: progress\ndata: "))
    assert told["finished"]
    assert told["seeds"][2]["step"] == 20_000
    assert last.startswith("event: end")
