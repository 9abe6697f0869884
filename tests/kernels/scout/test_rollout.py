"""Rehearsing a list of actions: the optimal walk of Figure 1 pays 1, and what runs out goes on with action 0."""

from __future__ import annotations

import numpy as np
import pytest

from errands.learners.scout.kernel.memory import rehearse
from errands.learners.scout.machine import Lowering
from errands.tasks import Task, load

UP, RIGHT, DOWN, LEFT = range(4)


def rehearsed(task: Task, actions: list[int], limit: int = 30) -> tuple[int, float, bool]:
    assert task.finite is not None
    machine = Lowering(task.machine, task.finite.labels, task.finite.signals).machine
    start = int(task.finite.table.starts[0])
    masks = machine.full.copy(), machine.full.copy()
    found = rehearse(task.finite.table, machine, start, np.array(actions, np.int32), limit, np.random.default_rng(0), *masks)
    return int(found[0]), float(found[1]), bool(found[2])


def test_the_walk_on_paper_takes_ten_steps() -> None:
    """Left, left, down, down to b2; up three, right to s; left to b1; right to s."""
    walk = [LEFT, LEFT, DOWN, DOWN, UP, UP, UP, RIGHT, LEFT, RIGHT]
    assert rehearsed(load("figure-1"), walk) == (10, 1.0, True)
    assert rehearsed(load("figure-1"), [*walk, UP, UP]) == (10, 1.0, True)


def test_a_walk_that_stops_short_goes_on_upwards_to_the_limit() -> None:
    assert rehearsed(load("figure-1"), [LEFT, LEFT], limit=12) == (12, 0.0, False)
    assert rehearsed(load("figure-1"), [], limit=5) == (5, 0.0, False)


@pytest.mark.parametrize(("actions", "found"), [([RIGHT], (1, 0.0, False)), ([DOWN, RIGHT, RIGHT, UP], (4, 1.0, True))])
def test_a_failure_ends_the_walk_without_success(actions: list[int], found: tuple[int, float, bool]) -> None:
    text = ('name = "t"\n[world]\nkind = "grid"\nrows = ["Axg", "..."]\nlegend = { x = "x", g = "g" }\n'
            '[machine]\nphrase = "avoid(x, g)"\n')  # fmt: skip
    assert rehearsed(Task.from_toml(text), actions) == found
