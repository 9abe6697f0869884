import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap, mannwhitneyu, trim_mean

from errands.analysis.statistics import (
    improvement_interval,
    interquartile_mean,
    iqm_interval,
    probability_of_improvement,
    quantile,
    resampled,
    spread,
)
from errands.errors import ConfigError

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
    assert improvement_interval([[1, 2], [0]], [[0, 0], [1]]).value == 0.5


def draws(seed, *sizes):
    rng = np.random.default_rng(seed)
    return [rng.normal(i, 1.0, n) for i, n in enumerate(sizes)]


def test_the_interval_of_one_task_is_that_of_scipys_percentile_bootstrap():
    (x,) = draws(0, 40)
    ours = iqm_interval([x], repetitions=20_000)
    theirs = bootstrap(
        (x,),
        lambda a, axis: trim_mean(a, 0.25, axis=axis),
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert ours.value == pytest.approx(trim_mean(x, 0.25))
    assert ours.low == pytest.approx(theirs.low, abs=0.02)
    assert ours.high == pytest.approx(theirs.high, abs=0.02)


def test_seeds_are_drawn_within_their_task():
    low, high = resampled([[0.0, 1.0], [10.0, 11.0]], 100, np.random.default_rng(0))
    assert set(np.unique(low)) == {0.0, 1.0}
    assert set(np.unique(high)) == {10.0, 11.0}


def test_tasks_far_apart_do_not_widen_the_interval():
    near, far = draws(3, 10, 10)
    together = iqm_interval([near, far + 100.0], repetitions=4_000)
    mixed = iqm_interval([np.concatenate([near, far + 100.0])], repetitions=4_000)
    assert together.high - together.low < 0.2 * (mixed.high - mixed.low)


def test_equal_seeds_have_an_interval_without_width_and_the_same_seed_gives_the_same_interval():
    assert iqm_interval([[1.0] * 10]) == iqm_interval([[1.0] * 10])
    same = iqm_interval([[1.0] * 10])
    assert (same.value, same.low, same.high) == (1.0, 1.0, 1.0)


def test_the_improvement_of_a_clear_winner_is_certain_and_that_of_equals_is_open():
    sure = improvement_interval([[2.0, 3.0]], [[0.0, 1.0]], repetitions=200)
    assert (sure.value, sure.low, sure.high) == (1.0, 1.0, 1.0)
    a, b = draws(5, 30, 30)
    open_ = improvement_interval([a], [b - 1.0], repetitions=500)
    assert open_.low < 0.5 < open_.high


def test_no_scores_are_refused():
    with pytest.raises(ConfigError, match="at least one task"):
        iqm_interval([])
