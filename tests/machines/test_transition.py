"""One line of a machine: what is read, what is printed, what is paid, and what is refused."""

from __future__ import annotations

import pytest

from errands.errors import SpecError, TaskError
from errands.machines.transition import Reward, Transition, parse_reward, parse_transition


def test_a_line_is_read_in_its_four_parts() -> None:
    found = parse_transition("  u1 -> u2 : s & b⤓ ; 1 ")
    assert (found.source, found.target) == ("u1", "u2")
    assert str(found.guard) == "s & b⤓"
    assert found.reward == Reward(1.0)


@pytest.mark.parametrize(
    "line", ["u0 -> u0 : b! ; 0", "u1 -> u2 : s & b⤓ ; 1", "a -> b : ~(p | q) ; -0.5", "a -> b : p ; -cost"]
)
def test_what_is_printed_is_read_back_as_the_same(line: str) -> None:
    read = parse_transition(line)
    assert parse_transition(str(read)) == read
    assert str(read.reward) == line.split(";")[1].strip()


def test_a_number_is_paid_whatever_is_reported() -> None:
    assert Reward(2.5).paid(None) == 2.5
    assert Reward(2.5).paid({"cost": 9.0}) == 2.5


def test_a_signal_is_paid_times_its_factor() -> None:
    assert parse_reward("-cost").paid({"cost": 3.0}) == -3.0
    assert parse_reward("cost").paid({"cost": 3.0}) == 3.0
    assert Reward(0.5, "cost").paid({"cost": 3.0}) == 1.5
    assert str(Reward(0.5, "cost")) == "0.5 cost"


@pytest.mark.parametrize("signals", [None, {}, {"other": 1.0}])
def test_a_signal_that_the_step_does_not_report_is_named(signals: dict[str, float] | None) -> None:
    with pytest.raises(TaskError, match=r"the signal 'cost', which this step does not report; pass signals="):
        Reward(-1.0, "cost").paid(signals)


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "Infinity", "1e999", "-NaN"])
def test_a_reward_that_is_no_finite_number_is_refused(word: str) -> None:
    with pytest.raises(SpecError, match="not a finite number"):
        parse_reward(word)


@pytest.mark.parametrize("word", ["", "two words", "3x", "a;b", "--cost"])
def test_a_reward_that_is_neither_number_nor_name_is_refused(word: str) -> None:
    with pytest.raises(SpecError, match="neither a number nor the name of a signal"):
        parse_reward(word)


@pytest.mark.parametrize("line", ["", "u0 u1 : p ; 0", "u0 -> u1 ; 0", "u0 -> u1 : p", "-> u1 : p ; 0"])
def test_a_line_of_another_shape_is_refused_with_the_shape(line: str) -> None:
    with pytest.raises(SpecError, match="is not a transition; write 'from -> to : guard ; reward'"):
        parse_transition(line)


def test_a_fault_inside_a_line_shows_the_line() -> None:
    with pytest.raises(SpecError, match=r"\(in 'u0 -> u1 : p & ; 0'\)"):
        parse_transition("u0 -> u1 : p & ; 0")
    with pytest.raises(SpecError, match="'u-1' cannot name a machine state"):
        parse_transition("u0 -> u-1 : p ; 0")


def test_the_reward_of_a_transition_is_zero_unless_given() -> None:
    guard = parse_transition("u0 -> u1 : p ; 7").guard
    assert str(Transition("u0", "u1", guard)) == "u0 -> u1 : p ; 0"
