import json

import pytest

import errands
from errands.cli import main


@pytest.fixture
def runs(tmp_path, monkeypatch, capsys):
    """Two stored runs on figure-1, one of which is too short to learn anything."""
    monkeypatch.chdir(tmp_path)
    train = ["train", "figure-1", "--seeds", "3", "--quiet", "--jobs", "1", "--eval-every", "500"]
    assert main([*train, "qcorm-0", "--steps", "5000", "--name", "good"]) == 0
    assert main([*train, "qrm", "--steps", "500", "--name", "poor"]) == 0
    capsys.readouterr()
    return tmp_path


def told(capsys, *words):
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_table_has_medians_and_the_chance_of_improvement(runs, capsys):
    code, document = told(capsys, "compare", "good", "poor")
    good, poor = document["runs"]
    assert code == 0
    assert (good["name"], good["final_median"], good["optimal"], good["optimum"]) == ("qcorm-0", 10.0, 1.0, 10.0)
    assert (poor["name"], poor["final_median"], poor["success"]) == ("qrm agenda", None, 0.0)
    assert document["improvement"]["of"] == "qcorm-0"
    assert document["improvement"]["over"]["qrm agenda"]["value"] == 1.0


def test_the_settings_that_differ_are_told(runs, capsys):
    _, document = told(capsys, "compare", "good", "poor")
    assert document["differences"]["steps"] == {"qcorm-0": 5000, "qrm agenda": 500}
    assert "gamma" not in document["differences"]


def test_a_figure_is_drawn_on_request(runs, capsys):
    code, _ = told(capsys, "plot", "curves", "good", "poor", "--output", "both.svg")
    kept = json.loads((runs / "both.svg.json").read_text())
    assert code == 0
    assert (runs / "both.svg").is_file()
    assert kept["command"] == "errands plot curves good poor --output both.svg"
    assert kept["data"]["notes"] == ["qrm agenda ended at step 500; its last value is drawn on"]


def test_people_see_a_table(runs, capsys):
    assert main(["compare", "good"]) == 0
    assert "qcorm-0" in capsys.readouterr().out


def test_no_run_is_an_error_in_one_sentence(runs, capsys):
    assert main(["compare", "nothing"]) == 2
    assert "is no run or sweep" in capsys.readouterr().err


def test_without_an_optimum_nothing_is_called_optimal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    sides = {"left": {"index": 0, "below": -0.02}, "right": {"index": 0, "above": 0.02}}
    cart = errands.Task.from_env("CartPole-v1", sides, "any_order(left, right)", state=lambda seen: round(float(seen[0]), 1))
    with pytest.warns(UserWarning, match="no file can name"):
        errands.train(cart, "qrm", steps=2_000, name="cart")
    assert main(["compare", "cart"]) == 0
    shown = capsys.readouterr().out
    assert "CartPole-v1, optimum unknown" in shown
    (header,) = (line for line in shown.splitlines() if line.startswith("method"))
    assert "shortest" in header
    assert "optimal" not in header
