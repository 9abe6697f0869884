"""The pace of a team: seconds per million steps once everything is compiled, and what a reproduction will take."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from errands.paper.continuous import CHUNK, TeamCell
from errands.paper.paper import Method
from errands.paper.team_store import Kept, Row
from errands.paper.teams import team_for

if TYPE_CHECKING:
    from errands.learners.deep.team import Team

REPEATS = 3
SHORTEST = 0.2
"""Seconds that a repeat lasts at least, so that clocks and a busy machine do not decide."""
RELATIVE: Mapping[str, float] = {
    "qrm": 0.8, "crm": 0.8, "qcorm-0": 0.95, "qcorm": 1.0, "qcorm-plus": 1.4, "hrm": 1.6, "dirl": 2.0,
}  # fmt: skip
"""A step of each learner with heads beside one of QCoRM, as measured on an H200 and on two cores."""


def pace(cell: TeamCell) -> Row:
    """Microseconds per step of all seeds together: the least of three repeats, compilation left out."""
    import jax

    began = time.perf_counter()
    team = team_for(cell)
    # On a GPU the loop over a whole chunk is compiled apart and is faster; a CPU would spend minutes on one.
    stretch = CHUNK if jax.devices()[0].platform != "cpu" else CHUNK // 10
    _advance(team, stretch)
    ready, times = time.perf_counter() - began, []
    for _ in range(REPEATS):
        began, done = time.perf_counter(), 0
        while done == 0 or time.perf_counter() - began < SHORTEST:
            _advance(team, stretch)
            done += stretch
        times.append(round((time.perf_counter() - began) / done * 1e6, 1))
    told = {"task": cell.task, "run": cell.run, "seeds": cell.seeds, "us_per_step": min(times), "all": times}
    return told | {"ready_s": round(ready, 1), "device": jax.devices()[0].device_kind}


def _advance(team: Team, count: int) -> None:
    team.advance(count)
    int(team.state.step)  # waits until the device is done


@dataclass(frozen=True)
class Forecast:
    """The expected seconds of cells, from a warm-up of QCoRM on each domain and the learners' relative costs."""

    seconds: float
    by: tuple[str, ...]
    """What was warmed up."""

    @property
    def words(self) -> str:
        """One line."""
        how = f"reckoned from a warm-up of {' and '.join(self.by)}" if self.by else "nothing is left to measure"
        return f"about {self.seconds / 60:.1f} minutes ({how})"


def forecast(kept: Sequence[Kept]) -> Forecast:
    """What is left to measure of some cells will probably take so long."""
    rest = [k for k in kept if not k.ended]
    seconds, by = 0.0, list[str]()
    for family in dict.fromkeys(k.cell.task.split("-")[0] for k in rest):
        mine = [k for k in rest if k.cell.task.startswith(family)]
        model = replace(mine[0].cell, method=Method("qcorm"), preset="tuned", network="heads", timed=True)
        row = pace(model)
        seconds += sum(_seconds(k, row["us_per_step"], row["ready_s"]) for k in mine)
        by.append(f"qcorm on {model.task}")
    return Forecast(seconds, tuple(by))


def _seconds(kept: Kept, each: float, ready: float) -> float:
    cell = kept.cell
    cost = each * 1e-6 * RELATIVE[cell.method.learner]
    if cell.timed:
        steps = (REPEATS + 1) * max(CHUNK // 10, SHORTEST / cost)
        return 1.5 * ready + steps * cost * (4 if cell.network == "one-hot" else 1)
    return 1.5 * ready + (cell.steps - kept.step) * cost
