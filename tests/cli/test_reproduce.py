import json

import pytest

from errands.cli import main

SMALL = ["reproduce", "delivery-2", "--seeds", "1", "--steps", "1000", "--jobs", "1", "--quiet", "--json"]


@pytest.fixture
def document(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(SMALL) == 0
    return json.loads(capsys.readouterr().out)


def test_one_command_measures_judges_and_writes_the_page(document, tmp_path, capsys):
    page = (tmp_path / "reproduction-quick" / "report.html").read_text()
    assert document["claims"]["global-optimality"] == "refuted"
    assert document["claims"]["qcorm-linear"] == "not run"
    assert "<svg" in page
    assert "errands reproduce delivery-2 --seeds 1 --steps 1000" in page
    files = {p.name for p in (tmp_path / "reproduction-quick").iterdir()}
    assert {"claims.json", "claims.md", "summary.csv", "runtimes.csv", "README.md", "delivery-2-paper.svg"} <= files
    main([*SMALL, "--dry-run"])
    assert json.loads(capsys.readouterr().out)["forecast_seconds"] == 0


def test_an_unknown_figure_is_told_in_one_sentence(capsys):
    assert main(["reproduce", "figure-9"]) == 2
    assert "no figure is called 'figure-9'" in capsys.readouterr().err
