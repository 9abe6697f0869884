"""Rows of teams as curves and paces: what claims are judged by and figures are drawn from, wherever it was measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from errands.analysis.curve import APART, Curve, curve_of
from errands.errors import StoreError
from errands.paper.continuous import METHODS
from errands.paper.evidence import Evidence, Key
from errands.tables import Evaluation

Row = Mapping[str, Any]
NAMES = {method.learner: method.name for method in METHODS}
WINDOW = 3
"""Evaluations whose median stands for one: single greedy episodes of networks in training jump."""
OTHER_WINDOWS = (1, 5)
"""Verdicts that would be others with these are named in the report."""


@dataclass(frozen=True)
class Collected:
    """Curves by task, method and preset, and seconds per million steps by task, method and network, repeats one by one."""

    curves: Mapping[Key, Curve]
    paces: Mapping[Key, tuple[float, ...]]

    def evidence(self, window: int = WINDOW) -> Evidence:
        """What claims are judged by: curves steadied over a few evaluations, and the best paces: a busy machine only slows down."""
        seconds = {key: min(some) for key, some in self.paces.items()}
        return Evidence({key: steadied(curve, window) for key, curve in self.curves.items()}, seconds, {})


def collected(rows: Iterable[Row]) -> Collected:
    """Evaluations and paces of any number of runs; of two rows for one step, or of two paces, the later one counts."""
    steps: dict[Key, dict[int, list[int]]] = {}
    paces: dict[Key, tuple[float, ...]] = {}
    for row in rows:
        task = row["task"] if not row.get("map_seed") else f"{row['task']}, map {row['map_seed']}"
        learner, _, variant = row["run"].partition("/")
        if "us_per_step" in row:
            # us_per_step is the least of the repeats in `all`: where they are listed, it must not count twice.
            repeats = row.get("all") or [row["us_per_step"]]
            paces[task, NAMES.get(learner, learner), variant or "heads"] = tuple(map(float, repeats))
        else:
            name = NAMES.get(learner, learner) + (f" {variant}" if variant else "")
            steps.setdefault((task, name, row["preset"]), {})[row["step"]] = row["lengths"]
    curves = {key: _curve(key, found) for key, found in steps.items()}
    return Collected(curves, paces)


def _curve(key: Key, found: Mapping[int, list[int]]) -> Curve:
    task, name, _ = key
    ordered = sorted(found.items())
    count = min(len(lengths) for _, lengths in ordered)
    seeds = [[Evaluation(at, abs(n[i]), float(n[i] > 0), n[i] > 0) for at, n in ordered] for i in range(count)]
    return curve_of(name, task, seeds, apart=name in APART)


def steadied(curve: Curve, window: int = WINDOW) -> Curve:
    """The curve with every value replaced by the median of a seed's last few, as many as there are."""
    if curve.apart:
        return curve
    ends = range(1, len(curve.steps) + 1)
    columns = [np.sort(curve.lengths[:, max(0, end - window) : end], axis=1) for end in ends]
    # The upper median of an even number: half of the evaluations failing is a failure.
    lengths = np.stack([column[:, column.shape[1] // 2] for column in columns], axis=1)
    return replace(curve, lengths=lengths)


def read_rows(path: Path) -> list[Row]:
    """The rows of a file with one JSON object per line."""
    rows = list[Row]()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            rows.append({**row, "task": str(row["task"]), "run": str(row["run"])})
        except (ValueError, KeyError, TypeError):
            raise StoreError(f"line {number} of {path} is not a row with a task and a run; remove it") from None
    return rows
