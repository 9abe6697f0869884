"""DiRL on the continuous domains: it is evaluated only when it ends, so a curve is a complete run for each of some budgets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from errands.paper import team_store
from errands.paper.continuous import TeamCell, task_of
from errands.paper.team_store import Arrays, Kept, Row

if TYPE_CHECKING:
    from errands.learners.dirl.deep import DeepDiRL

SHARES = (4, 2, 1)
"""Budgets as parts of the steps: a quarter, a half, all."""


@dataclass(frozen=True)
class _Search:
    """One seed with one budget."""

    budget: int
    seed: int
    learner: DeepDiRL

    @property
    def ended(self) -> bool:
        """Whether its search is at its end."""
        return not self.learner.jobs(self.budget)


def measure_budgets(cell: TeamCell, folder: Path, until: float) -> Kept:
    """Run the searches of all seeds and budgets side by side, an edge in each lane, until a moment of the monotonic clock."""
    from errands.learners.dirl.deep import train_many

    began = time.monotonic()
    kept = team_store.read(folder, cell, arrays=True)
    searches = _searches(cell, kept.arrays)
    rest = [search for search in searches if not search.ended]
    if rest:
        stop = time.perf_counter() + until - began
        train_many([s.learner for s in rest], [s.budget for s in rest], len(searches), stop)
    seconds = kept.seconds + time.monotonic() - began
    done = sum(search.learner.step for search in searches) / sum(search.budget for search in searches)
    ended = all(search.ended for search in searches)
    rows = tuple(_row(cell, budget, searches, seconds) for budget in _budgets(cell) if _complete(searches, budget))
    step = cell.steps if ended else min(int(done * cell.steps), cell.steps - 1)
    if not ended:
        arrays = {f"{i}.{name}": x for i, s in enumerate(searches) for name, x in s.learner.save().items()}
        team_store.write_arrays(folder, cell, step, arrays)
    found = Kept(cell, rows, ended, step, seconds)
    team_store.write(folder, found)
    return found


def _budgets(cell: TeamCell) -> list[int]:
    return sorted({max(1, cell.steps // share) for share in SHARES})


def _searches(cell: TeamCell, arrays: Arrays | None) -> list[_Search]:
    """Every seed with every budget, continued from `arrays` where there are any."""
    from errands.learners.dirl.config import DeepDiRLConfig
    from errands.learners.dirl.deep import DeepDiRL

    config = cell.config
    assert isinstance(config, DeepDiRLConfig)  # noqa: S101 (the preset of DiRL)
    pairs = [(budget, seed) for budget in _budgets(cell) for seed in range(cell.seeds)]
    searches = [_Search(budget, seed, DeepDiRL(task_of(cell.task), config, seed)) for budget, seed in pairs]
    for i, search in enumerate(searches):
        mine = {name.split(".", 1)[1]: x for name, x in (arrays or {}).items() if name.startswith(f"{i}.")}
        if mine:
            search.learner.restore(mine)
    return searches


def _complete(searches: list[_Search], budget: int) -> bool:
    return all(search.ended for search in searches if search.budget == budget)


def _row(cell: TeamCell, budget: int, searches: list[_Search], seconds: float) -> Row:
    """The greedy episodes of all seeds after complete runs within a budget."""
    learners = [search.learner for search in searches if search.budget == budget]
    evaluations = [learner.evaluate() for learner in learners]
    return {
        "task": cell.task,
        "run": cell.run,
        "preset": cell.preset,
        "map_seed": 0,
        "step": budget,
        "lengths": [e.episode_length if e.success else -e.episode_length for e in evaluations],
        "orders": ["".join(name[0] for name in learner.order) for learner in learners],
        "seconds": round(seconds, 1),
    }
