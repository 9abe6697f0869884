"""Small tasks for the oracle's tests, and the product of world and machine built by hand, state by state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from errands.machines import Stepper
from errands.tables import FAILURE, RUNNING, SUCCESS
from errands.tasks import Task

Grid = Callable[..., Task]


def _grid(
    rows: list[str], phrase: str, legend: Mapping[str, str] | None = None, slip: float = 0.0, limit: int = 1000
) -> Task:
    letters = {c for row in rows for c in row} - set(".#A")
    names = legend or {c: c for c in sorted(letters)}
    shown = ", ".join(f'"{key}" = "{name}"' for key, name in names.items())
    world = f'kind = "grid"\nrows = {rows}\nlegend = {{ {shown} }}\nslip = {slip}\nlimit = {limit}'.replace("'", '"')
    return Task.from_toml(f'name = "drawn"\n[world]\n{world}\n[machine]\nphrase = "{phrase}"\n')


@pytest.fixture
def grid() -> Grid:
    """A task on a drawn grid; a letter is its own feature unless the legend says otherwise."""
    return _grid


def _explicit(task: Task) -> tuple[list[Any], Any, Any, Any]:
    """Nodes (cell, machine state), P[a, n, n'], success chance [a, n], reward [a, n], found by the definition."""
    world, stepper = task.finite, Stepper(task.machine)
    assert world is not None
    table = world.table
    nodes = [(int(s), stepper.start) for s in table.starts]
    edges = []
    for cell, state in nodes:
        for action in range(world.actions):
            before = 0.0
            for o in range(table.next.shape[2]):
                p, before = table.cumulative[cell, action, o] - before, table.cumulative[cell, action, o]
                step = stepper.step(state, world.labels[table.label[cell, action, o]])
                node = (int(table.next[cell, action, o]), step.state)
                status = stepper.status[step.state[0]]
                if status == RUNNING and table.ends[cell, action, o]:
                    status = FAILURE
                if status == RUNNING and node not in nodes:
                    nodes.append(node)
                reward = 0.0 if step.transition is None else step.transition.reward.value
                edges.append(((cell, state), action, node, status, p, reward))
    number = {node: i for i, node in enumerate(nodes)}
    size = len(nodes)
    moves, success, reward_of = np.zeros((world.actions, size, size)), *np.zeros((2, world.actions, size))
    for here, action, node, status, p, reward in edges:
        reward_of[action, number[here]] += p * reward
        if status == RUNNING:
            moves[action, number[here], number[node]] += p
        elif status == SUCCESS:
            success[action, number[here]] += p
    return nodes, moves, success, reward_of


@pytest.fixture
def explicit() -> Callable[[Task], tuple[list[Any], Any, Any, Any]]:
    """The product as dense matrices, by an independent way."""
    return _explicit
