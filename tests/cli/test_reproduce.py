import json

import pytest

from errands.cli import main
from errands.paper import panels
from errands.paper.panels import PanelMethod

SMALL = ["reproduce", "delivery-2", "--seeds", "1", "--steps", "1000", "--jobs", "1", "--quiet", "--json"]
WATER = ["reproduce", "water-2", "--seeds", "2", "--steps", "40", "--width", "8", "--jobs", "1", "--json"]


@pytest.fixture
def document(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(panels, "TABULAR", (PanelMethod("qcorm"), PanelMethod("crm", "agenda"), PanelMethod("dirl")))
    assert main(SMALL) == 0
    return json.loads(capsys.readouterr().out)


def test_one_command_measures_judges_and_writes_the_page(document, tmp_path, capsys):
    folder = tmp_path / "reproduction-quick"
    page = (folder / "README.md").read_text()
    assert document["claims"]["global-optimality"] == "refuted"
    assert document["claims"]["qcorm-linear"] == "not run"
    assert "](delivery-2-paper.svg)" in page
    assert "errands reproduce delivery-2 --seeds 1 --steps 1000" in page
    files = {p.name for p in folder.iterdir()}
    assert {"claims.json", "claims.md", "summary.csv", "runtimes.csv", "README.md", "delivery-2-paper.svg"} <= files
    main([*SMALL, "--dry-run"])
    assert json.loads(capsys.readouterr().out)["forecast_seconds"] == 0
    # What was judged comes first, on the page and in the terminal, where the rest is one line.
    verdicts = list(document["claims"].values())
    rest = verdicts.count("not run")
    assert 0 < rest < len(verdicts)
    assert verdicts[-rest:] == ["not run"] * rest
    main([word for word in SMALL if word != "--json"])
    told = capsys.readouterr().out.splitlines()
    (line,) = [line for line in told if line.startswith("not run")]
    assert line.split(maxsplit=2)[2] == f"{rest} about what these runs do not show"
    assert len(told) == len(verdicts) - rest + 2
    # The folder is a sweep like any other.
    assert main(["compare", str(folder), "--json"]) == 0
    assert {row["name"].split()[0] for row in json.loads(capsys.readouterr().out)["runs"]} == {"qcorm", "crm", "dirl"}
    assert main(["verify", str(next(folder.glob("*-crm-agenda-tuned"))), "--json"]) == 0


@pytest.fixture
def one_method(tmp_path, monkeypatch):
    """The cheapest of the methods alone, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(panels, "DEEP", (PanelMethod("qrm", "agenda"),))
    return tmp_path / "reproduction-quick"


def test_a_dry_run_says_how_long_water_would_take_and_writes_nothing(one_method, capsys):
    assert main([*WATER, "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["cells"] == 2
    assert json.loads(out)["forecast_seconds"] > 0
    assert "about" in err
    assert not one_method.exists()


def test_water_is_measured_in_sittings_and_judged_from_what_is_there(one_method, capsys):
    assert main([*WATER, "--seconds", "0.001"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert set(first["claims"].values()) == {"not run"}
    assert "Not at the end yet" in (one_method / "README.md").read_text()
    assert main(WATER) == 0
    assert json.loads(capsys.readouterr().out)["claims"].keys() == first["claims"].keys()
    text = (one_method / "README.md").read_text()
    assert "Not at the end yet" not in text
    assert "| water-2 | qrm agenda | paper | 2 | 40 |" in text
    assert (one_method / "water-2-tuned.svg").is_file()


def test_an_unknown_figure_is_told_in_one_sentence(capsys):
    assert main(["reproduce", "figure-9"]) == 2
    assert "no figure is called 'figure-9'" in capsys.readouterr().err
    assert main(["reproduce", "water-9"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_amounts_that_cannot_be_are_refused(capsys):
    assert main(["reproduce", "water", "--seconds", "0"]) == 2
    assert "--seconds is 0; give a time above 0" in capsys.readouterr().err
    assert main(["reproduce", "water", "--seeds", "0"]) == 2
