from errands.analysis.curve import curve_of
from errands.paper import claim_rules as rules
from errands.paper.claim_rules import Check
from errands.paper.evidence import Evidence
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


def holds(rule, found):
    return [check.holds for check in rule(found, "tuned")]


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
    assert holds(rules.succeeds("m", ("t",)), evidence(m=long)) == [True]


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
