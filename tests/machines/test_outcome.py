"""What all four machines make of the same trace is the same value."""

from __future__ import annotations

import pytest

from errands.machines import NumericRM, couple, unfold_agenda, unfold_boolean
from errands.machines.outcome import Outcome

from .examples import boxes


@pytest.mark.parametrize(
    ("trace", "outcome"),
    [
        ([], Outcome((), False, False)),
        ([set()], Outcome((0.0,), False, False)),
        ([{"b1"}, {"s"}, {"b2"}], Outcome((0.0, 0.0, 0.0), False, False)),
        ([{"b2"}, {"s"}, {"b1"}, {"s"}], Outcome((0.0, 0.0, 0.0, 1.0), True, True)),
        ([{"b2"}, {"s"}, {"b1"}, {"s"}, {"b1"}, {"s"}], Outcome((0.0, 0.0, 0.0, 1.0), True, True)),
    ],
)
def test_every_machine_of_figure_1_gives_the_outcome_found_by_hand(trace: list[set[str]], outcome: Outcome) -> None:
    numeric = boxes(2)
    agenda = unfold_agenda(numeric)
    assert [m.run(trace) for m in (numeric, unfold_boolean(numeric), agenda, couple(agenda))] == [outcome] * 4


def test_a_failure_is_terminal_without_success() -> None:
    lines = ["u0 -> won : g & ~x ; 1", "u0 -> lost : x ; -5"]
    machine = NumericRM.of("u0", ["won"], lines, failure=["lost"])
    assert machine.run([set(), {"g", "x"}, {"g"}]) == Outcome((0.0, -5.0), True, False)
