"""Rules on curves drawn by hand: what each calls as claimed, what not, and what undecided."""

import numpy as np

from errands.analysis.curve import curve_of
from errands.paper import rules
from errands.paper.evidence import Evidence
from errands.paper.rules import Check
from errands.tables import Evaluation

NONE = Evidence({}, {}, {})


def curve(*seeds, optimum=10.0):
    """Seeds as lengths at steps 100, 200, ...; None is a failure."""
    rows = [[Evaluation(100 * (i + 1), n or 1, 0.0, n is not None) for i, n in enumerate(seed)] for seed in seeds]
    return curve_of("m", "t", rows, optimum)


def at(step, last=10):
    """A curve whose median stays at `last` from a step on."""
    return curve(*[[last if s >= step else None for s in (100, 200, 300, 400)]] * 3)


def evidence(**by_method):
    curves = {("t", name.replace("_", " "), "tuned"): made for name, made in by_method.items()}
    return Evidence(curves, {}, {})


def holds(rule, found, preset="tuned"):
    return [check.holds for check in rule(found, preset)]


def test_reaching_the_optimum_means_that_the_median_stays_there():
    assert holds(rules.reaches_optimum("qcorm", ("t",)), evidence(qcorm=at(300))) == [True]
    assert holds(rules.reaches_optimum("qcorm", ("t",)), evidence(qcorm=at(300, 11))) == [False]
    assert holds(rules.reaches_optimum("qcorm", ("t", "u")), evidence(qcorm=at(300)))[1] is None


def test_before_compares_the_steps_from_which_medians_stay_near():
    early_late = evidence(qcorm=at(200), crm_agenda=at(300), crm_boolean=at(400))
    rule = rules.before(("qcorm",), ("crm agenda", "crm boolean"), ("t",))
    assert holds(rule, early_late) == [True]
    assert holds(rule, evidence(qcorm=at(400), crm_agenda=at(300))) == [False]
    assert holds(rule, evidence(qcorm=at(500), crm_agenda=at(500))) == [False]
    assert rule(early_late, "tuned")[0].said == "t: qcorm 200, crm agenda 300, crm boolean 400"


def test_fastest_and_slowest_look_at_all_methods_of_the_paper():
    found = evidence(hrm_agenda=at(100), qcorm=at(200), qrm_agenda=at(500), scout=at(100), dirl=at(500))
    assert holds(rules.fastest(("hrm agenda",), ("t",)), found) == [True]
    assert holds(rules.fastest(("qcorm",), ("t",)), found) == [False]
    assert holds(rules.slowest(("qrm agenda",), ("t",)), found) == [True]
    assert holds(rules.slowest(("qcorm",), ("t",)), found) == [False]


def test_failing_and_sub_optimal_are_told_apart():
    short, long, failing = at(100), at(100, 12), at(500)
    assert holds(rules.sub_optimal("m", ("t",)), evidence(m=long)) == [True]
    assert holds(rules.sub_optimal("m", ("t",)), evidence(m=short)) == [False]
    assert holds(rules.sub_optimal("m", ("t",)), evidence(m=failing)) == [False]
    assert holds(rules.fails("m", ("t",)), evidence(m=failing, other=short)) == [True]
    assert holds(rules.fails("m", ("t",)), evidence(m=failing)) == [None]
    assert holds(rules.never_settles("m", ("t",)), evidence(m=long)) == [True]
    assert holds(rules.succeeds("m", ("t",)), evidence(m=long)) == [True]


def test_similar_rates_lie_within_a_factor_of_one_and_a_half():
    rule = rules.similar("a", "b", ("t",))
    assert holds(rule, evidence(a=at(200), b=at(300))) == [True]
    assert holds(rule, evidence(a=at(200), b=at(400))) == [False]
    assert holds(rule, evidence(a=at(500), b=at(500))) == [None]
    assert holds(rules.sooner("a", "b", ("t",)), evidence(a=at(200), b=at(500))) == [True]


