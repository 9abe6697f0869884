"""Every verb has a home, a group, an example that its own parser takes, and a place in the help."""

from __future__ import annotations

import dataclasses
import shlex
from importlib import import_module

import pytest

from errands.cli import help_text, main, parse
from errands.cli.verbs import GROUPS, VERBS
from errands.errors import ErrandsError


@pytest.mark.parametrize("name", VERBS)
def test_the_example_of_a_verb_is_understood(name: str) -> None:
    verb = VERBS[name]
    module = import_module(f"errands.cli.{verb.module}")
    command, said, *words = shlex.split(verb.example)
    assert (command, said) == ("errands", name)
    given = parse(module.Arguments, name, verb, words)
    assert dataclasses.is_dataclass(given)
    assert callable(module.run)
    assert verb.group in GROUPS


def test_the_help_names_every_verb_once_under_its_group() -> None:
    lines = help_text().splitlines()
    assert sorted(line.split()[0] for line in lines if line[:2] == "  " and line.split()[0] in VERBS) == sorted(VERBS)
    assert [line for line in lines if line in GROUPS.values()] == list(GROUPS.values())


def test_without_words_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["--help"]) == main(["help"]) == 0
    assert capsys.readouterr().out == f"{help_text()}\n" * 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["trian"], "no verb is called 'trian'; did you mean 'train'?"),
        (["solve"], "missing TASK after 'errands solve'; for example: errands solve office-6"),
        (
            ["solve", "figure-1", "--gama", "1"],
            "no option of 'errands solve' is called '--gama'; did you mean '--gamma'?",
        ),
        (["solve", "figure-1", "--gamma", "much"], "type 'errands solve --help' to see what it takes"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
    assert main([*words, "--json"]) == 2
    assert '"error"' in capsys.readouterr().out


def test_debug_shows_where_a_mistake_was_found() -> None:
    with pytest.raises(ErrandsError, match="no verb is called"):
        main(["trian", "--debug"])


def test_quiet_is_taken_by_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", "figure-1", "--quiet"]) == 0
    assert "coupled" in capsys.readouterr().out
