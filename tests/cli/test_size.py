"""`errands size`: the closed forms of the paper, and nothing is built."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from errands.cli import main


def test_figure_2_has_three_nine_seven_and_eight_states(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", "figure-1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "task": "figure-1", "numeric": 3, "boolean": 9, "agenda": 7, "coupled": 8, "policies": 3,
    }  # fmt: skip


def test_large_machines_are_counted_with_thousands_marked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", "delivery-12"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "numeric    3",
        "boolean    2,604,122,689",
        "agenda     8,191",
        "coupled    28,672",
        "policies   13",
    ]


def test_a_machine_of_the_2022_format_is_counted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two transitions, u0 on a to u1, u1 on b to the end -1: three states of every kind."""
    monkeypatch.chdir(tmp_path)
    Path("m.txt").write_text("0\n[-1]\n(0,0,'!a',ConstantRewardFunction(0))\n(0,1,'a',ConstantRewardFunction(0))\n"
                             "(1,1,'!b',ConstantRewardFunction(0))\n(1,-1,'b',ConstantRewardFunction(1))\n")  # fmt: skip
    code = main(["size", "m.txt", "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    assert json.loads(out)["agenda"] == 3


def test_an_unknown_task_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", "delivry-3"]) == 2
    assert "did you mean 'delivery-3'" in capsys.readouterr().err


def test_more_orders_than_python_prints_digits_of_are_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """1,700 subtasks: more than 4,300 digits."""
    names = ", ".join(f"v{i + 1}" for i in range(1_700))
    (tmp_path / "many.toml").write_text(
        f'name = "many"\n[world]\nkind = "visit"\nplaces = 1700\n[machine]\nphrase = "any_order({names})"\n'
    )
    usual = sys.get_int_max_str_digits()
    try:
        for verb in ("size", "lint"):
            assert main([verb, str(tmp_path / "many.toml"), "--json"]) == 0
            assert '"agenda": ' in capsys.readouterr().out
            assert main([verb, str(tmp_path / "many.toml")]) == 0
            assert re.search(r"agenda +about 10\^511", capsys.readouterr().out)  # 2^1700 is 10^511.75
    finally:
        sys.set_int_max_str_digits(usual)
