"""Tasks typed into the page: limits, lines of errors, traces."""

from __future__ import annotations

import pytest

import errands
from errands.errors import SpecError
from errands.viewer.drafts import check, line_of, try_trace

FIGURE = errands.load("figure-1").to_toml()


def wrong(old: str, new: str) -> list[tuple[int, str]]:
    assert old in FIGURE
    return [(p["line"], p["message"]) for p in check(FIGURE.replace(old, new))["problems"]]


def line(part: str) -> int:
    return next(i for i, text in enumerate(FIGURE.splitlines(), 1) if part in text)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('kind = "grid"', 'kind = "grid', 'kind = "grid"'),
        ("u1 -> u1 : ~s ; 0", "u1 -> u1 : ~(s ; 0", "u1 -> u1"),
        ("b↓ | b⤓", "c↓ | b⤓", "u0 -> u1"),
        ("~s ; 0", "~t ; 0", "u1 -> u2"),
        ('rows = ["1s.", "..A", "...", "2.."]', 'rows = ["1s.", "..A", "....", "2.."]', "rows"),
        ('rows = ["1s.", "..A", "...", "2.."]', 'rows = ["1s.", "...", "...", "2.."]', "[world]"),
        ('success = ["u2"]', 'success = ["u9"]', "success"),
        ('initial = "u0"', "initial = 3", "initial"),
        ('removed = ["b1", "b2"]', 'removed = ["b1", "b9"]', "removed"),
        ('name = "figure-1"', 'name = ""', "name"),
    ],
)
def test_an_error_stands_under_its_line(old: str, new: str, place: str) -> None:
    lines = [at for at, _ in wrong(old, new)]
    assert line(place) in lines


def test_a_good_task_is_drawn() -> None:
    found = check(FIGURE)
    assert found["problems"] == []
    assert found["sizes"] == {"numeric": 3, "boolean": 9, "agenda": 7, "coupled": 8, "policies": 3}
    assert set(found["machines"]) == {"numeric", "boolean", "agenda", "coupled"}
    assert found["rows"] == ["1s.", "..A", "...", "2.."]
    assert found["stands"][0]["lit"]["coupled"] == [0, 1]
    assert found["untrainable"] == ""
    said = check(errands.load("water-2").to_toml())["untrainable"]
    assert said.startswith("the world ") and said.endswith("; train it with errands train")  # noqa: PT018


def test_a_task_whose_machines_are_too_large_to_be_drawn_is_shown_by_its_numeric_one() -> None:
    found = check(errands.load("office-6").to_toml())
    assert (found["problems"], set(found["machines"])) == ([], {"numeric"})
    assert found["stands"][0]["lit"] == {"numeric": [0]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x" * 60_000, "the editor takes 50,000"),
        (FIGURE.replace('"1s.", "..A", "...", "2.."', '"A1s2' + "." * 3000 + '"'), "at most 2,500 cells"),
        (errands.load("delivery-30").to_toml(), "at most 16"),
        ('name = "x"\n[world]\nkind = "gymnasium"\nid = "os:system"\nfeatures = {}\n[machine]\nphrase = "a"',
         "world.id: 'os:system' is no code of a module that this page may run; start it with 'errands view --import os'"),
        ('name = "x"\n[world]\nkind = "gymnasium"\nid = "CartPole-v1"\nfeatures = "os:getcwd"\n[machine]\nphrase = "a"',
         "world.features: 'os:getcwd' is no code of a module that this page may run"),
    ],
)
def test_what_is_too_large_or_not_allowed_is_refused(text: str, said: str) -> None:
    assert any(said in p["message"] for p in check(text)["problems"])


def test_a_trace_pays_what_the_machine_pays() -> None:
    trace = [["b2"], [], ["s"], ["b1"], ["s"]]
    found = try_trace(FIGURE, trace)
    outcome = errands.load("figure-1").machine.run([set(t) for t in trace])
    assert [f["reward"] for f in found["frames"][1:]] == list(outcome.rewards)
    assert found["frames"][-1]["status"] == 1
    assert [found["stands"][f["stand"]]["label"] for f in found["frames"]] == [
        "0{b1,b2}{b1,b2}", "1{b1}s", "1{b1}s", "2{b1}b1", "3{}s", "4{}",
    ]  # fmt: skip


def test_a_trace_of_unknown_features_or_too_many_steps_is_refused() -> None:
    with pytest.raises(SpecError, match="no feature 'x'"):
        try_trace(FIGURE, [["x"]])
    with pytest.raises(SpecError, match="at most 200"):
        try_trace(FIGURE, [[]] * 201)


def test_a_problem_that_names_nothing_stands_on_the_first_line() -> None:
    assert line_of("something is wrong", FIGURE) == 1
    assert line_of("world.colour: this key is not known", FIGURE) == line("[world]")
