import json
import math

import pytest

from errands.analysis.compare import differences, improvement, overall, reference_of, summarise, summarise_all
from errands.analysis.curve import curve_of
from errands.tables import Evaluation


def method(name, lengths, task="t", optimum=10.0):
    """One curve: a list of lengths per seed, evaluated every 10 steps; None is a failure."""
    rows = [
        [Evaluation(10 * (i + 1), n or 7, float(n is not None), n is not None) for i, n in enumerate(seed)]
        for seed in lengths
    ]
    return curve_of(name, task, rows, optimum)


GOOD = method("good", [[None, 10, 10], [20, 11, 10], [None, None, 10], [10, 10, 10]])
POOR = method("poor", [[None, None, None], [None, 40, 20], [None, None, 10], [None, 11, 12]])


def test_a_summary_by_hand():
    s = summarise(POOR)
    assert (s.seeds, s.steps, s.success, s.optimal) == (4, 30, 0.75, 0.25)
    assert s.final.values == (11.5, 16.0, None)
    assert s.first_optimal.values == (None, None, None)
    assert s.first_near.values[:1] == (27.5,)
    assert s.score.value == pytest.approx((10 / 20 + 10 / 12) / 2)


def test_the_good_method_settles_and_the_poor_one_does_not():
    assert summarise(GOOD).settled == 20
    assert summarise(POOR).settled == math.inf


def test_without_an_optimum_the_shortest_length_that_any_method_met_is_the_measure():
    known = [method("a", [[12, 15]], optimum=None), method("b", [[None, 20]], optimum=None)]
    assert reference_of(known) == 12
    assert [s.reference for s in summarise_all(known)] == [12, 12]


def test_where_nothing_ever_succeeded_everything_is_nought_or_never():
    s = summarise(method("none", [[None], [None]], optimum=None))
    assert (s.reference, s.success, s.score.value, s.settled) == (None, 0.0, 0.0, math.inf)
    json.dumps(s.row(), allow_nan=False)


def test_the_improvement_of_good_over_poor_counts_pairs():
    assert improvement([GOOD], [POOR]).value == pytest.approx((12 + 4 * 0.5) / 16)
    assert improvement([GOOD], [method("x", [[1]], task="other")]) is None


def test_overall_scores_span_the_tasks():
    twice = [method("m", [[10], [10]]), method("m", [[20], [20]], task="u")]
    assert overall(twice)["m"].value == 0.75


def test_differences_name_the_settings_in_which_runs_differ():
    told = differences({"a": {"alpha": 1.0, "gamma": 0.9}, "b": {"alpha": 0.1, "gamma": 0.9, "xi": 1}})
    assert told == {"alpha": {"a": 1.0, "b": 0.1}, "xi": {"b": 1}}


def test_on_ice_success_is_the_mean_chance_and_nobody_who_may_fail_is_optimal():
    def ice(chance):
        return [Evaluation(10, 9.0, chance, chance, episodes=0)]

    summary = summarise(curve_of("crm", "ice", [ice(0.945), ice(0.955)], 51.3931))
    assert summary.success == pytest.approx(0.95)
    assert (summary.optimal, summary.score.value) == (0.0, 0.0)
    assert summary.row()["expected_median"] == 9.0
    assert summary.row()["final_median"] is None


def test_without_a_sure_policy_and_without_an_optimum_chances_are_the_score():
    curves = [curve_of(name, "lake", [[Evaluation(10, 40.0, x, x, episodes=0)] for x in some]) for name, some in
              (("a", (0.5, 0.7)), ("b", (0.2, 0.2)))]  # fmt: skip
    assert overall(curves)["a"].value == pytest.approx(0.6)
    assert overall(curves)["b"].value == pytest.approx(0.2)
