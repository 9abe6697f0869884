import numpy as np
import pytest
from scipy.stats import bootstrap, trim_mean

from errands.errors import ConfigError
from errands.results.bootstrap import improvement_interval, iqm_interval, resampled


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
