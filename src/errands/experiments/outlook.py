"""The outlook of a sweep before it starts: runs, time and memory, cell by cell."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errands.errors import ErrandsError
from errands.experiments.predict import Cost, cost, memory
from errands.experiments.progress import clock
from errands.experiments.sweep import document_of, task_of, unfinished
from errands.results.sweep_folder import CellDocument, SweepFolder

CALIBRATION = 5.0
"""Seconds after which no more cells are measured; the others are taken to cost as much as their like."""
SHOWN = 40
Waiting = Sequence[tuple[CellDocument, list[int]]]


@dataclass(frozen=True)
class Outlook:
    """What is left to do and what it will cost."""

    waiting: Waiting
    costs: Mapping[str, Cost]
    """By the folder of a cell: the cost of one of its seeds."""
    workers: int
    """How many seeds are trained at the same time: fewer than asked for when memory would not hold them."""

    @property
    def runs(self) -> int:
        """How many seeds are left."""
        return sum(len(seeds) for _, seeds in self.waiting)

    @property
    def seconds(self) -> float:
        """The expected time."""
        each = [(self.costs[cell.folder].seconds, len(seeds)) for cell, seeds in self.waiting]
        work = sum(seconds * count for seconds, count in each)
        return max([work / max(1, min(self.workers, self.runs)), *(seconds for seconds, _ in each)])

    @property
    def bytes(self) -> int:
        """The expected memory of tables, when the largest are trained at the same time."""
        return _largest(self.waiting, self.costs, self.workers)

    def document(self) -> dict[str, Any]:
        """For --json."""
        return {"runs": self.runs, "seconds": round(self.seconds, 1), "bytes": self.bytes, "workers": self.workers}

    def words(self) -> str:
        """One line."""
        tables = f"{self.bytes / 1e6:,.0f} MB of tables"
        return f"{self.runs:,} runs on {self.workers} processes: about {clock(self.seconds)}, {tables}"

    def table(self) -> Any:
        """Cell by cell, the first ones of a long plan."""
        from rich.table import Table

        table = Table(title=self.words(), title_justify="left")
        for name in ("task", "learner", "runs", "seconds a run", "MB"):
            table.add_column(name, justify="left" if name in ("task", "learner") else "right")
        for cell, seeds in self.waiting[:SHOWN]:
            each = self.costs[cell.folder]
            about = "" if each.measured else "~"
            learner = " ".join(filter(None, (cell.learner, cell.machine, cell.preset, *cell.settings)))
            table.add_row(cell.task, learner, str(len(seeds)), f"{about}{each.seconds:.2f}", f"{each.bytes / 1e6:,.1f}")
        if len(self.waiting) > SHOWN:
            table.add_row(f"and {len(self.waiting) - SHOWN:,} more")
        return table


def look_ahead(sweep: SweepFolder, workers: int) -> Outlook:
    """What is left of a sweep and what it will cost on so many processes."""
    waiting = list(unfinished(sweep))
    each = _costs(sweep, waiting)
    while workers > 1 and _largest(waiting, each, workers) > 0.8 * memory():
        workers -= 1
    return Outlook(waiting, each, workers)


def _costs(sweep: SweepFolder, waiting: Waiting) -> dict[str, Cost]:
    """Measured while there is time, else the mean of those with the same learner and machine."""
    found: dict[str, Cost] = {}
    alike: dict[tuple[str, str | None], list[Cost]] = {}
    began = time.perf_counter()
    for cell, _ in waiting:
        if time.perf_counter() - began > CALIBRATION:
            break
        try:
            task = task_of(sweep, cell)
            found[cell.folder] = cost(document_of(sweep, cell, task), task)
        except ErrandsError:
            found[cell.folder] = Cost(0.0, 0, False)  # its fault is recorded when its turn comes
        alike.setdefault((cell.learner, cell.machine), []).append(found[cell.folder])
    for cell, _ in waiting:
        if cell.folder not in found:
            everything = [each for some in alike.values() for each in some]
            found[cell.folder] = _mean(alike.get((cell.learner, cell.machine)) or everything)
    return found


def _mean(some: Sequence[Cost]) -> Cost:
    return Cost(sum(c.seconds for c in some) / len(some), max(c.bytes for c in some), False)


def _largest(waiting: Waiting, costs: Mapping[str, Cost], workers: int) -> int:
    sizes = (costs[cell.folder].bytes for cell, seeds in waiting for _ in range(min(len(seeds), workers)))
    return sum(sorted(sizes, reverse=True)[:workers])
