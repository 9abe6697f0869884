"""What a stranger's file is called reaches the terminal as it is written: no colour, no markup, no control code."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Group

from errands.cli import main
from errands.terminal import clock, console, counting, harmless, printable, show, table

HOSTILE = ["[/red]", "[bold]x[/bold]", "\x1b[31mred\x1b[0m", "a\x9b2Jb", "\u202eesrever", "bell\x07", ":smile:", "back\x08slash"]


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = printable(text)
    assert all(c.isprintable() or c in "\n\t" for c in shown)
    assert printable(shown) == shown


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"])))
def test_printable_text_is_left_alone(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize("name", HOSTILE)
def test_rich_shows_a_name_as_it_is_written(name: str) -> None:
    heard = io.StringIO()
    told = table(name, ("task",), ("steps",), "order")
    told.add_row(name, "3", name)
    console(file=heard).print(Group(told, name))
    assert heard.getvalue().count(printable(name)) == 4
    assert "\x1b" not in heard.getvalue()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_task_of_any_name_is_trained_and_told(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    world = '[world]\nkind = "grid"\nrows = ["A.g"]\nlegend = { g = "g" }'
    text = f'name = {json.dumps(name)}\n{world}\n[machine]\nphrase = "sequence(g)"\n'
    Path("t.toml").write_text(text, encoding="utf-8")
    code = main(["train", "t.toml", "scout", "--steps", "20", "--name", "a"])
    out, err = capsys.readouterr()
    assert code in (0, 2), err
    if code == 0:
        assert main(["compare", "a"]) == main(["resume", "a"]) == main(["verify", "a"]) == 0
        again = capsys.readouterr()
        out, err = out + again.out, err + again.err
        assert printable(name) in out
    assert all(c.isprintable() or c in "\n\t" for c in out + err)


def test_the_document_of_a_hostile_name_is_json_without_control_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["size", "no\x9bsuch\x1b[31m", "--json"]) == 2
    out, err = capsys.readouterr()
    assert "no\x9bsuch\x1b[31m" in json.loads(out)["error"]
    assert (out + err).replace("\n", "").isprintable()


def test_no_word_is_cut_at_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    heard = io.StringIO()
    name = "office-6-one-coffee-with-a-long-name"
    numbers = ("seeds", "optimum", "length", "optimal", "first optimal", "seconds")
    told = table("cut nothing", ("task",), numbers, words=("learner",))
    told.add_row(name, "qcorm-plus tuned alpha=0.1", "10", "1,234,567", "1,234,567.8", "10/10", "12,345,678", "1,234.56")
    show(told, heard)
    assert name in heard.getvalue()
    assert "qcorm-plus" in heard.getvalue()
    assert "…" not in heard.getvalue()
    assert "1,234.56" in heard.getvalue()


def test_a_sentence_in_the_last_column_has_room_for_forty_eight_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    heard, names = io.StringIO(), ("a-long-name-of-thirty-letters-", "another-name-of-thirty-letters")
    told = table(None, ("one", "two"), rest="what it is")
    told.add_row(*names, " ".join(["word"] * 20))
    show(told, heard)
    folded = [line[line.index("word") :].rstrip() for line in heard.getvalue().splitlines() if "word" in line]
    assert folded[0] == " ".join(["word"] * 9)  # 44 characters; one more word has 49


def test_times_are_said_as_people_say_them() -> None:
    assert [clock(s) for s in (8.2, 200, 7500)] == ["8 s", "3 min 20 s", "2 h 5 min"]


def test_work_is_told_with_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred steps a second for ten seconds of a clock that is turned by hand: 1,000 of 4,000, 30 seconds left."""
    now = [0.0]
    monkeypatch.setattr("errands.terminal.time", SimpleNamespace(monotonic=lambda: now[0]))
    heard = io.StringIO()
    with counting("office-3, crm", 4_000, out=heard) as report:
        now[0] = 5.0
        report(500)
        now[0] = 10.0
        report(1_000)
    assert heard.getvalue() == "office-3, crm: 1,000 of 4,000 steps, 100/s, 30 s left\n"
    with counting("silent", 10, quiet=True, out=heard) as report:
        report(5)
    assert heard.getvalue().count("\n") == 1


def test_on_a_terminal_one_line_changes_and_names_are_no_markup() -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    heard = Screen()
    with counting("[/red] task", 100, out=heard) as report:
        report(50)
        report(51)  # too soon to be told
    assert heard.getvalue().startswith("\r[/red] task: 50 of 100 steps, ")
    assert heard.getvalue().count("\r") == 2
    assert heard.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1"])
def test_a_spreadsheet_runs_no_text(text: str) -> None:
    assert harmless(text) == f"'{text}"
