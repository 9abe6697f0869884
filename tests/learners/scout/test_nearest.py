"""The last resort: always the nearest step that moves the machine on, on a world that is fully known."""

from __future__ import annotations

import numpy as np
import pytest

from errands.kernels.scout_memory import Known, observe
from errands.learners.scout.lowering import Lowering
from errands.learners.scout.memory import new_known
from errands.learners.scout.nearest import Nearest
from errands.tasks import Task, load


def drawn(row: str, phrase: str) -> Task:
    legend = ", ".join(f'{c} = "{c}"' for c in dict.fromkeys(row) if c not in ".A#")
    return Task.from_toml(
        f'name = "t"\n[world]\nkind = "grid"\nrows = ["{row}"]\nlegend = {{ {legend} }}\n[machine]\nphrase = "{phrase}"\n'
    )


def known_of(task: Task) -> tuple[Known, Lowering]:
    """Every step of a world, each taken once."""
    assert task.finite is not None
    table = task.finite.table
    known = new_known(task.finite.states, task.finite.actions, 1)
    for s, a in np.ndindex(table.next.shape[:2]):
        observe(known, s, a, int(table.next[s, a, 0]), int(table.label[s, a, 0]), bool(table.ends[s, a, 0]))
    return known, Lowering(task.machine, task.finite.labels, ())


@pytest.mark.parametrize(
    ("row", "phrase", "steps"),
    [
        ("A..g", "g", 3),
        ("x.A..y", "any_order(x, y)", 2 + 5),
        ("a.A.b", "sequence(a, b, a)", 2 + 4 + 4),
        ("yA.x..x", "any_order(x, y)", 1 + 3),
    ],
)
def test_the_walk_takes_the_nearest_first(row: str, phrase: str, steps: int) -> None:
    task = drawn(row, phrase)
    known, lowering = known_of(task)
    walk = Nearest(known, lowering).walk(lowering.stepper.start, row.index("A"))
    assert walk is not None
    assert len(walk.actions) == len(walk.cells) == len(walk.states) == steps
    assert walk.cells[0] == row.index("A")


def test_three_items_are_taken_nearest_first() -> None:
    """y is 2 away and x 3: y, x, z takes 2 + 5 + 4 = 11."""
    task = drawn("z...x..A.y", "any_order(x, y, z)")
    known, lowering = known_of(task)
    walk = Nearest(known, lowering).walk(lowering.stepper.start, 7)
    assert walk is not None
    assert len(walk.actions) == 2 + 5 + 4


def test_where_only_a_fatal_cell_leads_on_there_is_no_walk() -> None:
    shut = drawn("Axg", "avoid(x, g)")
    known, lowering = known_of(shut)
    assert Nearest(known, lowering).walk(lowering.stepper.start, 0) is None
    office = load("office-1")
    known, lowering = known_of(office)
    assert office.finite is not None
    assert Nearest(known, lowering).walk(lowering.stepper.start, int(office.finite.table.starts[0])) is not None


def test_nothing_known_is_no_walk() -> None:
    task = drawn("A..g", "g")
    _, lowering = known_of(task)
    assert Nearest(new_known(4, 4, 1), lowering).walk(lowering.stepper.start, 0) is None
