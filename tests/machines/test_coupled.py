"""Coupled machines (Definition 4): one state per open objective, those of one agenda state occupied at once."""

from __future__ import annotations

from errands.machines import NumericRM, couple, unfold_agenda
from errands.tasks import any_order, sequence

from .examples import boxes


def test_an_agenda_state_is_split_by_its_open_objectives() -> None:
    coupled = couple(unfold_agenda(boxes(2)))
    assert [[str(coupled.labels[j]) for j in group] for group in coupled.groups] == [
        ["0{b1,b2}b1", "0{b1,b2}b2"], ["1{b2}s"], ["1{b1}s"], ["2{b2}b2"], ["2{b1}b1"], ["3{}s"], ["4{}"],
    ]  # fmt: skip


def test_the_groups_divide_all_states() -> None:
    coupled = couple(unfold_agenda(boxes(5)))
    assert sorted(j for group in coupled.groups for j in group) == list(range(len(coupled)))
    assert len(coupled) == 5 * 2**4 + 2**5


def test_an_end_has_one_state_without_objective() -> None:
    coupled = couple(unfold_agenda(sequence("a", "b")))
    assert coupled.states[-1] == (2, None)
    assert str(coupled.labels[-1]) == "2{}"


def test_objectives_are_the_subtasks_first_and_each_once() -> None:
    assert couple(unfold_agenda(boxes(3))).objectives == ("b1", "b2", "b3", "s")
    assert couple(unfold_agenda(any_order("p", "q", after="h"))).objectives == ("p", "q", "h")
    assert couple(unfold_agenda(sequence("a", "b", "a", "b"))).objectives == ("a", "b")


def test_two_boolean_objectives_open_at_once_are_two_states() -> None:
    lines = ["u0 -> u1 : a & ~b ; 0", "u0 -> u2 : b & ~a ; 0", "u1 -> win : c ; 1", "u2 -> win : c ; 1"]
    coupled = couple(unfold_agenda(NumericRM.of("u0", ["win"], lines)))
    assert len(coupled.groups[0]) == 2
    assert len(coupled.agenda) == 4
    assert len(coupled) == 5


def test_a_trace_may_leave_by_any_of_the_occupied_states() -> None:
    coupled = couple(unfold_agenda(boxes(2)))
    for first, second in (("b1", "b2"), ("b2", "b1")):
        assert coupled.run([{first}, {"s"}, {second}, {"s"}]).success
    assert not coupled.run([{"b1"}, {"b2"}, {"s"}]).terminal
