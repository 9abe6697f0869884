"""`errands lint`: all problems at once with exit code 2, else the task in English."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from errands.cli import main
from errands.tasks.catalogue import task_text


def linted(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object]]:
    code = main(["lint", *words, "--json"])
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return code, document


def test_a_good_task_is_read_back_with_its_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = linted(capsys, "figure-1")
    assert (code, document["ok"], document["warnings"]) == (0, True, [])
    assert document["sizes"] == {"boolean": 9, "agenda": 7, "coupled": 8, "policies": 3}
    assert document["reading"][0] == "Start in u0: do one of b1, b2, then go to u1."  # type: ignore[index]
    assert main(["lint", "figure-1"]) == 0
    out = capsys.readouterr().out
    assert "States: boolean 9, agenda 7, coupled 8, policies 3" in out
    assert out.endswith("No warnings.\n")


def test_every_problem_of_a_file_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.toml"
    text = task_text("figure-1").replace('name = "figure-1"', "name = 4").replace("failure = []", "failure = 3")
    path.write_text(text, encoding="utf-8")
    code, document = linted(capsys, str(path))
    assert (code, document["ok"]) == (2, False)
    problems = document["problems"]
    assert isinstance(problems, list)
    assert len(problems) == 2
    assert main(["lint", str(path)]) == 2
    out = capsys.readouterr().out
    assert out.startswith("2 problems:\n  - ")
    assert [line.split(":")[0] for line in out.splitlines()[1:]] == ["  - name", "  - machine.failure"]


def test_one_problem_is_counted_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("name = ", encoding="utf-8")
    assert main(["lint", str(path)]) == 2
    assert capsys.readouterr().out.startswith("1 problem:\n  - ")


def test_the_schema_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--schema"]) == 0
    assert "world" in json.loads(capsys.readouterr().out)["properties"]


def test_without_a_file_it_says_what_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint"]) == 2
    assert "errands lint needs the path of a task file, or --schema" in capsys.readouterr().err
    assert main(["lint", "none.toml"]) == 2
    assert "there is no file 'none.toml'" in capsys.readouterr().err


def test_a_limit_below_the_optimum_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = 'name="x"\n[world]\nkind="grid"\nrows=["A....g"]\nlegend={ g="g" }\nlimit=LIMIT\n[machine]\nphrase="g"\n'
    path = tmp_path / "late.toml"
    for limit, warned in ((3, True), (4, True), (5, False)):
        path.write_text(world.replace("LIMIT", str(limit)), encoding="utf-8")
        _, document = linted(capsys, str(path))
        wanted = f"the task takes 5 steps at least and an episode ends before; raise limit = {limit} under [world]"
        assert document["warnings"] == [wanted] * warned
