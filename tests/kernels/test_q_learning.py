"""Greedy attempts at an edge: counted on a row of cells, in plain Python and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from errands.learners.dirl.graph import abstract_graph
from errands.learners.dirl.kernel import MISSED, attempt_edge
from errands.learners.dirl.settings import DiRLConfig
from errands.learners.dirl.tabular import TabularEdges
from errands.tasks import Task

UP, RIGHT, DOWN, LEFT = range(4)
TASK = Task.from_toml(
    'name = "t"\n[world]\nkind = "grid"\nrows = ["x.A..g"]\nlegend = { x = "x", g = "g" }\n[machine]\nphrase = "avoid(x, g)"\n'
)
GRAPH = abstract_graph(TASK.machine)
EDGES = TabularEdges(TASK, GRAPH, DiRLConfig())


def attempted(action: int, count: int = 4, limit: int = 10, most: int = 1_000) -> tuple[int, int, list[int]]:
    ends = np.full(count, -7, np.int32)
    actions = np.full(6, action, np.int8)
    made, steps = attempt_edge(
        EDGES.world, EDGES.machine(GRAPH.edges[0]), actions, limit, most, ends, np.random.default_rng(0)
    )
    return int(made), int(steps), ends.tolist()


def test_the_goal_is_three_steps_to_the_right() -> None:
    assert attempted(RIGHT) == (4, 12, [5] * 4)


def test_what_is_forbidden_ends_an_attempt_as_missed() -> None:
    assert attempted(LEFT) == (4, 8, [MISSED] * 4)


def test_an_attempt_is_given_up_at_the_limit() -> None:
    assert attempted(UP, limit=10) == (4, 40, [MISSED] * 4)
    assert attempted(RIGHT, limit=2) == (4, 8, [MISSED] * 4)
    assert attempted(RIGHT, limit=3) == (4, 12, [5] * 4)


@pytest.mark.parametrize(("most", "made", "steps"), [(12, 4, 12), (11, 3, 11), (3, 1, 3), (2, 0, 2), (0, 0, 0)])
def test_an_attempt_that_is_cut_short_was_not_made_but_its_steps_count(most: int, made: int, steps: int) -> None:
    found = attempted(RIGHT, most=most)
    assert found[:2] == (made, steps)
    assert found[2][:made] == [5] * made
    assert found[2][made:] == [-7] * (4 - made)
