import math

import pytest

from errands.experiments import claim_rules as rules
from errands.experiments.claim_rules import Check
from errands.experiments.claims import CLAIMS, Claim, judge, judge_all, verdict
from errands.experiments.evidence import Evidence, Exact
from errands.records import Evaluation
from errands.results.curve import curve_of

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


def holds(rule, found):
    return [check.holds for check in rule(found, "tuned")]


def test_verdicts_follow_from_the_checks_that_could_be_made():
    yes, no, open_ = Check(True, ""), Check(False, ""), Check(None, "")
    assert verdict([yes, yes, open_], False) == "reproduced"
    assert verdict([yes, no], False) == "partly"
    assert verdict([no, open_], False) == "not reproduced"
    assert verdict([no], True) == "refuted"
    assert verdict([open_], False) == verdict([], False) == "not run"


def test_the_better_preset_counts_and_both_are_told():
    claim = Claim("x", "5", "words", lambda e, preset: [Check(preset == "paper", preset)], "errands x")
    judged = judge(claim, NONE, ("tuned", "paper"))
    assert (judged.verdict, judged.by_preset) == ("reproduced", {"tuned": "not reproduced", "paper": "reproduced"})
    assert judged.measured == {"tuned": ["tuned"], "paper": ["paper"]}


def test_with_no_evidence_only_what_is_computed_has_a_verdict():
    verdicts = {j.name: j.verdict for j in judge_all(NONE)}
    assert verdicts.pop("boolean-memory") == "refuted"
    assert set(verdicts.values()) == {"not run"}
    assert len(verdicts) == len(CLAIMS) - 1


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
    assert holds(rules.fails("m", ("t",)), evidence(m=failing)) == [True]
    assert holds(rules.never_settles("m", ("t",)), evidence(m=long)) == [True]
    assert holds(rules.settles("m", ("t",)), evidence(m=short)) == [True]


def test_similar_rates_lie_within_a_factor_of_one_and_a_half():
    rule = rules.similar("a", "b", ("t",))
    assert holds(rule, evidence(a=at(200), b=at(300))) == [True]
    assert holds(rule, evidence(a=at(200), b=at(400))) == [False]
    assert holds(rule, evidence(a=at(500), b=at(500))) == [None]
    assert holds(rules.sooner("a", "b", ("t",)), evidence(a=at(200), b=at(500))) == [True]


def test_an_improvement_must_be_more_than_chance():
    many = curve(*[[10]] * 8)
    mixed = curve(*[[10], [12]] * 4)
    assert holds(rules.improves("a", "b", ("t",)), evidence(a=many, b=mixed)) == [True]
    assert holds(rules.improves("a", "b", ("t",)), evidence(a=mixed, b=mixed)) == [False]
    assert holds(rules.improves("a", "b", ("t",)), evidence(a=many, b=many)) == [False]


def test_growth_is_judged_for_both_domains():
    seconds = {(f"{family}-{n}", "qcorm", "tuned"): 1.0 + n for family in ("delivery", "office") for n in range(2, 7)}
    found = Evidence({}, seconds, {})
    assert holds(rules.grows(("qcorm",), "linear"), found) == [True, True]
    assert holds(rules.grows(("qcorm", "crm agenda"), "exponential"), found) == [False, None, False, None]


def test_hours_are_reckoned_from_the_largest_task_that_was_run():
    found = Evidence({}, {("delivery-6", "crm boolean", "tuned"): 3913.0}, {})
    (check,) = rules.exceeds_hours(("crm boolean",), 40.0)(found, "tuned")
    assert check == Check(True, "delivery-8, crm boolean: 61 hours (from 6 boxes, in proportion to the states)")


def test_tables_of_boolean_machines_are_far_below_sixteen_gigabytes():
    said = [check.said for check in rules.boolean_memory((6, 8))(NONE, "exact")]
    assert said == ["delivery-6: 3,913 states, 12 MiB", "delivery-8: 219,201 states, 669 MiB"]


@pytest.mark.parametrize(("single", "verdict_"), [(60.0, "reproduced"), (61.0, "refuted"), (None, "refuted")])
def test_one_task_where_one_policy_per_subtask_falls_short_refutes_global_optimality(single, verdict_):
    found = Evidence({}, {}, {"office-3": Exact(26.0, 26.0), "office-6": Exact(60.0, single)})
    judged = {j.name: j.verdict for j in judge_all(found)}
    assert judged["global-optimality"] == verdict_


def test_medians_of_steps_and_lengths_are_infinite_where_half_of_the_seeds_fail():
    found = evidence(m=curve([None, 10], [None, None]))
    assert found.final("t", "m", "tuned") == math.inf
    assert found.near("t", "m", "tuned") == math.inf
    assert found.final("t", "other", "tuned") is None
