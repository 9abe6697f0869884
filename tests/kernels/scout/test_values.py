"""Value iteration on small models, beside sums on paper."""

from __future__ import annotations

import numpy as np
import pytest

from errands.learners.scout.kernel.memory import FINAL, IDLE, Known, observe
from errands.learners.scout.kernel.model import Model, build, product_values, seek_values, values_of
from errands.learners.scout.machine import Lowering, number_states
from errands.learners.scout.tabular import new_known
from errands.tasks.phrases import sequence

GAMMA = 0.5


def model_of(*steps: tuple[int, int, int, int, bool, int], cells: int = 4, actions: int = 2) -> Model:
    """Steps (cell, action, target, label, ends, how often), taken for their shares."""
    known: Known = new_known(cells, actions, 3)
    for s, a, there, label, ends, count in steps:
        for _ in range(count):
            observe(known, s, a, there, label, ends)
    found: Model = build(known, np.array([np.eye(actions)] * 2), np.zeros((cells, actions)))
    return found


def test_a_wanted_cell_is_sought_by_the_quicker_way() -> None:
    """From 0 one step by action 1 to 1, then to 3; action 0 leads straight to 3 one time in four, else back."""
    model = model_of((0, 0, 3, 0, False, 1), (0, 0, 0, 0, False, 3), (0, 1, 1, 0, False, 1), (1, 0, 3, 0, False, 1))
    wanted = np.array([False, False, False, True])
    v, policy = seek_values(model, np.array([IDLE], np.int8), wanted, 0, GAMMA)
    straight, around = GAMMA * 0.25 / (1 - GAMMA * 0.75), GAMMA**2
    assert v[0] == pytest.approx(max(straight, around))
    assert policy[0] == (0 if straight > around else 1)
    assert v[1] == pytest.approx(GAMMA)
    assert policy[2] == -1


def test_the_end_of_an_episode_is_a_way_to_the_start() -> None:
    """From cell 2 the world ends, which leads to the start 1, from where the wanted cell is a step away."""
    steps = ((2, 0, 2, 0, True, 1), (1, 0, 3, 0, False, 1), (0, 0, 0, 1, False, 1))
    wanted = np.array([False, False, False, True])
    v, _ = seek_values(model_of(*steps), np.array([IDLE, FINAL], np.int8), wanted, 1, GAMMA)
    assert v[:3].tolist() == pytest.approx([GAMMA**2, GAMMA, GAMMA**2])


@pytest.mark.parametrize("layered", [True, False])
def test_success_is_discounted_by_every_step(layered: bool) -> None:
    """a in cell 1, then b back in cell 0: two steps from 0, and one step from 1 once a is done."""
    lowering = Lowering(sequence("a", "b"), [set(), {"a"}, {"b"}], ())
    agenda = number_states(lowering)
    assert agenda is not None
    model = model_of((0, 0, 1, 1, False, 1), (1, 0, 0, 2, False, 1), cells=2, actions=1)
    v = values_of(agenda.states.status, 2)
    policy = product_values(model, agenda.states.status, agenda.delta, GAMMA, layered, v)
    start, half = agenda.number((0, 0)), agenda.number((1, 0))
    assert v[start].tolist() == pytest.approx([GAMMA**2, GAMMA**3])
    assert v[half].tolist() == pytest.approx([GAMMA**2, GAMMA])
    assert (policy[start] == 0).all()


def test_values_far_below_the_tolerance_are_told_apart() -> None:
    """Success takes luck: one time in 10^10 at once by action 0, three times in 10^10 from cell 1, where action 1 leads."""
    lowering = Lowering(sequence("a"), [set(), {"a"}], ())
    agenda = number_states(lowering)
    assert agenda is not None
    rare = {(0, 0): 1e-10, (1, 0): 3e-10, (1, 1): 0.0}
    model = model_of((0, 0, 0, 1, True, 1), (0, 0, 0, 0, True, 1), (0, 1, 1, 0, False, 1),
                     (1, 0, 0, 1, True, 1), (1, 0, 0, 0, True, 1), (1, 1, 0, 0, True, 1))  # fmt: skip
    for (s, a), luck in rare.items():
        both = model.share[s, a] > 0
        model.share[s, a, both] = np.where(model.label[s, a, both] == 1, luck, 1.0 - luck)
    v = values_of(agenda.states.status, 4)
    policy = product_values(model, agenda.states.status, agenda.delta, GAMMA, True, v)
    start = agenda.number((0, agenda.state(0)[1]))
    assert policy[start, 0] == 1
    assert v[start, 0] == pytest.approx(GAMMA**2 * 3e-10, rel=1e-6)
