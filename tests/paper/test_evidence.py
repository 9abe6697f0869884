import math

from errands.analysis.curve import curve_of
from errands.paper.evidence import Evidence, evidence_of, steps
from errands.paper.measured import measure
from errands.paper.paper import Cell, Method
from errands.tables import Evaluation


def test_medians_of_steps_and_lengths_are_infinite_where_half_of_the_seeds_fail():
    rows = [[Evaluation(100, 7, 0.0, False), Evaluation(200, 10, float(good), good)] for good in (True, False)]
    found = Evidence({("t", "m", "tuned"): curve_of("m", "t", rows, 10.0)}, {}, {})
    assert found.final("t", "m", "tuned") == math.inf
    assert found.near("t", "m", "tuned") == math.inf
    assert found.final("t", "other", "tuned") is None


def test_evidence_of_measured_cells_has_their_curves_and_median_seconds():
    cell = measure(Cell("figure-1", Method("crm", "agenda"), "tuned", 2_000, 3))
    found = evidence_of([cell, measure(Cell("delivery-12", Method("crm", "boolean"), "tuned", 10, 1))], {})
    assert list(found.curves) == [("figure-1", "crm agenda", "tuned")]
    assert found.seconds["figure-1", "crm agenda", "tuned"] == sorted(cell.per_million)[1]
    assert found.settled("figure-1", "crm agenda", "tuned") == cell.curve.settled(0.1, 10)


def test_growth_needs_four_sizes():
    seconds = {(f"office-{n}", "m", "tuned"): 2.0**n for n in (2, 3, 4)}
    assert Evidence({}, seconds, {}).growth("office", "m", "tuned") is None
    law = Evidence({}, {**seconds, ("office-10", "m", "tuned"): 1024.0}, {}).growth("office", "m", "tuned")
    assert law is not None
    assert (law[0].kind, law[1]) == ("exponential", (2, 3, 4, 10))


def test_steps_in_words():
    assert [steps(None), steps(math.inf), steps(12_000.0)] == ["not run", "never", "12,000"]
