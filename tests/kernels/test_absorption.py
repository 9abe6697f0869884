"""Elimination without subtractions against linear algebra, and where linear algebra gives up."""

from __future__ import annotations

import numpy as np
import pytest

from errands.kernels.absorption import eliminate


@pytest.mark.parametrize("size", [1, 2, 7, 30])
def test_it_solves_what_linear_algebra_solves(size):
    rng = np.random.default_rng(size)
    matrix = rng.random((size, size))
    matrix *= 0.9 / matrix.sum(axis=1, keepdims=True)
    right = rng.random((size, 3))
    expected = np.linalg.solve(np.eye(size) - matrix, right)
    band = np.zeros((size, 2 * size - 1))
    for i in range(size):
        band[i, size - 1 - i : 2 * size - 1 - i] = matrix[i]
    assert eliminate(band, np.full(size, 0.1), right.copy()) == pytest.approx(expected)


def test_it_is_exact_where_one_minus_the_chance_of_staying_is_lost_in_rounding():
    leaving = np.array([1e-40])
    assert eliminate(np.array([[1.0]]), leaving, np.array([[1e-40, 1.0]])) == pytest.approx(np.array([[1.0, 1e40]]))
