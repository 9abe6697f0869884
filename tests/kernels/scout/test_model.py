"""Scout's model of a random world: counts by hand, and shares that sum to one."""

from __future__ import annotations

import numpy as np
import pytest

from errands.learners.scout.kernel.law import ALONE, choose_law, meant, oddness, slips, weights
from errands.learners.scout.kernel.memory import Known, observe
from errands.learners.scout.kernel.model import build, learn_model
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


def even(share: float) -> np.ndarray:
    """A law of two actions, alike where they move and where they stay."""
    return np.array([[[share, 1 - share], [1 - share, share]]] * 2)


def test_an_action_is_confused_with_what_the_other_mostly_does() -> None:
    """Action 0 goes to 1 eight times and to 2, where action 1 leads, twice; one number explains that as well as two: of
    twenty tries and an imagined one, which goes astray 2 times of 20, 2.1 did."""
    law = choose_law(seen((0, 0, 1, 8), (0, 0, 2, 2), (0, 1, 2, 10)), slips(2))
    assert law == pytest.approx(even(0.9))


def test_actions_that_go_astray_unlike_each_other_have_a_table() -> None:
    """500 of 1,000 against 0 of 1,000: ten imagined tries go astray as the whole world does, 1 time in 4."""
    law = choose_law(seen((0, 0, 1, 510), (0, 0, 2, 490), (0, 1, 2, 1_000)), slips(2))
    odd = 490 / 2_000
    assert law[0, 0].tolist() == pytest.approx([(510 + 10 * (1 - odd)) / 1_010, (490 + 10 * odd) / 1_010])
    assert law[0, 1].tolist() == pytest.approx([10 * odd / 1_010, (1_000 + 10 * (1 - odd)) / 1_010])


def open_field(blocked_slips: bool) -> Known:
    """Twelve cells; in each, four actions slip to their sides one time in five; in four of them action 0 stays at a wall, and
    slips as the others do or not at all."""
    known = new_known(5 * 12, 4, 5)
    for cell in range(12):
        goes = [12 + 4 * cell + a for a in range(4)]
        if cell < 4:
            goes[0] = cell
        for a in range(4):
            sure = cell < 4 and a == 0 and not blocked_slips
            for turn, count in ((0, 20 if sure else 16), (1, 0 if sure else 2), (3, 0 if sure else 2)):
                for _ in range(count):
                    observe(known, cell, a, goes[(a + turn) % 4], 0, False)
    return known


def test_one_number_says_how_moves_slip_to_their_sides() -> None:
    law = choose_law(open_field(True), slips(4))
    slip = (48 * 4 + 0.2) / (48 * 20 + 1)
    assert law[0, 0].tolist() == law[1, 0].tolist() == pytest.approx([1 - slip, slip / 2, 0, slip / 2])
    known = open_field(True)
    assert (weights(known, law, 20.0)[:12] == ALONE).all()


def test_moves_into_walls_that_surely_wait_are_a_class_of_their_own() -> None:
    law = choose_law(open_field(False), slips(4))
    assert law[0, 1, 0] == pytest.approx(0.1, rel=0.05)
    assert law[1, 0, 1] < 0.01
    model = learn_model(open_field(False), 20.0)
    waits = {int(t): float(p) for t, p in zip(model.target[0, 0], model.share[0, 0], strict=True) if p > 0}
    assert waits[0] > 0.98


def test_a_pair_that_breaks_the_law_goes_by_its_own_counts() -> None:
    """One pair of 48 leads to its usual cell half of the time and else to one where no action leads."""
    known = open_field(True)
    for _ in range(60):
        observe(known, 5, 2, 59, 0, False)
        observe(known, 5, 2, 12 + 4 * 5 + 2, 0, False)
    model = learn_model(known, 20.0)
    found = {int(t): float(p) for t, p in zip(model.target[5, 2], model.share[5, 2], strict=True) if p > 0}
    assert found[59] == pytest.approx(60 / 140, abs=0.1)
    other = {int(t): float(p) for t, p in zip(model.target[5, 1], model.share[5, 1], strict=True) if p > 0}
    assert other[12 + 4 * 5 + 1] == pytest.approx(0.8, abs=0.02)


def test_of_few_tries_the_law_tells_a_slip_from_what_was_meant() -> None:
    """Action 0 was tried twice and went right both times (17), where action 1 leads; then once up: by the law of the other
    cells two slips to one side and one step are likelier than two steps and a slip to nowhere."""
    known = open_field(True)
    for there in (13, 13, 12):
        observe(known, 50, 0, there, 0, False)
    for a in (1, 2, 3):
        for _ in range(5):
            observe(known, 50, a, 12 + a, 0, False)
    assert known.target[50, 0, known.mode[50, 0]] == 13
    law = choose_law(known, slips(4))
    assert known.target[50, 0, meant(known, law)[50, 0]] == 12


def test_without_a_prior_shares_are_the_counts() -> None:
    known = seen((0, 0, 1, 3), (0, 0, 2, 1), (0, 1, 2, 2))
    model = learn_model(known, 0.0)
    assert model.outcomes[1:].tolist() == [[0, 0], [0, 0]]
    found = {int(t): float(p) for t, p in zip(model.target[0, 0], model.share[0, 0], strict=True) if p > 0}
    assert found == {1: 0.75, 2: 0.25}


def test_a_prior_fills_in_what_the_other_action_does() -> None:
    """Action 1 was seen once, to 2; the law expects some of it at 1, where action 0 leads."""
    known = seen((0, 0, 1, 10), (0, 1, 2, 1))
    model = build(known, even(0.8), np.full((3, 2), 4.0))
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
    law = choose_law(known, slips(2))
    assert (getattr(weights, "py_func", weights)(known, law, 0.0) == 0.0).all()
    model = learn_model(known, 0.0)
    assert sorted(model.share[0, 0].tolist())[-2:] == [0.25, 0.75]
