"""Sweeps in sittings: a clock ends each, and all of them together give what one long sweep gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from errands.cli import main

PLAN = ["--task", "figure-1,corridor", "--learner", "crm", "--seeds", "2", "--steps", "30000", "--jobs", "1", "--quiet", "--json"]


def rows(text: str) -> list[dict[str, object]]:
    clocks = ("wall_seconds", "training_seconds")
    return [{k: v for k, v in row.items() if k not in clocks} for row in json.loads(text)["runs"]]


def test_sittings_give_what_one_sweep_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *PLAN, "--name", "whole"]) == 0
    whole = rows(capsys.readouterr().out)
    assert main(["sweep", *PLAN, "--name", "parts", "--seconds", "0.001"]) == 0
    first = rows(capsys.readouterr().out)
    assert len(first) < len(whole) == 4
    assert main(["resume", "parts", "--seconds", "600", "--quiet", "--json", "--jobs", "1"]) == 0
    assert rows(capsys.readouterr().out) == whole
    tables = [p.read_bytes() for name in ("whole", "parts") for p in sorted(Path(f"runs/{name}").rglob("evaluations.csv"))]
    assert tables[:4] == tables[4:]


def test_a_run_is_not_ended_by_a_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "figure-1", "crm", "--steps", "1000", "--name", "one", "--quiet"]) == 0
    assert main(["resume", "one", "--seconds", "5"]) == 2
    assert "--seconds is for sweeps" in capsys.readouterr().err
