"""Evidence: what run folders have measured, and questions to it."""

import math

import numpy as np
import pytest

from errands.analysis.curve import curve_of
from errands.paper.evidence import Evidence, gather, in_steps, steadied
from errands.runs.plan import make_block
from errands.runs.sweep import begin, train_sweep
from errands.tables import Evaluation


def curve(lengths, evaluated_at_end=False):
    """One seed; None is a failure."""
    rows = [Evaluation(100 * (i + 1), n or 1, 0.0, n is not None) for i, n in enumerate(lengths)]
    return curve_of("m", "t", [rows], evaluated_at_end=evaluated_at_end)


def test_medians_of_steps_and_lengths_are_infinite_where_half_of_the_seeds_fail():
    rows = [[Evaluation(100, 7, 0.0, False), Evaluation(200, 10, float(good), good)] for good in (True, False)]
    found = Evidence({("t", "m", "tuned"): curve_of("m", "t", rows, 10.0)}, {}, {})
    assert found.final("t", "m", "tuned") == math.inf
    assert found.near("t", "m", "tuned") == math.inf
    assert found.final("t", "other", "tuned") is None


def test_growth_needs_four_sizes_and_another_reading_of_office_is_no_size():
    seconds = {(f"office-{n}", "m", "tuned"): (2.0**n,) for n in (2, 3, 4)}
    other = {("office-6-one-coffee", "m", "tuned"): (9.0,)}
    assert Evidence({}, {**seconds, **other}).growth("office", "m", "tuned") is None
    law = Evidence({}, {**seconds, ("office-6", "m", "tuned"): (64.0,)}).growth("office", "m", "tuned")
    assert law is not None
    assert (law[0].kind, law[1]) == ("exponential", [2, 3, 4, 6])


def test_runtimes_are_the_least_over_seeds_or_repeats():
    found = Evidence({}, {("t", "m", "tuned"): (1.0, 2.0, 9.0), ("t", "m", "heads"): (271.6, 287.9, 240.0)})
    assert found.runtime("t", "m", "tuned") == 1.0
    assert found.runtime("t", "m", "heads") == 240.0
    assert found.runtime("t", "n", "heads") is None


def test_one_bad_evaluation_among_three_undoes_nothing():
    assert steadied(curve([None, 20, 20, None, 22, 21])).lengths.tolist() == [[np.inf, np.inf, 20, 20, 22, 22]]


def test_budgets_are_runs_of_their_own_and_are_not_steadied():
    assert steadied(curve([None, 40, 30], evaluated_at_end=True)).lengths.tolist() == [[np.inf, 40, 30]]


def test_steps_in_words():
    assert [in_steps(None), in_steps(math.inf), in_steps(12_000.0)] == ["not run", "never", "12,000"]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Three methods on a small task, one of which cannot be trained."""
    blocks = [
        make_block({"task": "delivery-2", "learner": "crm", "seeds": 3, "steps": 2_000, "set": ["eval_every=500"]}),
        make_block({"task": "delivery-2", "learner": "dirl", "seeds": 2, "steps": [1_000, 4_000]}),
        make_block({"task": "delivery-12", "learner": "crm", "machine": "boolean", "seeds": 1, "steps": 10}),
    ]
    begun = begin(blocks, tmp_path_factory.mktemp("paper") / "sweep")
    train_sweep(begun, 1, quiet=True)
    return begun


def test_run_folders_give_curves_seconds_and_errors(sweep):
    found = gather(sweep)
    assert set(found.evidence.curves) == {("delivery-2", "crm agenda", "tuned"), ("delivery-2", "dirl", "tuned")}
    assert found.evidence.curves["delivery-2", "crm agenda", "tuned"].seeds == 3
    assert found.evidence.curves["delivery-2", "dirl", "tuned"].steps.tolist() == [1_000, 4_000]
    # Methods that stop by themselves have no time per step.
    assert list(found.evidence.seconds) == [("delivery-2", "crm agenda", "tuned")]
    assert all(s > 0 for s in found.evidence.seconds["delivery-2", "crm agenda", "tuned"])
    assert found.unfinished == ()
    (error,) = found.errors
    assert error.startswith("delivery-12 crm boolean tuned: ")


def test_what_is_not_at_its_end_is_named(tmp_path):
    begun = begin([make_block({"task": "delivery-2", "learner": "qcorm", "seeds": 1, "steps": 100})], tmp_path / "s")
    assert gather(begun).unfinished == ("delivery-2 qcorm tuned at 0 of 100",)
