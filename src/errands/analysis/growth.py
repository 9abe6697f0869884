"""How a runtime grows with the number of subtasks n: a + b n or a + b g^n, whichever fits better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from errands.tables import Floats


@dataclass(frozen=True)
class Growth:
    """The better of two laws for seconds t(n): a + b n, and a + b g^n with g > 1."""

    kind: str
    """linear or exponential."""
    factor: float
    """g of the exponential law that fits best: how much the growing part is multiplied by with each subtask."""
    ratio: float
    """t at the largest n over t at the smallest."""
    linear_error: float
    """Root mean square of the relative errors."""
    exponential_error: float

    @property
    def words(self) -> str:
        """The growth in words."""
        law = "linear" if self.kind == "linear" else f"exponential, factor {self.factor:.2f} per subtask"
        return f"{law}; {self.ratio:.1f} times as long from the smallest to the largest task"


BASES = np.exp(np.linspace(np.log(1.2), np.log(20.0), 200))
"""Bases below 1.2 cannot be told from a line over so few sizes."""


def growth(sizes: Sequence[int], seconds: Sequence[float]) -> Growth:
    """The law that fits measured times; the exponential one, which has a parameter more, must halve the error.

    Times that grow no more than in proportion to n are never called exponential: a line can always do that.
    """
    n, t = np.asarray(sizes, np.float64), np.asarray(seconds, np.float64)
    line = _error(n, t)
    errors = [_error(base**n, t) for base in BASES]
    best = int(np.argmin(errors))
    steep = t[-1] / t[0] > n[-1] / n[0]
    kind = "exponential" if steep and errors[best] < 0.5 * line else "linear"
    return Growth(kind, float(BASES[best]), float(t[-1] / t[0]), line, errors[best])


def _error(basis: Floats, t: Floats) -> float:
    """The relative error of t = a + b * basis with a and b at least 0, by least squares."""
    candidates = []
    for columns in ([np.ones_like(t), basis], [basis], [np.ones_like(t)]):
        design = np.stack(columns, axis=1) / t[:, None]
        solution, *_ = np.linalg.lstsq(design, np.ones_like(t), rcond=None)
        if (solution >= 0).all():
            candidates.append(float(np.sqrt(np.mean((design @ solution - 1.0) ** 2))))
    return min(candidates, default=float("inf"))
