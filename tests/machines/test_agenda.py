"""Agenda machines against a walk over (numeric state, set of remaining subtasks) that knows nothing of masks."""

from __future__ import annotations

import random

import pytest

from errands.errors import TaskError
from errands.machines import NumericRM, unfold_agenda
from errands.machines.agenda import AgendaRM

from .examples import boxes, random_machine, random_trace


def test_the_agenda_of_two_boxes_is_figure_2b() -> None:
    agenda = unfold_agenda(boxes(2))
    found = {(agenda.numeric.states[u], agenda.remaining((u, mask))) for u, mask in agenda.states}
    assert found == {
        ("u0", ("b1", "b2")), ("u1", ("b2",)), ("u1", ("b1",)), ("u0", ("b2",)), ("u0", ("b1",)), ("u1", ()), ("u2", ()),
    }  # fmt: skip
    assert agenda.depths == (0, 1, 1, 2, 2, 3, 4)


def test_states_are_found_in_the_order_of_their_depth_and_looked_up_by_position() -> None:
    agenda = unfold_agenda(boxes(4))
    assert list(agenda.depths) == sorted(agenda.depths)
    assert [agenda.index[state] for state in agenda.states] == list(range(31))
    assert [label.depth for label in agenda.labels] == list(agenda.depths)


def test_a_machine_without_subtasks_has_one_agenda_state_for_each_of_its_own() -> None:
    agenda = unfold_agenda(NumericRM.of("u0", ["u2"], ["u0 -> u1 : a ; 0", "u1 -> u2 : b ; 1"]))
    assert [str(label) for label in agenda.labels] == ["0{}a", "1{}b", "2{}"]


def walked(agenda: AgendaRM, trace: list[set[str]]) -> set[tuple[int, int]]:
    """The states that a trace passes, by stepping one set of features at a time."""
    state, passed = agenda.stepper.start, {agenda.stepper.start}
    for true in trace:
        if agenda.stepper.status[state[0]]:
            break
        state, _, _ = agenda.stepper.step(state, true)
        passed.add(state)
    return passed


@pytest.mark.parametrize("seed", range(40))
def test_no_random_walk_leaves_the_states_that_were_found(seed: int) -> None:
    chance = random.Random(seed)
    agenda = unfold_agenda(random_machine(chance))
    for _ in range(20):
        assert walked(agenda, random_trace(chance, agenda.numeric, 30)) <= agenda.index.keys()


@pytest.mark.parametrize("seed", range(15))
def test_every_state_that_was_found_is_met_by_long_random_walks(seed: int) -> None:
    chance = random.Random(100 + seed)
    agenda = unfold_agenda(random_machine(chance))
    met: set[tuple[int, int]] = set()
    for _ in range(4_000):
        met |= walked(agenda, random_trace(chance, agenda.numeric, 12))
        if len(met) == len(agenda):
            break
    assert met == set(agenda.states)


def test_a_machine_larger_than_the_budget_is_refused_before_it_is_built() -> None:
    assert len(unfold_agenda(boxes(3), budget=15)) == 15
    with pytest.raises(TaskError, match="would have 15 states, more than the budget of 14"):
        unfold_agenda(boxes(3), budget=14)
