"""What a verb answers reaches standard output once: as one JSON document or for people, with its exit code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from rich.table import Table

from errands import cli
from errands.cli.answer import Answer
from errands.cli.verbs import VERBS, Verb


@dataclass(frozen=True)
class Arguments:
    """Nothing to ask."""


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A verb 'say' that gives a chosen answer."""

    def install(answer: Answer) -> None:
        module = SimpleNamespace(Arguments=Arguments, run=lambda _: answer)
        monkeypatch.setattr("importlib.import_module", lambda name: module)
        monkeypatch.setattr(cli, "VERBS", {**VERBS, "say": Verb("say", "look", "say it", "errands say")})

    return install


def test_the_document_is_printed_for_json_and_the_text_for_people(answering: Any, capsys: Any) -> None:
    answering(Answer({"größe": 3}, "three"))
    assert cli.main(["say"]) == 0
    assert capsys.readouterr().out == "three\n"
    assert cli.main(["say", "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out) == {"größe": 3}
    assert "größe" in out


def test_the_code_of_an_answer_is_the_exit_code(answering: Any) -> None:
    answering(Answer({}, "it failed", 1))
    assert cli.main(["say"]) == cli.main(["say", "--json"]) == 1


def test_anything_that_rich_renders_can_be_shown(answering: Any, capsys: Any) -> None:
    table = Table(title="sizes")
    table.add_column("agenda")
    table.add_row("127")
    answering(Answer({}, table))
    assert cli.main(["say"]) == 0
    out = capsys.readouterr().out
    assert "agenda" in out
    assert "127" in out


def test_a_document_with_what_json_cannot_hold_is_never_printed_in_part(answering: Any, capsys: Any) -> None:
    answering(Answer({"length": float("nan")}, "?"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        cli.main(["say", "--json"])
    assert capsys.readouterr().out == ""
