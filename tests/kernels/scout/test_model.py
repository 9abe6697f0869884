"""Scout's model of a random world: counts by hand, and shares that sum to one."""

from __future__ import annotations

import numpy as np
import pytest

from errands.learners.scout.kernel.memory import Known, observe
from errands.learners.scout.kernel.model import build, confusion, learn_model, oddness, weight
from errands.learners.scout.tabular import new_known


def seen(*steps: tuple[int, int, int, int], cells: int = 3, actions: int = 2) -> Known:
    """Steps (cell, action, target, how often)."""
    known = new_known(cells, actions, 3)
    for s, a, there, count in steps:
        for _ in range(count):
            observe(known, s, a, there, 0, False)
    return known


def test_odd_outcomes_are_counted_over_pairs_that_were_tried_three_times() -> None:
    assert oddness(seen((0, 0, 1, 3), (0, 0, 2, 1), (0, 1, 2, 1), (0, 1, 1, 1))) == 0.25
    assert oddness(seen((0, 0, 1, 2), (0, 0, 2, 0))) == 0.0


def test_an_action_is_confused_with_what_the_other_mostly_does() -> None:
    """Action 0 goes to 1 eight times and to 2, where action 1 leads, twice; ten steps of prior with oddness 2/20."""
    table = confusion(seen((0, 0, 1, 8), (0, 0, 2, 2), (0, 1, 2, 10)))
    assert table[0].tolist() == pytest.approx([(8 + 9) / 20, (2 + 1) / 20])
    assert table[1].tolist() == pytest.approx([(0 + 1) / 20, (10 + 9) / 20])


def test_without_a_prior_shares_are_the_counts() -> None:
    known = seen((0, 0, 1, 3), (0, 0, 2, 1), (0, 1, 2, 2))
    model = build(known, confusion(known), 0.0)
    assert model.outcomes[1:].tolist() == [[0, 0], [0, 0]]
    found = {int(t): float(p) for t, p in zip(model.target[0, 0], model.share[0, 0], strict=True) if p > 0}
    assert found == {1: 0.75, 2: 0.25}


def test_a_prior_fills_in_what_the_other_action_does() -> None:
    """Action 1 was seen once, to 2; the table expects some of it at 1, where action 0 leads."""
    known = seen((0, 0, 1, 10), (0, 1, 2, 1))
    model = build(known, np.array([[0.8, 0.2], [0.2, 0.8]]), 4.0)
    found = {int(t): float(p) for t, p in zip(model.target[0, 1], model.share[0, 1], strict=True) if p > 0}
    assert found == pytest.approx({2: (1 + 4 * 0.8) / 5, 1: 4 * 0.2 / 5})


def test_shares_sum_to_one_and_untried_pairs_have_none() -> None:
    rng = np.random.default_rng(0)
    steps = [(int(s), int(a), int(t), 1) for s, a, t in zip(*(rng.integers(0, n, 60) for n in (3, 2, 3)), strict=True)]
    known = seen(*steps, cells=4)
    model = learn_model(known, 2.0)
    tried = known.tried > 0
    assert np.allclose(model.share.sum(axis=2)[tried], 1.0)
    assert (model.outcomes[~tried] == 0).all()


def test_a_prior_of_nothing_is_the_counts_alone_compiled_or_not() -> None:
    """Scout takes a prior of 0; the logarithm of the gamma function has no value there."""
    known = seen((0, 0, 1, 3), (0, 0, 2, 1), (0, 1, 2, 2))
    table = confusion(known)
    assert getattr(weight, "py_func", weight)(known, table, 0.0) == 0.0
    model = learn_model(known, 0.0)
    assert sorted(model.share[0, 0].tolist())[-2:] == [0.25, 0.75]
