"""Machines read aloud: the sentences are those that a person would say of the paper's tasks."""

from __future__ import annotations

import pytest

from errands.machines import NumericRM
from errands.tasks import any_order, avoid, load, sequence
from errands.tasks.reading import read_aloud


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (
            sequence("a", "b"),
            ["Start in u0: reach a, then go to u1.", "In u1: reach b, then the task is done with reward 1."],
        ),
        (
            any_order("b1", "b2", after="s"),
            [
                "Start in u0: do one of b1, b2, then go to u1.",
                "In u1: reach s, then if some of b1, b2 remain go back to u0, else the task is done with reward 1.",
            ],
        ),
        (
            avoid("x", "y", any_order("p", "q")),
            [
                "Start in u0: do one of p, q, then if others remain stay in u0, else the task is done with reward 1.",
                "Always: x or y fails the task.",
            ],
        ),
        (any_order("only"), ["Start in u0: do only, then the task is done with reward 1."]),
    ],
)
def test_a_phrase_is_said_in_words(machine: NumericRM, said: list[str]) -> None:
    assert list(read_aloud(machine)) == said


def test_what_each_step_costs_is_said_apart() -> None:
    assert read_aloud(load("cheetah-bcd").machine)[-1] == (
        "In u0, each step pays -control_cost while none of B, C, D is completed."
    )


def test_from_the_seventh_on_subtasks_are_counted_instead_of_listed() -> None:
    assert "v1, v2, v3, v4, v5, v6," in read_aloud(load("visit-6").machine)[0]
    assert "v1, v2, ..., v7 (7 subtasks)" in read_aloud(load("visit-7").machine)[0]


def test_a_state_that_nothing_leaves_is_said_to_lead_nowhere() -> None:
    machine = NumericRM.of("u0", ["won"], ["u0 -> won : g & ~x ; 1", "u0 -> stuck : x ; 0"])
    assert read_aloud(machine)[1] == "In stuck: nothing leads on from here."
