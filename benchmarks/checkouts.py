"""Measurements of this checkout and of an older one, in turns: on a busy machine only what ran side by side compares."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
Least = dict[str, dict[Path, float]]
"""The least of each figure that was seen, by checkout."""


def in_turns(command: list[str], checkouts: list[Path], rounds: int) -> Least:
    """The least figures that a command of this folder prints as JSON, run with the sources of one checkout after the other."""
    least: Least = {}
    for _ in range(rounds):
        for checkout in checkouts:
            environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
            done = subprocess.run(
                [sys.executable, *command], env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            for name, figure in json.loads(done.stdout.splitlines()[-1]).items():
                row = least.setdefault(name, {})
                row[checkout] = min(figure, row.get(checkout, figure))
    return least


def show(least: Least, checkouts: list[Path], unit: str) -> float:
    """Print a line for each figure, the last column against the first; returns the greatest ratio."""
    worst = 0.0
    for name, row in least.items():
        figures = [row[checkout] for checkout in checkouts if checkout in row]
        ratio = figures[-1] / figures[0]
        worst = max(worst, ratio)
        compared = f" ({ratio:.3f} of it)" if len(checkouts) > 1 else ""
        print(f"{name:40}", " -> ".join(f"{figure:8,.1f}" for figure in figures), unit + compared, flush=True)
    return worst


def checkouts(base: str | None) -> list[Path]:
    """The older checkout, if one is given, and this one."""
    return [*([Path(base).resolve()] if base else []), HERE]
