"""One policy per subtask against the facts, and against trying out every policy on small corridors."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.errors import TaskError
from errands.machines import Stepper
from errands.oracle.one_policy import one_policy_per_subtask
from errands.oracle.optimum import optimum
from errands.tables import RUNNING, SUCCESS
from errands.tasks import Task, load


def test_the_corridor_costs_one_step_more():
    found = one_policy_per_subtask(load("corridor"))
    assert (found.length, found.optimum) == (21, 20)


def test_office_six_costs_one_step_more_and_smaller_ones_none():
    assert [one_policy_per_subtask(load(f"office-{k}")).length for k in range(1, 7)] == [11, 20, 26, 38, 44, 61]


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_delivery_is_always_representable(seed, boxes):
    task = load(f"delivery-{boxes}", seed)
    assert one_policy_per_subtask(task).length == optimum(task, orders=False).length


def _by_trying(task: Task) -> int | None:
    """The shortest episode over all pairs of (objective, cell) -> left or right, and agenda state -> objective."""
    layout, stepper = task.layout, Stepper(task.machine)
    least = None

    def follow(policies, chosen) -> int | None:
        cell, state = layout.start, stepper.start
        for step in range(1, 40):
            names = stepper.alternatives(state)
            cell = layout.moves.item(cell, policies[names[chosen.get(state, 0) % len(names)], cell])
            state = stepper.step(state, layout.features_at(cell)).state
            if stepper.status[state[0]] != RUNNING:
                return step if stepper.status[state[0]] == SUCCESS else None
        return None

    states, queue = {stepper.start}, [stepper.start]
    while queue:
        for move in stepper.moves(queue.pop()):
            if move.target not in states and stepper.status[move.target[0]] == RUNNING:
                states.add(move.target)
                queue.append(move.target)
    branching = [state for state in states if len(stepper.alternatives(state)) > 1]
    names = sorted({name for state in states for name in stepper.alternatives(state)})
    pairs = [(name, cell) for name in names for cell in range(layout.cells)]
    for moves in product((1, 3), repeat=len(pairs)):
        policies = dict(zip(pairs, moves, strict=True))
        for choice in product(*(range(len(stepper.alternatives(state))) for state in branching)):
            steps = follow(policies, dict(zip(branching, choice, strict=True)))
            if steps is not None and (least is None or steps < least):
                least = steps
    return least


@pytest.mark.parametrize("row", ["cAo.c", "coA.c", "Ac.o", "oc.Ac"])
def test_every_single_policy_was_tried_on_small_corridors(grid, row):
    task = grid([row], "sequence(c, o, c)", {"c": "c", "o": "o"})
    assert one_policy_per_subtask(task).length == _by_trying(task)


MIXED = """name = "mixed"
[world]
kind = "grid"
rows = ["ROW"]
legend = { a = "a", f = "f" }
[machine]
initial = "u0"
success = ["u2"]
numeric = { n = ["a"] }
transitions = [
  "u0 -> u1 : f & n! ; 0",
  "u0 -> u0 : n⤓ & ~f ; 0",
  "u1 -> u0 : n↓ | n⤓ | f ; 0",
  "u0 -> u2 : f & n⤓ ; 1",
]
"""


@pytest.mark.parametrize("row", ["f.A.a", "aA.f", "afA", "fA.a"])
def test_states_that_offer_subtasks_and_features_are_searched_in_full(row):
    task = Task.from_toml(MIXED.replace("ROW", row))
    assert Stepper(task.machine).alternatives((1, 1)) == ("a", "f")
    assert one_policy_per_subtask(task).length == _by_trying(task)


def test_no_way_means_no_length(grid):
    assert one_policy_per_subtask(grid(["AXg"], "avoid(X, g)")).length is None


def test_a_search_that_takes_too_long_is_refused():
    with pytest.raises(TaskError, match="more than 50 steps would have to be tried"):
        one_policy_per_subtask(load("office-6"), nodes=50)
