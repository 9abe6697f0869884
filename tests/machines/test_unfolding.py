"""Figure 2 of the paper, the closed forms of facts.md, and what must be refused."""

from __future__ import annotations

from math import factorial

import pytest

from errands.errors import TaskError
from errands.machines import NumericRM, Stepper, couple, size, unfold_agenda, unfold_boolean
from errands.machines.counting import Quotient
from errands.tasks import sequence

from .examples import boxes

AGENDA = {"0{b1,b2}{b1,b2}", "1{b1}s", "1{b2}s", "2{b1}b1", "2{b2}b2", "3{}s", "4{}"}
COUPLED = (AGENDA - {"0{b1,b2}{b1,b2}"}) | {"0{b1,b2}b1", "0{b1,b2}b2"}


def test_figure_2_has_nine_seven_and_eight_states_with_its_labels() -> None:
    machine = boxes(2)
    agenda = unfold_agenda(machine)
    coupled = couple(agenda)
    assert len(machine) == 3
    assert len(unfold_boolean(machine)) == 9
    assert {str(label) for label in agenda.labels} == AGENDA
    assert len(agenda) == 7
    assert {str(label) for label in coupled.labels} == COUPLED
    assert len(coupled) == 8
    assert coupled.objectives == ("b1", "b2", "s")


@pytest.mark.parametrize("n", range(1, 9))
def test_sizes_are_the_closed_forms(n: int) -> None:
    machine = boxes(n)
    sizes = size(machine)
    assert sizes.boolean == 1 + 2 * sum(factorial(n) // factorial(n - k) for k in range(1, n + 1))
    assert sizes.agenda == 2 ** (n + 1) - 1 == len(unfold_agenda(machine))
    assert sizes.coupled == n * 2 ** (n - 1) + 2**n == len(couple(unfold_agenda(machine)))
    assert sizes.policies == n + 1
    if n < 7:
        assert sizes.boolean == len(unfold_boolean(machine))


def test_sizes_named_in_the_facts() -> None:
    assert [size(boxes(n)).boolean for n in range(2, 9)] == [9, 31, 129, 651, 3_913, 27_399, 219_201]
    assert len(unfold_agenda(boxes(16))) == 131_071


def test_a_machine_over_budget_is_refused_with_its_predicted_size() -> None:
    with pytest.raises(TaskError, match="2,604,122,689 states"):
        unfold_boolean(boxes(12))
    with pytest.raises(TaskError, match=r"agenda machine would have 7 states, more than the budget of 6"):
        unfold_agenda(boxes(2), budget=6)


def test_sixty_four_and_more_subtasks_are_stepped() -> None:
    for count in (64, 200):
        trace = [{f"b{i // 2 + 1}"} if i % 2 == 0 else {"s"} for i in range(2 * count)]
        outcome = Stepper(boxes(count)).run(trace)
        assert outcome.success
        assert len(outcome.rewards) == 2 * count


def test_sequence_a_b_a_keeps_equal_objectives_at_different_depths_apart() -> None:
    coupled = couple(unfold_agenda(sequence("a", "b", "a")))
    assert [str(label) for label in coupled.labels] == ["0{}a", "1{}b", "2{}a", "3{}"]
    assert coupled.objectives == ("a", "b")


def test_labels_do_not_identify_states_in_general() -> None:
    """The counterexample to Proposition 2 in facts.md."""
    lines = ["u0 -> u1 : a & ~b ; 0", "u0 -> u2 : b & ~a ; 0", "u1 -> win : c ; 1", "u2 -> lose : c ; 0"]
    agenda = unfold_agenda(NumericRM.of("u0", ["win"], lines, failure=["lose"]))
    assert [str(label) for label in agenda.labels].count("1{}c") == 2
    assert len(set(agenda.states)) == len(agenda)


def test_a_failure_is_one_state_whatever_remains() -> None:
    lines = ["u0 -> u0 : n↓ & ~d ; 0", "u0 -> won : n⤓ & ~d ; 1", "u0 -> lost : d ; 0"]
    machine = NumericRM.of("u0", ["won"], lines, failure=["lost"], numeric={"n": ["x", "y", "z"]})
    assert len(unfold_agenda(machine)) == 2**3 + 1
    assert len(unfold_boolean(machine)) == 1 + 3 + 6 + 6 + 1


def test_depth_is_the_shortest_distance_also_without_building() -> None:
    agenda = unfold_agenda(boxes(4))
    quotient = Quotient(boxes(4))
    assert [quotient.label(state) for state in agenda.states] == list(agenda.labels)


def test_two_variables_open_at_once_share_one_objective_set() -> None:
    lines = ["u0 -> u0 : (n↓ | m↓ | n⤓ | m⤓) & ~(n⤓ & m⤓) ; 0", "u0 -> won : n⤓ & m⤓ ; 1"]
    machine = NumericRM.of("u0", ["won"], lines, numeric={"n": ["x"], "m": ["y", "z"]})
    agenda = unfold_agenda(machine)
    assert str(agenda.labels[0]) == "0{x,y,z}{x,y,z}"
    assert len(agenda) == 2 * 4
