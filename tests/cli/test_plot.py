import json

import pytest

from errands.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["train", "figure-1", "qcorm-0", "--seeds", "2", "--steps", "5000", "--name", "one", "--quiet", "--jobs", "1"]
    assert main(words) == 0
    capsys.readouterr()
    return tmp_path


def plot(capsys, *words):
    code = main(["plot", *words, "--json"])
    document = json.loads(capsys.readouterr().out)
    return code, document["data"]


@pytest.mark.parametrize(("kind", "ending"), [("curves", "svg"), ("curves", "png"), ("runtimes", "pdf")])
def test_a_run_is_drawn_with_its_data_beside_it(run, capsys, kind, ending):
    code, data = plot(capsys, kind, "one", "--output", f"drawn.{ending}")
    assert code == 0
    assert data["kind"] == kind
    assert (run / f"drawn.{ending}").stat().st_size > 1000
    beside = json.loads((run / f"drawn.{ending}.json").read_text())
    assert beside["data"] == data
    assert beside["command"] == f"errands plot {kind} one --output drawn.{ending}"


def test_the_learnt_route_stands_beside_the_optimal_one(run, capsys):
    _, data = plot(capsys, "route", "one", "--output", "route.svg")
    assert [(r["title"], r["length"], r["success"]) for r in data["routes"]] == [
        ("qcorm-0, seed 0", 10, True),
        ("optimal", 10, True),
    ]


def test_the_policy_of_a_stored_run_has_a_map_for_each_objective(run, capsys):
    _, data = plot(capsys, "policy", "one", "--seed", "1", "--output", "policy.svg")
    assert [m["name"] for m in data["maps"]] == ["b1", "b2", "s"]


def test_a_task_has_an_optimal_route_and_with_a_learner_a_policy(run, capsys):
    _, data = plot(capsys, "route", "corridor", "--output", "r.svg")
    assert [(r["title"], r["length"]) for r in data["routes"]] == [("optimal", 20)]
    _, data = plot(capsys, "policy", "corridor", "--learner", "crm", "--steps", "2000", "--output", "p.svg")
    assert data["task"] == "corridor"


def test_the_sizes_of_a_family_go_up_to_the_named_task(run, capsys):
    _, data = plot(capsys, "sizes", "delivery-4", "--output", "sizes.svg")
    assert (data["subtasks"], data["boolean"]) == ([1, 2, 3, 4], [3, 9, 31, 129])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["curves", "one", "--output", "figure.bmp"], ".svg, .pdf or .png"),
        (["policy", "corridor", "--output", "p.svg"], "add --learner"),
        (["route", "nothing-there", "--output", "p.svg"], "is no run or sweep"),
        (["sizes", "delivery-3", "visit-3", "--output", "p.svg"], "one family"),
        (["policy", "one", "--seed", "7", "--output", "p.svg"], "has no seed 7; it has 0"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_sentence(run, capsys, words, said):
    assert main(["plot", *words]) == 2
    assert said in capsys.readouterr().err


def test_drawing_a_run_removes_nothing_of_it(tmp_path, monkeypatch, capsys):
    """A training that goes on writes its arrays before their document: whoever only looks must leave them alone."""
    monkeypatch.chdir(tmp_path)
    assert main(["train", "figure-1", "crm", "--steps", "400", "--name", "r", "--quiet"]) == 0
    fresh = tmp_path / "runs" / "r" / "seed-0" / "checkpoint-900.safetensors"
    fresh.write_bytes(b"being written")
    assert main(["plot", "route", "r", "--output", "route.svg"]) == 0
    assert fresh.read_bytes() == b"being written"