def test_growth_is_judged_for_both_domains():
    seconds = {
        (f"{family}-{n}", "qcorm", "tuned"): (1.0 + n,) for family in ("delivery", "office") for n in range(2, 7)
    }
    found = Evidence({}, seconds, {})
    assert holds(rules.grows(("qcorm",), "linear", ("delivery", "office")), found) == [True, True]
    assert holds(rules.grows(("qcorm", "crm agenda"), "exponential", ("delivery", "office")), found) == [
        False,
        None,
        False,
        None,
    ]


def test_hours_are_reckoned_from_the_largest_task_that_was_run():
    found = Evidence({}, {("delivery-6", "crm boolean", "tuned"): (3913.0,)}, {})
    (check,) = rules.exceeds_hours(("crm boolean",), 40.0)(found, "tuned")
    assert check == Check(True, "delivery-8, crm boolean: 61 hours a seed (from 6 boxes, in proportion to the states)")


def test_tables_of_boolean_machines_are_far_below_sixteen_gigabytes():
    said = [check.said for check in rules.boolean_memory((6, 8))(NONE, "exact")]
    assert said == ["delivery-6: 3,913 states, 12 MiB", "delivery-8: 219,201 states, 669 MiB"]


def long_curve(lengths, every=100_000, seeds=8):
    """Equal seeds with these lengths at multiples of `every`; None is a failure."""
    rows = [Evaluation(every * (i + 1), n or 1, 0.0, n is not None) for i, n in enumerate(lengths)]
    return curve_of("m", "t", [rows] * seeds)


def test_progress_weighs_every_evaluation_with_the_steps_before_it():
    one = long_curve([None, 20, 10, 40], 100)
    assert np.allclose(rules.progress(one, 10.0, 400), (0 + 0.5 + 1 + 0.25) / 4)
    assert np.allclose(rules.progress(one, 10.0, 250), 0.25)
    assert np.allclose(rules.progress(one, 10.0, 50), 0.0)


def test_ahead_means_better_over_the_steps_that_both_took():
    found = evidence(a=long_curve([None, 20, 20]), b=long_curve([None, None, 20, 10, 10, 10]))
    assert holds(rules.ahead("a", ("b",), ("t",)), found) == [True]
    assert holds(rules.ahead("b", ("a",), ("t",)), found) == [False]
    (same,) = rules.ahead("a", ("a",), ("t",))(found, "tuned")
    assert (same.holds, same.undecided) == (None, True)
    assert holds(rules.ahead("a", ("c",), ("t",)), found) == [None]
    assert holds(rules.ahead("a", ("b",), ("t",), 99_999), found) == [None]


def test_fewer_than_a_hundred_thousand_steps_decide_nothing():
    found = evidence(a=long_curve([10], 99_999), b=long_curve([20], 99_999))
    rule = rules.ahead("a", ("b",), ("t",))
    assert holds(rule, found) == holds(rules.shorter("a", "b", ("t",)), found) == [None]
    assert holds(rules.sub_optimal("b", ("t",)), found) == [None]
    assert "decide nothing" in rule(found, "tuned")[0].said
    # Beside a rival that came far enough, one that did not, or was not run, has no say; that it is missing is told.
    both = evidence(a=long_curve([10, 10]), b=long_curve([20, 20]), c=long_curve([5], 99_999))
    check, short, absent = rules.ahead("a", ("b", "c", "d"), ("t",))(both, "tuned")
    assert check.holds is True
    assert (short.holds, short.said) == (None, "t, a and c: run for too few steps")
    assert (absent.holds, absent.said) == (None, "t, a and d: not run")
    # On the steps and maps that these two share neither succeeds, though one of them does elsewhere.
    evaluated_at_end = {("t", "a", "tuned"): long_curve([None]), ("t", "c", "tuned"): long_curve([None]),
             ("t, map 1", "a", "tuned"): long_curve([10]), ("t, map 1", "b", "tuned"): long_curve([20])}  # fmt: skip
    check, silent = rules.ahead("a", ("b", "c"), ("t",))(Evidence(evaluated_at_end, {}, {}), "tuned")
    assert (check.holds, silent.said) == (True, "t, a and c: nothing was solved")


