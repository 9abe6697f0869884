"""Evidence: what was measured, looked up by task, method and preset, and the questions that claims ask of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from errands.analysis.curve import NEAR, Curve
from errands.analysis.growth import Growth, growth
from errands.analysis.statistics import spread
from errands.paper.measured import Measured

NEVER = float("inf")
Key = tuple[str, str, str]
"""Task, method, preset."""


@dataclass(frozen=True)
class Exact:
    """What the oracle knows about a task."""

    optimum: float
    one_policy: float | None
    """The best length with one policy per subtask; None where no such policy succeeds."""


@dataclass(frozen=True)
class Evidence:
    """Everything that claims are judged by."""

    curves: Mapping[Key, Curve]
    seconds: Mapping[Key, float]
    """Seconds per million training steps: the median, for teams the least."""
    exact: Mapping[str, Exact]

    def curve(self, task: str, method: str, preset: str) -> Curve | None:
        """The curve of a method; None where it was not run."""
        return self.curves.get((task, method, preset))

    def shortest(self, task: str) -> float:
        """The shortest length of any method on a task; infinite where none succeeded."""
        return min((float(c.lengths.min()) for key, c in self.curves.items() if key[0] == task), default=NEVER)

    def settled(self, task: str, method: str, preset: str, tolerance: float = NEAR) -> float | None:
        """The step from which the median curve stays near the optimum; None where the method was not run."""
        curve = self.curve(task, method, preset)
        return None if curve is None or curve.optimum is None else curve.settled(tolerance, curve.optimum)

    def final(self, task: str, method: str, preset: str) -> float | None:
        """The median of the final lengths, infinite when half of the seeds fail; None where it was not run."""
        curve = self.curve(task, method, preset)
        return None if curve is None else float(spread(curve.final).median)

    def near(self, task: str, method: str, preset: str) -> float | None:
        """The median over seeds of the first step within 10 % of the optimum; None where it was not run."""
        curve = self.curve(task, method, preset)
        return None if curve is None or curve.optimum is None else spread(curve.first(NEAR, curve.optimum)).median

    def growth(self, family: str, method: str, preset: str) -> tuple[Growth, tuple[int, ...]] | None:
        """How the runtime of a method grows over a family of tasks; None with fewer than four sizes."""
        found = sorted(
            (int(task.rsplit("-", 1)[1]), seconds)
            for (task, name, chosen), seconds in self.seconds.items()
            if task.startswith(f"{family}-") and name == method and chosen == preset
        )
        if len(found) < 4:
            return None
        sizes, seconds = zip(*found, strict=True)
        return growth(sizes, seconds), sizes


def evidence_of(measured: Iterable[Measured], exact: Mapping[str, Exact]) -> Evidence:
    """The evidence of measured cells; what ended in an error gives none."""
    good = {(m.cell.task, m.cell.method.name, m.cell.preset): m for m in measured if m.seeds}
    seconds = {key: float(np.median(m.per_million)) for key, m in good.items()}
    return Evidence({key: m.curve for key, m in good.items()}, seconds, exact)


def steps(value: float | None) -> str:
    """A number of steps in words."""
    if value is None:
        return "not run"
    return "never" if value == NEVER else f"{value:,.0f}"
