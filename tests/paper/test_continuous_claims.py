from errands.paper.claims import judge_all
from errands.paper.continuous_claims import CONTINUOUS
from errands.paper.evidence import Evidence


def test_with_nothing_measured_nothing_is_judged():
    judged = judge_all(Evidence({}, {}, {}), CONTINUOUS)
    assert {claim.verdict for claim in judged} == {"not run"}
    assert len({claim.name for claim in judged}) == len(CONTINUOUS) == 16


def test_runtimes_are_judged_for_both_networks():
    seconds = {(f"water-{n}", "qrm agenda", "one-hot"): 100.0 for n in (2, 5)}
    judged = {claim.name: claim for claim in judge_all(Evidence({}, seconds, {}), CONTINUOUS)}
    assert judged["deep-qrm-flat"].by_preset == {"heads": "not run", "one-hot": "reproduced"}
