"""Choosing from a row of values: the first of the highest, and random choices as often as they should come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from errands.kernels import choice


def interpreted(kernel: Any) -> Callable[..., Any]:
    """The kernel as plain Python: nothing is compiled for it here."""
    found: Callable[..., Any] = getattr(kernel, "py_func", kernel)
    return found


best_action, best_value, explore = (interpreted(k) for k in (choice.best_action, choice.best_value, choice.explore))


def table(*row: float) -> np.ndarray:
    """The row as q[1, :, 2], everything else higher."""
    q = np.full((2, len(row), 3), 9.0)
    q[1, :, 2] = row
    return q


class Fixed:
    """Gives one number."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self) -> float:
        return self.number


@pytest.mark.parametrize(
    ("row", "action"), [((1.0, 3.0, 2.0), 1), ((2.0, 2.0, 1.0), 0), ((-1.0, -1.0, -0.5), 2), ((4.0,), 0)]
)
def test_the_first_of_the_highest_is_taken(row: tuple[float, ...], action: int) -> None:
    assert best_action(table(*row), 1, 2) == action
    assert best_value(table(*row), 1, 2) == max(row)


@pytest.mark.parametrize(("number", "action"), [(0.0, 0), (0.19, 0), (0.2, 1), (0.39, 1), (0.4, 2), (0.599, 2)])
def test_below_epsilon_every_action_is_as_likely(number: float, action: int) -> None:
    assert explore(table(5.0, 0.0, 0.0), 1, 2, 0.6, Fixed(number)) == action


@pytest.mark.parametrize(("number", "action"), [(0.6, 0), (0.79, 0), (0.81, 2), (0.999, 2)])
def test_above_epsilon_ties_are_broken_by_the_same_number(number: float, action: int) -> None:
    assert explore(table(7.0, 1.0, 7.0), 1, 2, 0.6, Fixed(number)) == action


def test_over_many_draws_both_parts_come_as_often_as_they_should() -> None:
    """Epsilon 0.3 over three actions, the last two tied: 0.1, then 0.1 + 0.35 each."""
    rng = np.random.default_rng(0)
    met = Counter(explore(table(0.0, 1.0, 1.0), 1, 2, 0.3, rng) for _ in range(20_000))
    assert [met[a] / 20_000 for a in range(3)] == pytest.approx([0.1, 0.45, 0.45], abs=0.01)


def test_without_epsilon_nothing_but_the_best_is_taken() -> None:
    rng = np.random.default_rng(0)
    assert {explore(table(0.0, 1.0), 1, 2, 0.0, rng) for _ in range(200)} == {1}
