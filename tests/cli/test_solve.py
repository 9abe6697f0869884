"""`errands solve`: optima counted by hand on small drawings, and the paper's class of policies beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from errands.cli import main
from errands.tasks import load
from errands.worlds.grid import distances


def solved(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["solve", *words, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_figure_1_takes_ten_steps_in_the_only_optimal_order(capsys: pytest.CaptureFixture[str]) -> None:
    found = solved(capsys, "figure-1")
    assert (found["length"], found["order"], found["orders"]) == (10, ["b2", "s", "b1", "s"], 1)
    path = found["path"]
    assert isinstance(path, list)
    assert len(path) == 11
    assert found["discounted"] == pytest.approx(0.99**9)


def test_gamma_discounts_the_one_reward(capsys: pytest.CaptureFixture[str]) -> None:
    assert solved(capsys, "figure-1", "--gamma", "0.5")["discounted"] == pytest.approx(0.5**9)


def test_one_policy_per_subtask_falls_short_in_the_corridor(capsys: pytest.CaptureFixture[str]) -> None:
    """One policy for coffee takes the same coffee twice: 2 + 6 + 6 + 7 = 21, against 20 with both."""
    found = solved(capsys, "corridor", "--one-policy-per-subtask")
    assert (found["length"], found["one_policy_per_subtask"]) == (20, 21)
    assert main(["solve", "corridor", "--one-policy-per-subtask"]) == 0
    out = capsys.readouterr().out
    assert "corridor: 20 steps" in out
    assert "order: coffee o1 coffee o2   (the only optimal order)" in out
    assert "with one policy per subtask: 21 steps" in out


def test_water_has_an_optimum_with_its_actions(capsys: pytest.CaptureFixture[str]) -> None:
    found = solved(capsys, "water-2")
    assert (found["length"], found["order"], len(found["actions"])) == (17, ["green", "red"], 17)
    assert main(["solve", "water-2"]) == 0
    out = capsys.readouterr().out
    assert "water-2: 17 steps\norder: green red\nactions: " in out
    assert "6,744,409 places and velocities and 3 machine states" in out


def test_a_continuous_world_has_a_reason_instead(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pole = tmp_path / "pole.toml"
    pole.write_text(
        'name = "pole"\n[world]\nkind = "gymnasium"\nid = "CartPole-v1"\nfeatures = { right = { index = 0, above = 1.0 } }\n'
        '[machine]\nphrase = "right"\n'
    )
    assert main(["solve", str(pole), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["length"] is None
    assert found["reason"]
    assert main(["solve", str(pole)]) == 1
    assert capsys.readouterr().out == f"pole: {found['reason']}\n"


def write(tmp_path: Path, rows: str, extra: str = "") -> str:
    path = tmp_path / "t.toml"
    path.write_text(f'name = "t"\n[world]\nkind = "grid"\nrows = [{rows}]\nlegend = {{ g = "g", x = "x" }}\n{extra}\n'
                    '[machine]\nphrase = "avoid(x, g)"\n')  # fmt: skip
    return str(path)


def test_a_task_that_nothing_solves_is_exit_code_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", write(tmp_path, '"Axg"')]) == 1
    assert capsys.readouterr().out.startswith("t: ")


def test_slipping_moves_have_an_expected_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one row a slip goes against a wall and stays: a step right succeeds with 0.8, so two cells take 2 / 0.8."""
    assert main(["solve", write(tmp_path, '"A.g", "##x"', "slip = 0.2")]) == 0
    assert capsys.readouterr().out.startswith("t: 2.5000 expected steps")


LAKE = """
name = "lake"

[world]
kind = "gymnasium"
id = "FrozenLake-v1"
features = { goal = [15] }
kwargs = { success_rate = 5.0 }

[machine]
phrase = "goal"
"""


def test_probabilities_that_cannot_be_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lake.toml").write_text(LAKE)
    assert main(["solve", str(tmp_path / "lake.toml")]) == 2
    said = capsys.readouterr().err
    assert "'FrozenLake-v1' publishes cannot be right: P[0][0] has probabilities of -2 to 5" in said
    assert len(said.strip().splitlines()) == 1


def test_forty_boxes_are_bounded_where_the_exact_optimum_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    task = load("delivery-40")
    places = dict(task.layout.places)  # type: ignore[union-attr]
    station, start = distances(task.layout, places["s"]), distances(task.layout, task.layout.start)  # type: ignore[union-attr, arg-type]
    cells = [places[f"b{i + 1}"] for i in range(40)]
    best = sum(2 * station[c] for c in cells) + min(start[c] - station[c] for c in cells)
    found = solved(capsys, "delivery-40")
    bounds = found["bounds"]
    assert isinstance(bounds, dict)
    assert found["length"] is None
    assert best / 2 < bounds["lower"] <= best <= bounds["upper"] < 1.1 * best
    assert (bounds["proved"], bounds["delta"]) == (False, None)
    assert main(["solve", "delivery-40"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"delivery-40: between {bounds['lower']} and {bounds['upper']} steps (")
    assert "no exact optimum: the exact optimum of 'delivery-40' needs" in out


def test_an_optimum_is_its_own_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    assert solved(capsys, "figure-1")["bounds"] == {"lower": 10, "upper": 10, "proved": True, "delta": None}


def test_a_success_after_the_limit_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, '"A....g", "....x."', "limit = 3")
    assert main(["solve", path, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["length"], found["success"], found["unlimited"], found["bounds"]) == (None, 0.0, 5, None)
    assert main(["solve", path]) == 1
    assert capsys.readouterr().out.startswith("t: the shortest successful episode takes 5 steps, more than the limit of 3\n")
