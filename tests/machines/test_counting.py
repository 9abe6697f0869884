"""Sizes, objectives and overlaps that are counted, against machines that are built and guards that are tried out."""

from __future__ import annotations

import random
from itertools import product

import pytest

from errands.errors import SpecError
from errands.features import atoms, holds, parse_guard
from errands.machines import NumericRM, couple, size, unfold_agenda, unfold_boolean
from errands.machines.counting import Quotient, Sizes, apart, conflicts, objectives, overlaps, reachable_pairs, together
from errands.tables import RUNNING
from errands.tasks import load

from .examples import boxes, random_guard, random_machine


@pytest.mark.parametrize("seed", range(60))
def test_random_machines_have_the_sizes_that_were_counted(seed: int) -> None:
    machine = random_machine(random.Random(seed))
    agenda = unfold_agenda(machine)
    coupled = couple(agenda)
    built = Sizes(len(unfold_boolean(machine)), len(agenda), len(coupled), len(coupled.objectives))
    assert size(machine) == built


def test_a_machine_of_forty_boxes_is_counted_though_no_computer_could_hold_it() -> None:
    sizes = size(boxes(40))
    assert sizes.agenda == 2**41 - 1
    assert sizes.coupled == 40 * 2**39 + 2**40
    assert sizes.policies == 41


def test_guards_that_tell_subtasks_apart_are_counted_by_walking() -> None:
    """x may be completed only after y: three masks out of four in u0, and the end."""
    lines = ["u0 -> u0 : n↓ ; 0", "u0 -> won : n⤓ ; 1", "u0 -> lost : x & n↓ ; 0"]
    clear = ["u0 -> u0 : n↓ & ~x ; 0", "u0 -> won : n⤓ ; 1", lines[2]]
    machine = NumericRM.of("u0", ["won"], clear, failure=["lost"], numeric={"n": ["x", "y"]})
    assert size(machine).agenda == len(unfold_agenda(machine)) == 4


def test_labels_are_told_without_a_machine() -> None:
    quotient = Quotient(boxes(2))
    agenda = unfold_agenda(boxes(2))
    assert [quotient.label(state) for state in agenda.states] == list(agenda.labels)
    assert str(quotient.label((0, 0b11), "b2")) == "0{b1,b2}b2"


def test_objectives_come_in_the_order_subtasks_then_boolean() -> None:
    assert objectives(boxes(2)) == ("b1", "b2", "s")
    assert objectives(NumericRM.of("u0", ["u2"], ["u0 -> u1 : p ; 0", "u1 -> u2 : q & r ; 1"])) == ("p", "q&r")


@pytest.mark.parametrize("seed", range(80))
def test_together_finds_features_exactly_when_trying_all_of_them_does(seed: int) -> None:
    chance = random.Random(seed)
    first, second = (random_guard(chance, ["p", "q", "r", "t"], []) for _ in range(2))
    names = sorted({a.name for g in (first, second) for a in atoms(g)})
    worlds = [{n for n, on in zip(names, row, strict=True) if on} for row in product((0, 1), repeat=len(names))]
    both = [true for true in worlds if holds(first, true, {}) and holds(second, true, {})]
    witness = together(first, second)
    assert (witness is None) == (not both)
    if witness is not None:
        assert set(witness) in both
    if apart(first, second):
        assert not both


def test_guards_with_a_negated_part_are_apart_at_a_glance() -> None:
    assert apart(parse_guard("p & q"), parse_guard("r & ~p"))
    assert apart(parse_guard("p"), parse_guard("~p"))
    assert not apart(parse_guard("p & q"), parse_guard("p & r"))


def test_two_transitions_that_agree_are_an_overlap_but_no_conflict() -> None:
    machine = NumericRM.of("u0", ["u1"], ["u0 -> u1 : a ; 1", "u0 -> u1 : b ; 1"])
    (pair,) = overlaps(machine)
    assert set(pair.features) == {"a", "b"}
    assert pair.agree
    assert list(conflicts(machine)) == []


def test_two_transitions_that_disagree_are_told_with_the_features_that_show_it() -> None:
    with pytest.raises(SpecError) as told:
        NumericRM.of("u0", ["u1"], ["u0 -> u1 : a ; 1", "u0 -> u1 : b ; 2"])
    (said,) = told.value.problems
    assert said.endswith("both fire on {a, b} and disagree; make their guards exclude each other")


@pytest.mark.parametrize("name", ["figure-1", "delivery-4", "office-3", "visit-5", "water-3", "corridor"])
def test_states_still_to_come_are_as_many_as_a_walk_from_every_state_finds(name):
    agenda = unfold_agenda(load(name).machine)
    running = [s for s in agenda.states if agenda.stepper.status[s[0]] == RUNNING]
    pairs = 0
    for start in running:
        seen, stack = {start}, [start]
        while stack:
            for move in agenda.stepper.moves(stack.pop()):
                if move.target not in seen and agenda.stepper.status[move.target[0]] == RUNNING:
                    seen.add(move.target)
                    stack.append(move.target)
        pairs += len(seen)
    assert reachable_pairs(agenda.numeric) == pairs
