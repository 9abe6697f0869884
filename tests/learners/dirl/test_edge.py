"""Edges: random numbers by job, probabilities with Wilson's interval, and where attempts ended as starts."""

import numpy as np
import pytest
from scipy.stats import binomtest

from errands.learners.base import SavedArray
from errands.learners.dirl.graph import AbstractEdge
from errands.learners.dirl.tabular import EdgeJob, EdgeResult, Starts, gathered, joined
from errands.oracle.episode import wilson

EDGE = AbstractEdge(0, 1, "b1", "")
NOWHERE = Starts(np.zeros(0, np.int32), np.zeros(0))


@pytest.mark.parametrize(("successes", "attempts"), [(0, 10), (1, 10), (7, 10), (10, 10), (33, 90)])
def test_intervals_are_those_of_scipy(successes, attempts):
    low, high = binomtest(successes, attempts).proportion_ci(method="wilson")
    assert wilson(successes, attempts) == pytest.approx((low, high), abs=1e-6)


def test_an_edge_that_was_never_tried_may_be_anything():
    result = EdgeResult(0, 100, 0, 0, 0)
    assert (result.probability, wilson(result.successes, result.attempts)) == (0.0, (0.0, 1.0))
    assert EdgeResult(0, 100, 5, 4, 3).probability == 0.75


def test_random_numbers_depend_on_seed_and_number_of_the_edge_only():
    draw = [
        EdgeJob(n, EDGE, NOWHERE, t, 1, 1, s).rng().random() for n, t, s in ((1, 5, 0), (1, 9, 0), (2, 5, 0), (1, 5, 3))
    ]
    assert draw[0] == draw[1]
    assert len({*draw}) == 3


def test_states_become_starts_as_likely_as_they_were_frequent():
    rows, cumulative = gathered(np.array([4, 2, 4, 4]))
    assert rows.tolist() == [2, 4]
    assert cumulative.tolist() == [0.25, 1.0]
    rows, cumulative = gathered(np.array([[1.0, 2.0], [1.0, 0.0], [1.0, 2.0]]))
    assert rows.tolist() == [[1.0, 0.0], [1.0, 2.0]]
    assert cumulative == pytest.approx([1 / 3, 1.0])
    assert cumulative[-1] == 1.0


def test_groups_are_joined_and_none_at_all_have_the_type_of_the_form():
    form = SavedArray("int64", ("rows",), "numbers")
    assert joined([np.array([1, 2]), np.array([], int), np.array([3])], form).tolist() == [1, 2, 3]
    assert (joined([], form).shape, joined([], form).dtype) == ((0,), np.int64)


def test_rows_of_text_are_filled_with_blanks():
    short, long = (np.frombuffer(t, np.uint8)[None] for t in (b"ab", b"abcd"))
    rows = joined([short, long], SavedArray("uint8", ("rows", "width"), "text"))
    assert [bytes(row) for row in rows] == [b"ab  ", b"abcd"]
