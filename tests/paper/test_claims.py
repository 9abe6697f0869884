import pytest

from errands.paper.claim_rules import Check
from errands.paper.claims import CLAIMS, Claim, judge, judge_all, over_all, verdict
from errands.paper.evidence import Evidence, Exact

NONE = Evidence({}, {}, {})


def test_verdicts_follow_from_the_checks_that_could_be_made():
    yes, no, open_ = Check(True, ""), Check(False, ""), Check(None, "")
    assert verdict([yes, yes, open_], False) == "reproduced"
    assert verdict([yes, no], False) == "partly"
    assert verdict([no, open_], False) == "not reproduced"
    assert verdict([no], True) == "refuted"
    assert verdict([open_], False) == verdict([], False) == "not run"


def test_a_check_that_does_not_tell_is_undecided_alone_and_takes_from_those_that_hold():
    yes, no, unclear = Check(True, ""), Check(False, ""), Check(None, "", undecided=True)
    assert verdict([unclear], False) == "undecided"
    assert verdict([yes, unclear], False) == "partly"
    assert verdict([no, unclear], False) == "not reproduced"
    assert over_all(["undecided", "not run"]) == "undecided"
    assert over_all(["undecided", "reproduced"]) == "partly"
    assert over_all(["undecided", "not reproduced"]) == "not reproduced"


def test_presets_that_disagree_make_it_partly_and_both_are_told():
    claim = Claim("x", "5", "words", lambda e, preset: [Check(preset == "paper", preset)], "errands x")
    judged = judge(claim, NONE, ("tuned", "paper"))
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
    found = Evidence({}, {}, {"office-3": Exact(26.0, 26.0), "office-6": Exact(60.0, single)})
    judged = {j.name: j.verdict for j in judge_all(found)}
    assert judged["global-optimality"] == verdict_
