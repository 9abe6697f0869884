"""Cells of the continuous domains measured: all seeds of a method side by side, in sittings that a clock may end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errands.errors import ErrandsError
from errands.paper import team_store
from errands.paper.continuous import CHUNK, TeamCell, task_of
from errands.paper.team_store import Kept, Row

if TYPE_CHECKING:
    from errands.learners.deep.team import Team

REST = 60.0
"""Seconds between two checkpoints; longer where writing one takes more than a twentieth of that."""
FOREVER = float("inf")
Told = Callable[[str], None]


def measure_teams(cells: Sequence[TeamCell], folder: Path, told: Told, seconds: float = FOREVER) -> list[Kept]:
    """Measure cells one after the other; within `seconds` every cell that is left gets an equal part of the rest."""
    _remember_programs(folder)
    until = time.monotonic() + seconds
    found = {cell: team_store.read(folder, cell) for cell in cells}
    rest = [cell for cell in cells if not found[cell].ended]
    for count, cell in enumerate(rest):
        left = until - time.monotonic()
        if left <= 0:
            break
        part = time.monotonic() + left / (len(rest) - count)
        found[cell] = measure_team(cell, folder, part)
        told(f"[{count + 1}/{len(rest)}] {cell.name}: {said(found[cell])}")
    return [found[cell] for cell in cells]


def _remember_programs(folder: Path) -> None:
    """On a GPU, where compiling takes as long as thousands of steps, keep compiled programs for the next sitting."""
    import jax

    if jax.devices()[0].platform != "cpu" and "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        kept = str(folder.resolve() / "compiled")
        jax.config.update("jax_compilation_cache_dir", kept)  # type: ignore[no-untyped-call]


def measure_team(cell: TeamCell, folder: Path, until: float = FOREVER) -> Kept:
    """Measure one cell from where it was left until it is done or a moment of the monotonic clock has passed."""
    try:
        if cell.timed:
            from errands.paper.pace import pace

            kept = Kept(cell, (pace(cell),), True)
            team_store.write(folder, kept)
            return kept
        if cell.method.learner == "dirl":
            from errands.paper.budgets import measure_budgets

            return measure_budgets(cell, folder, until)
        return _Sitting(cell, folder).until(until)
    except (ErrandsError, MemoryError, _device_fault()) as fault:
        first = f"{fault}".partition("\n")[0]
        return replace(team_store.read(folder, cell), error=first or type(fault).__name__)


def _device_fault() -> type[Exception]:
    """What JAX raises when a device has no memory left."""
    import jax

    fault: type[Exception] = jax.errors.JaxRuntimeError
    return fault


def team_for(cell: TeamCell) -> Team:
    """The untrained team of a cell."""
    from errands.learners.deep.team import team_of

    kind: Any = cell.method.machine or "agenda"
    return team_of(task_of(cell.task), cell.method.learner, cell.config, range(cell.seeds), kind)


class _Sitting:
    """A cell under way."""

    def __init__(self, cell: TeamCell, folder: Path) -> None:
        self.cell, self.folder, self.began = cell, folder, time.monotonic()
        self.kept = team_store.read(folder, cell, arrays=True)
        self.team = team_for(cell)
        if self.kept.arrays is not None:
            self.team.restore(self.kept.arrays)
        self.before, self.rest = self.kept.seconds, REST
        self.kept = replace(self.kept, arrays=None)

    def until(self, until: float) -> Kept:
        """Train and evaluate; every stretch ends in a look at the clock."""
        saved, steps, every = time.monotonic(), self.cell.steps, self.cell.every
        while (step := self.team.step) < steps:
            stop = min(steps, (step // every + 1) * every, (step // CHUNK + 1) * CHUNK)
            self.team.advance(stop - step)
            if self.team.step % every == 0 or self.team.step == steps:
                self._evaluate()
            now = time.monotonic()
            if self.team.step < steps and (now > until or now - saved > self.rest):
                self._save()
                saved = time.monotonic()
                self.rest = max(REST, 20 * (saved - now))
            if now > until:
                break
        return self.kept

    def _evaluate(self) -> None:
        evaluations = self.team.evaluate()
        row: Row = {
            "task": self.cell.task,
            "run": self.cell.run,
            "preset": self.cell.preset,
            "map_seed": 0,
            "step": evaluations[0].step,
            "lengths": [e.episode_length if e.success else -e.episode_length for e in evaluations],
            "orders": ["".join(name[0] for name in order) for order in self.team.orders],
            "seconds": round(self._seconds(), 1),
        }
        ended = self.team.step >= self.cell.steps
        self.kept = replace(self.kept, rows=(*self.kept.rows, row), ended=ended)
        team_store.write(self.folder, self.kept)

    def _save(self) -> None:
        team_store.write_arrays(self.folder, self.cell, self.team.step, self.team.save())
        self.kept = replace(self.kept, step=self.team.step, seconds=self._seconds())
        team_store.write(self.folder, self.kept)

    def _seconds(self) -> float:
        return self.before + time.monotonic() - self.began


def said(kept: Kept) -> str:
    """Where a cell stands, in words."""
    if kept.error:
        return kept.error
    if kept.cell.timed and kept.rows:
        return f"{kept.rows[-1]['us_per_step']:,.0f} seconds per million steps of {kept.cell.seeds} seeds"
    if not kept.rows:
        return f"step {kept.step:,} of {kept.cell.steps:,}"
    lengths = kept.rows[-1]["lengths"]
    good = sorted(n for n in lengths if n > 0)
    middle = f", middle length {good[len(good) // 2]}" if good else ""
    return f"step {kept.reached:,} of {kept.cell.steps:,}, {len(good)} of {len(lengths)} succeed{middle}"
