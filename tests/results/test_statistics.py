import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, trim_mean

from errands.results.statistics import (
    interquartile_mean,
    mean_improvement,
    probability_of_improvement,
    quantile,
    spread,
)

numbers = st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=1, max_size=30)


@given(numbers, st.sampled_from([0.0, 0.25, 0.5, 0.75, 0.9, 1.0]))
def test_quantiles_of_finite_numbers_are_those_of_numpy(values, share):
    assert float(quantile(values, share)) == pytest.approx(float(np.quantile(values, share)), abs=1e-6)


def test_quantiles_along_the_first_axis():
    table = np.array([[1.0, 10.0], [2.0, 30.0], [4.0, 20.0]])
    assert quantile(table, 0.5).tolist() == [2.0, 20.0]


def test_a_quantile_that_rests_on_a_failure_is_infinite():
    assert spread([5, 7, 9, math.inf]).values == (6.5, 8.0, None)
    assert spread([5, math.inf, math.inf]).values == (None, None, None)
    assert spread([5, 5, math.inf]).values == (5.0, 5.0, None)
    assert spread([math.inf] * 4).median == math.inf


@given(numbers)
def test_the_interquartile_mean_is_the_mean_trimmed_by_a_quarter(values):
    assert float(interquartile_mean(values)) == pytest.approx(float(trim_mean(values, 0.25)), abs=1e-6)


def test_the_interquartile_mean_by_hand():
    assert float(interquartile_mean([0, 1, 2, 3, 4, 5, 6, 100])) == 3.5


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12),
    st.lists(st.integers(0, 6), min_size=1, max_size=12),
)
def test_the_probability_of_improvement_is_mann_whitneys_u_over_all_pairs(x, y):
    u = mannwhitneyu(x, y, method="asymptotic").statistic if len(set(x + y)) > 1 else len(x) * len(y) / 2
    assert probability_of_improvement(x, y) == pytest.approx(u / (len(x) * len(y)))


def test_two_failures_are_a_tie_and_any_success_beats_a_failure():
    assert probability_of_improvement([-math.inf, -5], [-math.inf, -math.inf]) == 0.75


def test_improvement_over_tasks_is_the_mean_of_theirs():
    assert mean_improvement([[1, 2], [0]], [[0, 0], [1]]) == 0.5
