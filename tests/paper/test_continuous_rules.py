import numpy as np

from errands.analysis.curve import curve_of
from errands.paper import continuous_rules as rules
from errands.paper.evidence import Evidence
from errands.tables import Evaluation


def curve(lengths, every=100_000, seeds=8):
    """Equal seeds with these lengths at multiples of `every`; None is a failure."""
    rows = [Evaluation(every * (i + 1), n or 1, 0.0, n is not None) for i, n in enumerate(lengths)]
    return curve_of("m", "t", [rows] * seeds)


def evidence(**by_method):
    return Evidence({("t", name.replace("_", " "), "tuned"): made for name, made in by_method.items()}, {}, {})


def holds(rule, found, preset="tuned"):
    return [check.holds for check in rule(found, preset)]


def test_progress_weighs_every_evaluation_with_the_steps_before_it():
    one = curve([None, 20, 10, 40], 100)
    assert np.allclose(rules.progress(one, 10.0, 400), (0 + 0.5 + 1 + 0.25) / 4)
    assert np.allclose(rules.progress(one, 10.0, 250), 0.25)
    assert np.allclose(rules.progress(one, 10.0, 50), 0.0)


def test_ahead_means_better_over_the_steps_that_both_took():
    found = evidence(a=curve([None, 20, 20]), b=curve([None, None, 20, 10, 10, 10]))
    assert holds(rules.ahead("a", ("b",), ("t",)), found) == [True]
    assert holds(rules.ahead("b", ("a",), ("t",)), found) == [False]
    (same,) = rules.ahead("a", ("a",), ("t",))(found, "tuned")
    assert (same.holds, same.undecided) == (None, True)
    assert holds(rules.ahead("a", ("c",), ("t",)), found) == [None]
    assert holds(rules.ahead("a", ("b",), ("t",), 99_999), found) == [None]


def test_fewer_than_a_hundred_thousand_steps_decide_nothing():
    found = evidence(a=curve([10], 99_999), b=curve([20], 99_999))
    rule = rules.ahead("a", ("b",), ("t",))
    assert holds(rule, found) == holds(rules.shorter("a", "b", ("t",)), found) == [None]
    assert holds(rules.sub_optimal("b", ("t",)), found) == [None]
    assert "decide nothing" in rule(found, "tuned")[0].said


def test_stars_stand_for_all_tasks_that_begin_so():
    found = Evidence({(f"t{n}", name, "tuned"): curve([10]) for n in (1, 2) for name in "ab"}, {}, {})
    assert len(holds(rules.ahead("a", ("b",), ("t*",)), found)) == 2
    assert holds(rules.ahead("a", ("b",), ("u*",)), found) == []


def test_shorter_looks_at_the_last_common_step():
    found = evidence(a=curve([20, 10]), b=curve([15, 15, 5]), c=curve([None]), d=curve([None]))
    assert holds(rules.shorter("a", "b", ("t",)), found) == [True]
    assert holds(rules.shorter("b", "a", ("t",)), found) == [False]
    assert holds(rules.shorter("c", "d", ("t",)), found) == [None]


def test_sub_optimal_means_solved_and_beaten():
    found = evidence(a=curve([20]), b=curve([15]), c=curve([None]))
    assert holds(rules.sub_optimal("a", ("t",)), found) == [True]
    assert holds(rules.sub_optimal("b", ("t",)), found) == [False]
    assert holds(rules.sub_optimal("c", ("t",)), found) == [None]


def test_a_failure_in_few_steps_counts_only_where_another_method_succeeds_in_as_many():
    alone, million = evidence(a=curve([None])), evidence(a=curve([None], 1_000_000))
    assert holds(rules.fails(("a",), ("t",)), alone) == [None]
    assert holds(rules.fails(("a",), ("t",)), million) == [True]
    assert holds(rules.fails(("a",), ("t",)), evidence(a=curve([None, None]), b=curve([None, 9]))) == [True]
    assert holds(rules.fails(("a",), ("t",)), evidence(a=curve([None]), b=curve([None, 9]))) == [None]
    assert holds(rules.fails(("a",), ("t",)), evidence(a=curve([9]))) == [False]
    assert holds(rules.succeeds("a", ("t",)), alone) == [None]
    assert holds(rules.succeeds("a", ("t",)), million) == [False]


def test_growth_of_runtimes_is_flat_linear_or_exponential():
    def paces(times):
        return Evidence({}, {(f"water-{n}", "m", "heads"): t for n, t in zip((2, 3, 4, 5), times, strict=True)}, {})

    def law(kind, times):
        return holds(rules.grows(("m",), kind, ("water",)), paces(times), "heads")

    assert law("flat", (100, 99, 104, 110)) == [True]
    assert law("flat", (100, 110, 120, 130)) == [False]
    assert law("linear", (100, 150, 200, 250)) == [True]
    assert law("exponential", (100, 200, 400, 800)) == [True]
    assert holds(rules.grows(("m",), "linear", ("cheetah",)), paces((1, 2, 3, 4)), "heads") == [None]
