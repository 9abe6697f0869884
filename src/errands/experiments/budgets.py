"""Methods that are evaluated only when they end (DiRL): one complete run of every seed for each of some budgets."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from errands.experiments import team_store
from errands.experiments.continuous import TeamCell, task_of
from errands.experiments.team_store import Kept, Row
from errands.learners import make_learner

SHARES = (4, 2, 1)
"""Budgets as parts of the steps: a quarter, a half, all."""


def measure_budgets(cell: TeamCell, folder: Path, until: float) -> Kept:
    """Run seed after seed, budget after budget; the clock is looked at after each seed."""
    kept = team_store.read(folder, cell, arrays=True)
    done = [] if kept.arrays is None else kept.arrays["lengths"].tolist()
    began, before = time.monotonic(), kept.seconds
    for budget in sorted({max(1, cell.steps // share) for share in SHARES}):
        if budget <= kept.reached:
            continue
        for seed in range(len(done), cell.seeds):
            done.append(_length(cell, seed, budget))
            seconds = before + time.monotonic() - began
            if len(done) < cell.seeds and time.monotonic() > until:
                team_store.write_arrays(folder, cell, kept.reached, {"lengths": np.array(done, np.int64)})
                kept = replace(kept, step=kept.reached, seconds=seconds, arrays=None)
                team_store.write(folder, kept)
                return kept
        row: Row = {"task": cell.task, "run": cell.run, "preset": cell.preset, "map_seed": 0, "step": budget}
        row |= {"lengths": done, "orders": [""] * cell.seeds, "seconds": round(seconds, 1)}
        kept = Kept(cell, (*kept.rows, row), budget >= cell.steps, budget, seconds)
        done = []
        team_store.write_arrays(folder, cell, budget, {"lengths": np.zeros(0, np.int64)})
        team_store.write(folder, kept)
        if time.monotonic() > until:
            break
    return kept


def _length(cell: TeamCell, seed: int, budget: int) -> int:
    """The length of the greedy episode after a complete run; below zero where it fails."""
    learner = make_learner(task_of(cell.task), cell.method.learner, seed, None, cell.config, cell.preset)
    last = list(learner.train(budget))[-1]
    return last.episode_length if last.success else -last.episode_length
