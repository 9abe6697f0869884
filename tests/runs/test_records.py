"""Evaluations are values: equal when their numbers are, and never changed after they were made."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, astuple

import pytest

from errands.tables import Evaluation


def test_an_evaluation_is_its_four_numbers() -> None:
    made = Evaluation(1000, 10, 1.0, True)
    assert astuple(made) == (1000, 10, 1.0, True)
    assert made == Evaluation(1000, 10, 1.0, True)
    assert made != Evaluation(1000, 11, 1.0, True)
    assert len({made, Evaluation(1000, 10, 1.0, True)}) == 1


def test_an_evaluation_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Evaluation(0, 0, 0.0, False).step = 1  # type: ignore[misc]
