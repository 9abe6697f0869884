"""The table of figures: what is in it is drawn by the command, listed, and shown where the page has no module for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import errands
from errands.cli import main
from errands.plots.figures import FIGURES, Figure, Trained
from errands.plots.style import blank
from errands.viewer.export import export_html, static
from errands.viewer.sources import replay_run


@dataclass(frozen=True)
class Lengths:
    """The lengths of all evaluations of a learner."""

    lengths: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        return {"kind": "lengths", "lengths": self.lengths}


def lengths(trained: Trained) -> Lengths:
    assert trained.learner is not None
    return Lengths((int(trained.learner.evaluate().episode_length),))


def draw(value: Lengths) -> Any:
    figure = blank(3, 2)
    figure.add_subplot().set_title(f"lengths {value.lengths}")
    return figure


def test_one_entry_is_all_that_a_figure_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(FIGURES, "lengths", Figure("lengths", "all lengths", "run", lengths, draw))  # type: ignore[arg-type]
    monkeypatch.chdir(tmp_path)
    run = errands.train("figure-1", "scout", steps=500)
    run.save("runs/one")
    assert main(["plot", "lengths", "one", "--output", "x.svg", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["lengths"] == [10]
    (shown,) = replay_run(run).figures
    assert "lengths (10,)" in shown["svg"]
    assert "lengths (10,)" in export_html(run, tmp_path / "run.html").read_text()


def test_figures_are_listed_and_a_misspelt_one_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "--json"]) == 0
    assert [f["name"] for f in json.loads(capsys.readouterr().out)["figures"]] == list(FIGURES)
    assert main(["plot"]) == 0
    assert "errands plot sizes delivery-12" in " ".join(capsys.readouterr().out.split())
    assert main(["plot", "curvs", "one"]) == 2
    assert "no figure is called 'curvs'; did you mean 'curves'?" in capsys.readouterr().err
    assert main(["plot", "sizes"]) == 2
    assert "nothing to draw was named; run for example: errands plot sizes delivery-12" in capsys.readouterr().err


def test_every_module_that_a_figure_names_is_there_and_the_page_needs_no_other() -> None:
    assert all(static(figure.script) for figure in FIGURES.values() if figure.script)
    assert replay_run(errands.train("figure-1", "scout", steps=500)).figures == ()
