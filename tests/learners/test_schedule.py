"""Schedules by hand: a straight line between two counts, constant before and after, in one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.errors import ConfigError
from errands.learners.schedule import Schedule, schedule_text


@pytest.mark.parametrize(("count", "value"), [(0, 0.3), (100, 0.3), (150, 0.2), (200, 0.1), (10**9, 0.1)])
def test_a_schedule_is_a_straight_line_between_two_counts(count, value):
    assert Schedule.of("0.3..0.1@100,200").at(count) == pytest.approx(value)
    assert Schedule.of("0.1..0.3@100,200").at(count) == pytest.approx(0.4 - value)


def test_a_number_is_a_schedule_that_does_not_change():
    assert schedule_text("0.25", "epsilon") == schedule_text(0.25, "epsilon") == 0.25
    assert Schedule.of(0.25).at(7) == 0.25


def test_a_schedule_may_say_what_it_counts():
    units = ("steps", "episodes")
    assert Schedule.of("1..0@0,90 episodes", units=units).unit == "episodes"
    assert schedule_text("1..0.1@0,90 steps", "epsilon", units) == "1.0..0.1@0,90"


@pytest.mark.parametrize(
    ("text", "said"),
    [("much", "write a number"), ("1..2@0,5", "between 0 and 1"), ("1..0@5,5", "must be larger"), ("1..0@0,9 days", "counts days"),
     ("nan", "write a number"), ("1..0@0", "write a number"), ("1..0@0,99999999999999999999", "2 \\*\\* 53"), ("-0.1", "write a number")],  # noqa: E501
)  # fmt: skip
def test_what_is_no_schedule_is_refused_in_a_sentence(text, said):
    with pytest.raises(ConfigError, match=said):
        Schedule.of(text, "epsilon")


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 10**6), st.integers(1, 10**6))
def test_what_is_stored_reads_back_the_same(start, end, first, more):
    text = schedule_text(f"{start!r}..{end!r}@{first},{first + more}", "epsilon")
    assert schedule_text(text, "epsilon") == text
    assert Schedule.of(text).at(first + more) == pytest.approx(end)
