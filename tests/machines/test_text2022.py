"""Machines written for the 2022 reward-machine code are read as they were meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.errors import ErrandsError, SpecError
from errands.machines import NumericRM
from errands.machines.text2022 import parse_text2022

COFFEE = """
0      # initial state
[2,3]  # terminal states: delivered, broken
(0,0,'!f&!n',ConstantRewardFunction(0))
(0,1,'f&!n',ConstantRewardFunction(0))
(0,3,'n',ConstantRewardFunction(0))   # a decoration
(1,1,'!g&!n',ConstantRewardFunction(0))
(1,2,'g&!n',ConstantRewardFunction(1))
(1,3,'n',ConstantRewardFunction(0))
"""


def test_coffee_to_the_office_becomes_the_same_machine_written_by_hand() -> None:
    assert parse_text2022(COFFEE) == NumericRM.of(
        "u0",
        ["u2"],
        [
            "u0 -> u0 : ~f & ~n ; 0",
            "u0 -> u1 : f & ~n ; 0",
            "u0 -> u3 : n ; 0",
            "u1 -> u1 : ~g & ~n ; 0",
            "u1 -> u2 : g & ~n ; 1",
            "u1 -> u3 : n ; 0",
        ],
        failure=["u3"],
    )


def test_stepping_on_a_decoration_is_not_paid_as_a_delivery() -> None:
    machine = parse_text2022(COFFEE)
    assert machine.run([{"f"}, set(), {"g"}]).rewards == (0.0, 0.0, 1.0)
    broken = machine.run([{"f"}, {"n", "g"}])
    assert (broken.rewards, broken.terminal, broken.success) == ((0.0, 0.0), True, False)
    assert machine.features == ("f", "n", "g")


def test_the_machine_can_be_written_in_the_format_and_read_again() -> None:
    machine = parse_text2022(COFFEE)
    edges = "\n".join(
        f"({t.source[1:]}, {t.target[1:]}, '{str(t.guard).replace('~', '!')}', ConstantRewardFunction({t.reward}))"
        for t in machine.transitions
    )
    assert parse_text2022(f"0\n[2, 3]\n{edges}\n") == machine


def test_several_edges_between_two_states_all_count_with_their_own_rewards() -> None:
    machine = parse_text2022("0\n[1]\n(0,1,'a&!b',ConstantRewardFunction(1))\n(0,1,'b',ConstantRewardFunction(5.5e0))")
    assert machine.run([{"a"}]).rewards == (1.0,)
    assert machine.run([{"a", "b"}]).rewards == (5.5,)


def test_terminals_never_paid_are_all_successes() -> None:
    machine = parse_text2022(
        "0\n[-1, 2]\n(0,-1,'a&!b',ConstantRewardFunction(-1))\n(0,2,'b',ConstantRewardFunction(0))"
    )
    assert (machine.success, machine.failure) == (("t1", "u2"), ())


def test_disjunctions_double_negations_and_guards_that_always_hold_are_read() -> None:
    machine = parse_text2022(
        "0\n[2]\n(0,1,'True',ConstantRewardFunction(0))\n(1,2,\"a & !b|!!c\",ConstantRewardFunction(1))"
    )
    assert [str(t.guard) for t in machine.transitions] == ["true", "a & ~b | c"]
    assert str(parse_text2022("0\n[1]\n(0,1,'',ConstantRewardFunction(1))").transitions[0].guard) == "true"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "0 lines with content"),
        ("0\n[1]\n", "2 lines"),
        ("x\n[1]\n(0,1,'a',ConstantRewardFunction(1))", "line 1, column 1: found 'x' where a state number"),
        ("0\n1\n(0,1,'a',ConstantRewardFunction(1))", "line 2, column 1: found '1' where a list of terminals"),
        ("0\n[1 2]\n(0,1,'a',ConstantRewardFunction(1))", "line 2, column 4"),
        ("0\n[1]\n(0,1,'a&',ConstantRewardFunction(1))", "line 3, column 9: .* a feature"),
        ("0\n[1]\n(0,1,'a b',ConstantRewardFunction(1))", "line 3, column 9"),
        ("0\n[1]\n(0,1,'a&not',ConstantRewardFunction(1))", "reserved word"),
        ("0\n[1]\n(0,1,'a',__import__('os'))", "line 3, column 10: .* ConstantRewardFunction"),
        ("0\n[1]\n(0,1,'a',ConstantRewardFunction(1e999))", "not a finite number"),
        ("0\n[1]\n(0,1,'a',ConstantRewardFunction(1)", "end of the line where '\\)'"),
        ("0\n[1]\n(0,1,'a',ConstantRewardFunction(1)) x", "where the end of the line"),
        ("0\n[1,7]\n(0,1,'a',ConstantRewardFunction(1))", "no transition names the terminal state 'u7'"),
        ("0\n[1]\n(0,1,'a',ConstantRewardFunction(1))\n(0,2,'b',ConstantRewardFunction(1))", "disagree"),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        parse_text2022(text)


@given(st.text("0123456789[](),'\"ab!&|# \nTrueConstantRewardFunction.-", max_size=80))
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    try:
        parse_text2022("0\n[1]\n(0,1,'a',ConstantRewardFunction(1))\n" + text)
    except ErrandsError as fault:
        assert str(fault)  # noqa: PT017 (only the kind of error matters)
