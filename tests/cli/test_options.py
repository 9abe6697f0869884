"""Counts as people write them, and mistakes that are told in one sentence instead of a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands import cli
from errands.cli import main
from errands.cli.options import MAX_COUNT, count, seconds
from errands.cli.verbs import VERBS
from errands.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e5", 100_000), ("100k", 100_000), ("1.5e6", 1_500_000), ("2M", 2_000_000), ("0.5k", 500), ("100_000", 100_000),
     ("1,000", 1_000), ("-3", -3), ("9007199254740991", 2**53 - 1)],
)  # fmt: skip
def test_counts_are_read_as_people_write_them(text: str, number: int) -> None:
    assert count(text) == number


NO_COUNTS = ["", "k", "1.5", "nan", "inf", "0x10", "1e-3", "1e", "²", "9007199254740992", "1e16", "1e999", "9" * 400]


@pytest.mark.parametrize("text", NO_COUNTS)
def test_what_is_no_count_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ConfigError, match=r"100k|2\^53"):
        count(text)


@given(st.integers(-MAX_COUNT + 1, MAX_COUNT - 1))
def test_every_whole_number_below_the_bound_is_itself(number: int) -> None:
    assert count(str(number)) == count(f"{number:,}") == count(f"{number:_}") == number


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "soon"])
def test_a_time_is_a_number(text: str) -> None:
    with pytest.raises(ConfigError, match="no number of seconds"):
        seconds(text)


@pytest.mark.parametrize(
    "words",
    [
        "train figure-1 crm --steps 9007199254740992",
        "train figure-1 crm --steps 99999999999999999999",
        "train figure-1 crm --checkpoint-every inf",
        "train figure-1 crm --checkpoint-every nan",
        "train figure-1 crm --eval-every 99999999999999999999",
        "train figure-1 crm --set eval_every=99999999999999999999",
        "train figure-1 crm --set alpha=nan",
        "train figure-1 crm --set epsilon=inf",
        "train figure-1 scout --set prior=nan",
        "train figure-1 qcorm --set epsilon=0.3..0@1,99999999999999999999",
        "train figure-1 crm --seed 99999999999999999999",
        "train figure-1 crm --seed 1 --seeds 2",
        "train delivery-2 crm --map-seed 99999999999999999999",
        "sweep --task figure-1 --learner crm --checkpoint-every inf",
        "sweep --task figure-1 --learner crm --seeds 99999999999999999999",
        "solve figure-1 --gamma nan",
        "plot route figure-1 --learner crm --steps 0",
        "view --port 99999999",
        "check nosuch:Env",
        "verify nosuch",
        "export nosuch --html x.html",
    ],
)
def test_numbers_out_of_bounds_are_one_sentence_and_exit_code_two(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "a fault of errands" not in err
    assert not list(tmp_path.iterdir())


def test_steps_may_be_written_with_a_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "figure-1", "qrm", "--steps", "0.2k", "--name", "a", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["steps"] == 200


def test_an_environment_that_cannot_be_made_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """FrozenLake looks its map's name up in a dictionary: a KeyError of Gymnasium's own."""
    path = tmp_path / "lake.toml"
    path.write_text(
        'name = "lake"\n[world]\nkind = "gymnasium"\nid = "FrozenLake-v1"\nkwargs = { map_name = "9x9" }\n'
        'features = { g = [15] }\n[machine]\nphrase = "sequence(g)"\n'
    )
    assert main(["solve", str(path)]) == 2
    err = capsys.readouterr().err
    assert "gymnasium cannot make 'FrozenLake-v1'" in err
    assert "KeyError: '9x9'" in err


def test_a_fault_that_nobody_foresaw_is_one_sentence_with_what_to_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError("division\nby \x1b[31mzero")

    module = SimpleNamespace(Arguments=__import__("errands.cli.size", fromlist=["Arguments"]).Arguments, run=broken)
    monkeypatch.setattr("importlib.import_module", lambda name: module)
    monkeypatch.setattr(cli, "VERBS", VERBS)
    assert main(["size", "figure-1"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "ZeroDivisionError" in err
    assert "'errands size figure-1 --debug' and 'errands doctor'" in err
    assert "\x1b" not in err
    assert main(["size", "figure-1", "--json"]) == 1
    assert "ZeroDivisionError" in json.loads(capsys.readouterr().out)["error"]
    with pytest.raises(ZeroDivisionError):
        main(["size", "figure-1", "--debug"])
