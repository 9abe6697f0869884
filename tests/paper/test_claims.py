import pytest

from errands.analysis.curve import curve_of
from errands.oracle.one_policy import OnePolicy
from errands.paper.claims import CLAIMS, FRESH, PaperClaim, judge, judge_all, over_all, verdict
from errands.paper.evidence import Evidence, exact
from errands.paper.rules import Check
from errands.tables import Evaluation

NONE = Evidence({}, {}, {})


def test_verdicts_follow_from_the_checks_that_could_be_made():
    yes, no, open_ = Check(True, ""), Check(False, ""), Check(None, "")
    assert verdict([yes, yes], False) == "reproduced"
    assert verdict([yes, no], False) == "partly"
    assert verdict([no, open_], False) == "not reproduced"
    assert verdict([no], True) == "refuted"
    assert verdict([open_], False) == verdict([], False) == "not run"


def test_what_was_not_run_keeps_a_claim_from_being_reproduced_unless_it_is_a_further_map():
    yes, no = Check(True, ""), Check(False, "")
    open_, further = Check(None, ""), Check(None, "", needed=False)
    assert verdict([yes, open_], False) == "partly"
    assert verdict([yes, further], False) == "reproduced"
    assert verdict([no, open_, further], False) == "not reproduced"
    assert verdict([further], False) == "not run"


def test_a_claim_about_two_places_and_four_is_judged_by_both():
    late = (100_000, 200_000, 300_000)
    solved, failed = ([[Evaluation(at, 90, 0.0, good) for at in late]] * 5 for good in (True, False))
    curves = {("cheetah-bcd", "dirl", "tuned"): curve_of("dirl", "cheetah-bcd", failed),
              ("cheetah-bcd", "qcorm", "tuned"): curve_of("qcorm", "cheetah-bcd", solved)}  # fmt: skip
    judged = {j.name: j for j in judge_all(Evidence(curves, {}, {}))}["cheetah-dirl-fails"]
    assert judged.by_preset == {"tuned": "partly", "paper": "not run"}
    assert judged.measured["tuned"][1] == "cheetah-bcde, dirl: not run"
    four = {("cheetah-bcde", *key[1:]): curve for key, curve in curves.items()}
    judged = {j.name: j for j in judge_all(Evidence(curves | four, {}, {}))}["cheetah-dirl-fails"]
    assert judged.by_preset["tuned"] == "reproduced"


def test_a_check_that_does_not_tell_is_undecided_alone_and_takes_from_those_that_hold():
    yes, no, unclear = Check(True, ""), Check(False, ""), Check(None, "", undecided=True)
    assert verdict([unclear], False) == "undecided"
    assert verdict([yes, unclear], False) == "partly"
    assert verdict([no, unclear], False) == "not reproduced"
    assert over_all(["undecided", "not run"]) == "undecided"
    assert over_all(["undecided", "reproduced"]) == "partly"
    assert over_all(["undecided", "not reproduced"]) == "not reproduced"


def test_presets_that_disagree_make_it_partly_and_both_are_told():
    claim = PaperClaim("x", "5", "words", lambda e, preset: [Check(preset == "paper", preset)], "errands x")
    judged = judge(claim, NONE)
    assert (judged.verdict, judged.by_preset) == ("partly", {"tuned": "not reproduced", "paper": "reproduced"})
    assert judged.measured == {"tuned": ["tuned"], "paper": ["paper"]}


def test_over_all_counts_only_what_was_run():
    assert over_all(["reproduced", "not run"]) == "reproduced"
    assert over_all(["not reproduced", "not reproduced"]) == "not reproduced"
    assert over_all(["refuted"]) == "refuted"
    assert over_all(["not run", "not run"]) == "not run"


def test_with_no_evidence_only_what_is_computed_has_a_verdict():
    verdicts = {j.name: j.verdict for j in judge_all(NONE)}
    assert verdicts.pop("boolean-memory") == "refuted"
    assert set(verdicts.values()) == {"not run"}
    assert len(verdicts) == len(CLAIMS) - 1


@pytest.mark.parametrize(("single", "verdict_"), [(60.0, "reproduced"), (61.0, "refuted"), (None, "refuted")])
def test_one_task_where_one_policy_per_subtask_falls_short_refutes_global_optimality(single, verdict_):
    found = Evidence({}, {}, {"office-3": OnePolicy(26, 26), "office-6": OnePolicy(single, 60)})
    judged = {j.name: j.verdict for j in judge_all(found)}
    assert judged["global-optimality-office"] == verdict_
    assert judged["global-optimality-one-coffee"] == "not run"


def test_the_oracle_refutes_global_optimality_for_fresh_coffees_and_in_general_but_not_for_one_coffee():
    judged = {j.name: j for j in judge_all(Evidence({}, {}, exact()))}
    assert judged["global-optimality"].verdict == "refuted"
    assert judged["global-optimality"].measured["exact"][0].endswith("corridor: optimum 20, one policy per subtask 21")
    assert judged["global-optimality-office"].verdict == "refuted"
    assert judged["global-optimality-office"].reading == "a fresh coffee for each office"
    one = judged["global-optimality-one-coffee"]
    assert one.verdict == "reproduced"
    assert "office-6-one-coffee: optimum 42, one policy per subtask 42" in one.measured["exact"][0]


def test_both_readings_of_office_are_judged_by_the_same_rules():
    names = {claim.name for claim in CLAIMS}
    fresh = {claim.name for claim in CLAIMS if claim.reading == FRESH and not claim.exact}
    assert len(fresh) == 5
    assert {f"{name}-one-coffee" for name in fresh} <= names


def test_runtimes_are_judged_for_both_networks():
    seconds = {(f"water-{n}", "qrm agenda", "one-hot"): (100.0,) for n in (2, 5)}
    seconds |= {(f"cheetah-{places}", "qrm agenda", "one-hot"): (100.0,) for places in ("b", "bcde")}
    judged = {claim.name: claim for claim in judge_all(Evidence({}, seconds, {}))}
    assert judged["deep-qrm-flat"].by_preset == {"heads": "not run", "one-hot": "reproduced"}
    assert judged["deep-qrm-flat"].words == "reproduced (one-hot: reproduced)"


def test_names_are_unique_and_the_papers_continuous_claims_are_all_there():
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    assert sum(claim.deep for claim in CLAIMS) >= 16