def test_a_map_that_was_not_run_takes_nothing_away_and_a_task_that_was_not_run_does():
    curves = {("t", "a", "tuned"): long_curve([10]), ("t, map 1", "b", "tuned"): long_curve([10])}
    checks = rules.succeeds("a", ("t", "u"))(Evidence(curves, {}, {}), "tuned")
    assert [(check.holds, check.needed) for check in checks] == [(True, True), (None, False), (None, True)]
    (further,) = rules.where_run(rules.succeeds("a", ("u",)))(Evidence(curves, {}, {}), "tuned")
    assert (further.holds, further.needed, further.said) == (None, False, "u, a: not run")
    (unclear,) = rules.where_run(lambda e, preset: [Check(None, "", undecided=True)])(Evidence({}, {}, {}), "tuned")
    assert unclear.needed, "looked at, and it did not tell"


def test_shorter_looks_at_the_last_common_step():
    found = evidence(a=long_curve([20, 10]), b=long_curve([15, 15, 5]), c=long_curve([None]), d=long_curve([None]))
    assert holds(rules.shorter("a", "b", ("t",)), found) == [True]
    assert holds(rules.shorter("b", "a", ("t",)), found) == [False]
    assert holds(rules.shorter("c", "d", ("t",)), found) == [None]


def test_sub_optimal_means_solved_and_beaten():
    found = evidence(a=long_curve([20]), b=long_curve([15]), c=long_curve([None]))
    assert holds(rules.sub_optimal("a", ("t",)), found) == [True]
    assert holds(rules.sub_optimal("b", ("t",)), found) == [False]
    assert holds(rules.sub_optimal("c", ("t",)), found) == [None]


def test_a_failure_in_few_steps_counts_only_where_another_method_succeeds_in_as_many():
    alone, million = evidence(a=long_curve([None])), evidence(a=long_curve([None], 1_000_000))
    assert holds(rules.fails("a", ("t",)), alone) == [None]
    assert holds(rules.fails("a", ("t",)), million) == [True]
    assert holds(rules.fails("a", ("t",)), evidence(a=long_curve([None, None]), b=long_curve([None, 9]))) == [True]
    assert holds(rules.fails("a", ("t",)), evidence(a=long_curve([None]), b=long_curve([None, 9]))) == [None]
    assert holds(rules.fails("a", ("t",)), evidence(a=long_curve([9]))) == [False]
    assert holds(rules.succeeds("a", ("t",)), alone) == [None]
    assert holds(rules.succeeds("a", ("t",)), million) == [False]


def test_growth_of_runtimes_is_flat_linear_or_exponential():
    def paces(times):
        return Evidence(
            {}, {(f"water-{n}", "m", "heads"): (t, 2 * t) for n, t in zip((2, 3, 4, 5), times, strict=True)}, {}
        )

    def law(kind, times):
        return holds(rules.grows(("m",), kind, ("water",)), paces(times), "heads")

    assert law("flat", (100, 99, 104, 110)) == [True]
    assert law("flat", (100, 110, 120, 130)) == [False]
    assert law("linear", (100, 150, 200, 250)) == [True]
    assert law("exponential", (100, 200, 400, 800)) == [True]
    assert holds(rules.grows(("m",), "linear", ("cheetah",)), paces((1, 2, 3, 4)), "heads") == [None]


