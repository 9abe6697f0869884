"""`errands demo`: Figure 1 end to end; what it shows was counted on paper."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from errands.cli import main


def test_the_demo_learns_proves_and_writes_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--quiet", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    document = json.loads(out)
    assert document["machines"] == {"numeric": 3, "boolean": 9, "agenda": 7, "coupled": 8}
    assert (document["length"], document["optimum"], document["order"]) == (10, 10, ["b2", "s", "b1", "s"])
    assert document["scout"].startswith("10 steps, proved optimal after ")
    exact = {label: pair["exact"] for label, pair in document["steps_to_go"].items()}
    assert exact["0{b1,b2}b2"] == 10
    assert exact["0{b1,b2}b1"] == 12
    assert exact["2{b1}b1"] == 2
    assert exact["3{}s"] == 1
    page = tmp_path / "errands-demo.html"
    assert document["page"] == str(page.relative_to(tmp_path))
    assert "<html" in page.read_text(encoding="utf-8")[:200].lower()
