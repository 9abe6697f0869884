"""Worlds in one row or a few, and knowledge of all of their steps, for the tests of Scout's planners."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from errands.learners.scout.kernel.memory import Known, observe
from errands.learners.scout.machine import Lowering
from errands.learners.scout.tabular import new_known
from errands.tasks import Task


@pytest.fixture
def drawn() -> Callable[..., Task]:
    """Tasks from rows and a phrase; every letter but A is a feature of its own name."""

    def make(rows: list[str], phrase: str) -> Task:
        letters = dict.fromkeys(c for row in rows for c in row if c not in ".A#")
        legend = ", ".join(f'{c} = "{c}"' for c in letters)
        shown = ", ".join(f'"{row}"' for row in rows)
        world = f'[world]\nkind = "grid"\nrows = [{shown}]\nlegend = {{ {legend} }}'
        return Task.from_toml(f'name = "t"\n{world}\n[machine]\nphrase = "{phrase}"\n')

    return make


@pytest.fixture
def tried() -> Callable[..., tuple[Known, Lowering]]:
    """What is known of a task's world when all pairs were tried once, except some."""

    def make(task: Task, without: tuple[tuple[int, int], ...] = ()) -> tuple[Known, Lowering]:
        assert task.finite is not None
        table = task.finite.table
        known = new_known(task.finite.states, task.finite.actions, 1)
        start = int(table.starts[0])
        known.cell_label[start] = table.start_label[0]
        known.started[start] = 1
        for s, a in np.ndindex(table.next.shape[:2]):
            if (s, a) not in without:
                observe(known, s, a, int(table.next[s, a, 0]), int(table.label[s, a, 0]), bool(table.ends[s, a, 0]))
        return known, Lowering(task.machine, task.finite.labels, ())

    return make
