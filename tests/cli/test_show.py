"""`errands show`: each machine in each format, printed or written to a file."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from errands.cli import main


@pytest.mark.parametrize(("kind", "states"), [("numeric", 3), ("boolean", 9), ("agenda", 7), ("coupled", 8)])
def test_every_machine_of_figure_2_is_shown_with_its_states(
    capsys: pytest.CaptureFixture[str], kind: str, states: int
) -> None:
    assert main(["show", "figure-1", "--as", kind, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["task"], document["as"], document["states"]) == ("figure-1", kind, states)
    assert main(["show", "figure-1", "--as", kind]) == 0
    assert capsys.readouterr().out.strip()


def test_the_abstract_graph_of_dirl_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "figure-1", "--as", "graph", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["states"] > 2


def test_a_picture_is_well_formed_and_names_the_states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "machine.svg"
    assert main(["show", "figure-1", "--as", "agenda", "--format", "svg", "--output", str(path)]) == 0
    assert capsys.readouterr().out == f"wrote {path}\n"
    text = "".join(ElementTree.parse(path).getroot().itertext())  # noqa: S314 (written by ourselves)
    assert "0{b1,b2}{b1,b2}" in text.replace(" ", "")


@pytest.mark.parametrize(("style", "begins"), [("dot", "digraph"), ("json", "{")])
def test_other_programs_read_it_too(capsys: pytest.CaptureFixture[str], style: str, begins: str) -> None:
    assert main(["show", "figure-1", "--format", style]) == 0
    assert begins in capsys.readouterr().out


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "figure-1", "--output", str(tmp_path / "none" / "m.svg")]) == 2
    err = capsys.readouterr().err
    assert "cannot be written: No such file or directory; choose another --output" in err


def test_a_machine_too_large_to_draw_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "delivery-30", "--as", "agenda"]) == 2
    assert "states, more than the budget of" in capsys.readouterr().err
