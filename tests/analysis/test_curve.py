import math

import numpy as np
import pytest

from errands.analysis.curve import curve_of
from errands.errors import ConfigError
from errands.tables import Evaluation


def seed(*rows):
    return [Evaluation(step, length, float(success), success) for step, length, success in rows]


@pytest.fixture
def uneven():
    """Three seeds: one complete, one that stopped early at the optimum, one that fails and is evaluated elsewhere."""
    return curve_of(
        "method",
        "task",
        [
            seed((10, 9, False), (20, 14, True), (30, 10, True), (40, 11, True)),
            seed((10, 12, True), (20, 10, True)),
            seed((15, 30, False), (40, 3, False)),
        ],
        optimum=10,
    )


def test_a_failed_episode_is_infinitely_long_however_short_it_was(uneven):
    assert uneven.lengths[2].tolist() == [math.inf] * 5


def test_the_last_value_is_carried_forward_and_nothing_is_known_before_the_first(uneven):
    assert uneven.steps.tolist() == [10, 15, 20, 30, 40]
    assert uneven.lengths[0].tolist() == [math.inf, math.inf, 14, 10, 11]
    assert uneven.lengths[1].tolist() == [12, 12, 10, 10, 10]


def test_seeds_that_ended_early_are_told(uneven):
    assert uneven.note == "1 of 3 seeds ended before step 40; their last value is carried forward"


def test_first_steps_at_the_optimum_and_within_ten_percent(uneven):
    assert uneven.first(0.0, 10).tolist() == [30, 20, math.inf]
    assert uneven.first(0.1, 10).tolist() == [30, 20, math.inf]
    assert uneven.first(0.2, 10).tolist() == [30, 10, math.inf]


def test_the_median_curve_settles_where_it_enters_for_good(uneven):
    assert uneven.quantiles(0.5)[0].tolist() == [math.inf, math.inf, 14, 10, 11]
    assert uneven.settled(0.1, 10) == 30
    assert uneven.settled(0.0, 10) == math.inf


def test_one_bad_evaluation_among_many_does_not_undo_that_a_curve_settled():
    rows = [(10 * i, 10, i not in (1, 15)) for i in range(1, 41)]
    assert curve_of("m", "t", [seed(*rows)], 10).settled(0.1, 10) == 20
    shaky = [(10 * i, 10, i not in (1, 15, 16, 17)) for i in range(1, 41)]
    assert curve_of("m", "t", [seed(*shaky)], 10).settled(0.1, 10) == 180


def test_scores_are_one_at_the_optimum_and_nought_for_a_failure(uneven):
    assert uneven.scores(10).tolist() == [pytest.approx(10 / 11), 1.0, 0.0]


def test_a_thinned_curve_keeps_its_ends(uneven):
    thin = uneven.thinned(3)
    assert thin.steps.tolist() == [10, 20, 40]
    assert np.array_equal(thin.final, uneven.final)


def test_json_has_null_for_failures(uneven):
    assert uneven.as_json()["lengths"][0] == [None, None, 14.0, 10.0, 11.0]


def test_a_seed_without_evaluations_is_refused():
    with pytest.raises(ConfigError, match="without evaluations"):
        curve_of("m", "t", [[]])


def test_a_policy_that_may_fail_has_a_chance_and_expected_steps_but_no_length():
    rows = [Evaluation(10, 9.0, 0.9, 0.945, episodes=0), Evaluation(20, 51.5, 1.0, 1.0, episodes=0)]
    curve = curve_of("m", "t", [rows], 51.3931)
    assert curve.lengths.tolist() == [[math.inf, 51.5]]
    assert curve.success.tolist() == [[0.945, 1.0]]
    assert curve.spans.tolist() == [[9.0, 51.5]]
    assert curve.first(0.0, 51.3931).tolist() == [math.inf]
    assert "exact expectations" in curve.note


def test_an_exact_expectation_is_optimal_up_to_rounding():
    best = 51.3931234567
    curve = curve_of("m", "t", [[Evaluation(10, best * (1 + 1e-12), 1.0, 1.0, episodes=0)]], best)
    assert curve.within(0.0, best).tolist() == [[True]]


def test_a_mean_of_episodes_below_an_expected_optimum_is_not_optimal_and_scores_no_more_than_it():
    lucky = Evaluation(10, 50.0, 1.0, 1.0, 100, 48.0, 52.0, 0.97, 1.0)
    curve = curve_of("m", "t", [[lucky]], 51.3931)
    assert curve.within(0.0, 51.3931).tolist() == [[False]]
    assert curve.within(0.1, 51.3931).tolist() == [[True]]
    assert curve.scores(51.3931).tolist() == [1.0]
    assert "means of 100 episodes" in curve.note
