"""Every verb has a home, a group, an example that its own parser takes, a place in the help, and one answer."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import shlex
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.table import Table

from errands import cli
from errands.cli import main
from errands.cli.plot import Arguments as Plot
from errands.cli.reproduce import Arguments as Reproduce
from errands.cli.verbs import GROUPS, VERBS, Answer, Verb, help_text, options_of, parse, typed, verb_help
from errands.errors import ErrandsError
from errands.tasks import load


@pytest.mark.parametrize("name", VERBS)
def test_the_example_of_a_verb_is_understood(name: str) -> None:
    verb = VERBS[name]
    module = import_module(f"errands.cli.{name}")
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


@pytest.mark.parametrize("name", VERBS)
def test_the_help_of_a_verb_has_each_argument_once_in_words_a_stranger_reads(name: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    kind = import_module(f"errands.cli.{name}").Arguments
    text = verb_help(kind, name, VERBS[name])
    assert VERBS[name].example in text
    assert "None" not in text
    assert "STR" not in text
    assert max(map(len, text.splitlines())) <= 100
    for option in options_of(kind):
        if not option.placed:
            name = option.flag[2:]
            assert len(re.findall(rf"^  --(?:\[no-\])?{name}\b(?!-)", text.split("Every verb")[0], re.MULTILINE)) == 1


def test_the_help_shows_what_may_be_left_out_and_what_is_taken() -> None:
    lines = verb_help(import_module("errands.cli.train").Arguments, "train", VERBS["train"]).splitlines()
    assert lines[0] == "usage: errands train TASK [LEARNER] [OPTIONS]"
    assert {"--steps COUNT", "--machine agenda|boolean"} <= {line.strip().split("  ")[0] for line in lines}


def test_options_stand_anywhere_and_are_read_as_their_fields_say() -> None:
    def train(words: str) -> Any:
        return parse(import_module("errands.cli.train").Arguments, "train", VERBS["train"], shlex.split(words))

    words = "--set alpha=0.1 figure-1 --map_seed=3 --set gamma=0.9 --steps 1e5 crm --checkpoint-every .5 --no-quiet --seed -1"
    given = train(words)
    assert (given.task, given.learner, given.set) == ("figure-1", "crm", ("alpha=0.1", "gamma=0.9"))
    assert (given.map_seed, given.steps, given.checkpoint_every, given.quiet, given.seed) == (3, 100_000, 0.5, False, -1)
    assert (given.name, given.machine, train("figure-1 --quiet --machine boolean").machine) == (None, None, "boolean")
    words = shlex.split("office-3 office-6 --methods 'crm agenda' qrm --presets paper --no-boolean-large")
    again = parse(Reproduce, "reproduce", VERBS["reproduce"], words)
    assert (again.figures, again.methods, again.presets) == (("office-3", "office-6"), ("crm agenda", "qrm"), ("paper",))


def test_reproduce_takes_steps_as_every_verb_does() -> None:
    given = parse(Reproduce, "reproduce", VERBS["reproduce"], ["office-3", "--steps", "100k"])
    assert given.steps == 100_000


def test_help_of_a_verb_may_be_asked_for_in_two_ways(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["help", "train"], ["train", "--help"]):
        with pytest.raises(SystemExit) as end:
            main(words)
        assert end.value.code == 0
    first, second = re.findall(r"^usage: errands train .*$", capsys.readouterr().out, re.MULTILINE)
    assert first == second
    assert main(["help", "trian"]) == 2
    assert "did you mean 'train'" in capsys.readouterr().err


def test_only_values_are_offered_as_values() -> None:
    """`as` is the name of the option, not one of the machines."""
    lines = verb_help(import_module("errands.cli.show").Arguments, "show", VERBS["show"]).splitlines()
    assert any(line.strip().startswith("--as numeric|boolean|agenda|coupled") for line in lines), lines


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
        (["solve", "figure-1", "--gamma", "much"], "run 'errands solve --help' to see what it takes"),
        (["train", "figure-1", "--seeds", "two"], "--seeds was given 'two'; write it as --seeds NUMBER; run"),
        (["train", "figure-1", "--steps"], "--steps has no value; write it as --steps COUNT; run"),
        (["train", "--steps", "5"], "missing TASK after 'errands train'; for example: errands train delivery-4"),
        (["train", "figure-1", "--log", "paper"], "no value of --log is called 'paper'; choose from tensorboard, wandb; run"),
        (["show", "figure-1", "--as", "cupled"], "no value of --as is called 'cupled'; did you mean 'coupled'?; run"),
        (["solve", "figure-1", "figure-2"], "'figure-2' is a word too many: 'errands solve' takes TASK"),
        (["doctor", "now"], "'now' is a word too many: 'errands doctor' takes no words but options"),
        (["train", "figure-1", "-s", "3"], "no option of 'errands train' is called '-s'; choose from --checkpoint-every"),
        (["train", "figure-1", "--quiet=yes"], "--quiet takes no value, and was given 'yes'; write it as --quiet; run"),
        (["train", "figure-1", "--steps="], "'' is no whole number; write it as 100000, 1e5 or 100k"),
        (["train", "figure-1", "--set", "--quiet"], "--set has no value; write it as --set TEXT; run"),
        (["compare"], "missing RUNS after 'errands compare'; for example: errands compare one two"),
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


@dataclass(frozen=True)
class Arguments:
    """Nothing to ask."""


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A verb 'say' that gives a chosen answer."""

    def install(answer: Answer) -> None:
        module = SimpleNamespace(Arguments=Arguments, run=lambda _: answer)
        monkeypatch.setattr("importlib.import_module", lambda name: module)
        monkeypatch.setattr(cli, "VERBS", {**VERBS, "say": Verb("look", "say it", "errands say")})

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
        cli.main(["say", "--json", "--debug"])
    assert capsys.readouterr().out == ""


def test_only_what_differs_from_its_default_is_written() -> None:
    assert typed("reproduce", Reproduce()) == "errands reproduce"
    given = Reproduce(("office-3", "office-6"), "full", boolean_large=True, seeds=5)
    assert typed("reproduce", given) == "errands reproduce office-3 office-6 --profile full --boolean-large --seeds 5"


def test_words_with_spaces_are_quoted() -> None:
    given = Plot("curves", ("my run",), Path("a b.svg"))
    assert typed("plot", given) == "errands plot curves 'my run' --output 'a b.svg'"


def test_what_a_terminal_of_another_encoding_cannot_show_is_written_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "größe.toml"
    path.write_text(load("figure-1").to_toml().replace('"figure-1"', '"grüße-日本"'), encoding="utf-8")
    said = []
    for words in (["show", str(path)], ["solve", str(path)], ["solve", str(path), "--json"], ["show", "nö.toml", "--json"]):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2))
        monkeypatch.setattr("sys.stdout", out)
        monkeypatch.setattr("sys.stderr", err)
        code = main(words)
        out.flush()
        said.append((code, out.buffer.getvalue().decode("ascii")))  # type: ignore[attr-defined]
    monkeypatch.undo()
    assert [code for code, _ in said] == [0, 0, 0, 2]
    assert "b\\u2193 | b\\u2913" in said[0][1]
    assert json.loads(said[2][1])["task"] == "grüße-日本"
    assert "nö.toml" in json.loads(said[3][1])["error"]
