"""What the tests of experiments share: all bytes of a sweep that must be equal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from errands.runs.checkpoint import steps
from errands.runs.folder import SweepFolder


def _kept(sweep: SweepFolder) -> dict[str, object]:
    found: dict[str, object] = {}
    for cell, result in sweep.results():
        place: Path = sweep.cell(cell) / f"seed-{result.seed}"
        last = [(place / f"checkpoint-{step}.safetensors").read_bytes() for step in steps(place)[:1]]
        table = (place / "evaluations.csv").read_bytes() if result.error is None else b""
        clocks = {"wall_seconds", "training_seconds"}
        found[f"{cell.folder}/{result.seed}"] = (table, last, result.model_dump(exclude=clocks))
    return found


@pytest.fixture
def kept() -> Callable[[SweepFolder], dict[str, object]]:
    """By seed folder: the table, the last arrays, the result without its clock."""
    return _kept