def test_verdicts_are_taken_over_maps_and_their_interval_over_seeds_within_each():
    good, bad = long_curve([10, 10]), long_curve([30, 30])
    maps = {("t", "a"): good, ("t", "b"): bad, ("t, map 1", "a"): good, ("t, map 1", "b"): bad,
            ("t, map 2", "a"): bad, ("t, map 2", "b"): good}  # fmt: skip
    two = Evidence({(*key, "tuned"): c for key, c in maps.items() if "2" not in key[0]}, {})
    three = Evidence({(*key, "tuned"): c for key, c in maps.items()}, {})
    for rule in (rules.ahead("a", ("b",), ("t",)), rules.shorter("a", "b", ("t",))):
        assert holds(rule, two) == [True]
        (check,) = rule(three, "tuned")
        assert check.holds is True  # better on two maps of three, and no seed differs within a map
        assert check.said.startswith("t, maps 0, 1, 2, to 200,000: ")
        assert "0.67 [0.67, 0.67]" in check.said


def test_maps_with_too_few_common_steps_do_not_count():
    curves = {("t", "a"): long_curve([10, 10]), ("t", "b"): long_curve([30, 30]),
              ("t, map 1", "a"): long_curve([30], 50_000), ("t, map 1", "b"): long_curve([10], 50_000)}  # fmt: skip
    (check,) = rules.ahead("a", ("b",), ("t",))(
        Evidence({(*key, "tuned"): c for key, c in curves.items()}, {}), "tuned"
    )
    assert check.holds is True
    assert check.said.startswith("t, map 0, to 200,000: ")


def test_a_check_says_how_far_each_map_was_run_and_which_rival_was_run_less():
    long, short = long_curve([10] * 10), long_curve([20, 20])
    maps = {("t", "a"): long, ("t", "b"): long_curve([20] * 3), ("t", "c"): long_curve([20] * 10),
            ("t, map 1", "a"): long, ("t, map 1", "b"): short}  # fmt: skip
    found = Evidence({(*key, "tuned"): c for key, c in maps.items()}, {})
    (check,) = rules.ahead("a", ("b", "c"), ("t",))(found, "tuned")
    assert check.said == ("t, maps 0, 1, to 300,000 / 200,000: chance that a is ahead of b 1.00 [1.00, 1.00], "
                          "c 1.00 [1.00, 1.00] (map 0, to 1,000,000)")  # fmt: skip
    (check,) = rules.shorter("a", "b", ("t",))(found, "tuned")
    assert check.said.startswith("t, maps 0, 1, to 300,000 / 200,000: a 10 (8 of 8 solved), b 20 (8 of 8 solved); ")


def test_a_difference_in_length_must_be_more_than_chance():
    many, mixed = curve(*[[10]] * 8), curve(*[[10], [12]] * 4)
    rule = rules.shorter("a", "b", ("t",))
    assert holds(rule, evidence(a=many, b=mixed)) == [True]
    (same,) = rule(evidence(a=mixed, b=mixed), "tuned")
    assert (same.holds, same.undecided) == (None, True)
    assert holds(rule, evidence(a=many, b=many)) == [False]


def test_a_method_without_a_run_so_short_is_compared_by_its_shortest():
    evaluated_at_end = curve_of("dirl", "t", [[Evaluation(400_000, 30, 1.0, True)]] * 8, evaluated_at_end=True)
    (check,) = rules.sub_optimal("dirl", ("t",))(evidence(dirl=evaluated_at_end, a=long_curve([10, 10])), "tuned")
    assert check.holds is True
    assert "10 (8 of 8 solved) against 30 (8 of 8 solved)" in check.said


def test_only_one_method_succeeds_is_undone_by_one_other_that_does():
    yes, no, short = long_curve([9], 1_000_000), long_curve([None], 1_000_000), long_curve([None])
    rule = rules.only("a", ("b", "c"), ("t",))
    assert holds(rule, evidence(a=yes, b=no, c=no)) == [True]
    assert holds(rule, evidence(a=yes, b=no, c=yes)) == [False]
    assert holds(rule, evidence(b=long_curve([9]))) == [False]
    assert holds(rule, evidence(a=no, b=no, c=no)) == [False]
    assert holds(rule, evidence(a=yes, b=no, c=short)) == [None]
    assert holds(rule, evidence(a=yes, b=no)) == [None]
    assert holds(rule, NONE) == [None]
