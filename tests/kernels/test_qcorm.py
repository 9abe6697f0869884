"""The list of objectives that are open now: each stands in it once, in the order in which it was met."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from errands.learners.qcorm import kernel as qcorm

enlist: Any = getattr(qcorm.enlist, "py_func", qcorm.enlist)


def listed(*met: int) -> list[int]:
    """The list after these objectives were met one after the other."""
    values, count = SimpleNamespace(open=np.full(len(met), -1, np.int32)), 0
    for k in met:
        count = enlist(values, k, count)
    return values.open[:count].tolist()


def test_an_objective_that_is_open_in_two_ways_is_listed_once():
    assert listed(3, 1, 3, 3, 2, 1) == [3, 1, 2]
    assert listed() == []
