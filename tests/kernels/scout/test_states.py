"""Agenda states numbered without building a machine: the same states and moves as the machine that is built."""

from __future__ import annotations

import numpy as np
import pytest

from errands.kernels.hashing import node_slot
from errands.learners.scout.machine import Lowering, NumberedAgenda, number_states
from errands.machines import NumericRM, unfold_agenda
from errands.tables import FAILURE
from errands.tasks.phrases import any_order, avoid, sequence

MACHINES = {
    "boxes": any_order("b1", "b2", "b3", after="s"),
    "fatal": avoid("x", any_order("p", "q", before="c")),
    "groups": sequence(any_order("p", "q"), any_order("r", "t")),
    "plain": sequence("p", "q", "p"),
}


def lowered(machine: NumericRM) -> Lowering:
    return Lowering(machine, [set(), *({name} for name in machine.features)], ())


def numbered(lowering: Lowering) -> NumberedAgenda:
    agenda = number_states(lowering)
    assert agenda is not None
    return agenda


@pytest.mark.parametrize("name", MACHINES)
def test_states_are_those_of_the_agenda_machine(name: str) -> None:
    states = numbered(lowered(MACHINES[name])).states
    us, masks, slots = states.u, states.mask, states.slots
    agenda = unfold_agenda(MACHINES[name])
    found = list(zip(us.tolist(), (int(m) for m in masks), strict=True))
    assert found[0] == agenda.states[0]
    assert sorted(found) == sorted(agenda.states)
    assert [int(slots[node_slot(us, masks, slots, u, np.uint64(m))]) for u, m in found] == list(range(len(found)))
    assert slots[node_slot(us, masks, slots, 0, np.uint64(2**40))] < 0


@pytest.mark.parametrize("name", MACHINES)
def test_labels_lead_where_the_machine_goes(name: str) -> None:
    lowering = lowered(MACHINES[name])
    agenda = numbered(lowering)
    us, masks, delta = agenda.states.u, agenda.states.mask, agenda.delta
    for x, (u, mask) in enumerate(zip(us.tolist(), (int(m) for m in masks), strict=True)):
        for label in range(len(lowering.labels)):
            expected = (u, mask) if lowering.stepper.status[u] else lowering.step((u, mask), label)
            there = int(delta[label, x])
            assert (int(us[there]), int(masks[there])) == expected


@pytest.mark.parametrize("name", MACHINES)
def test_moves_are_those_of_the_machine_without_failures_and_waiting(name: str) -> None:
    lowering = lowered(MACHINES[name])
    us, masks, _, slots, first, to, done, _ = numbered(lowering).states
    stepper = lowering.stepper
    for x, (u, mask) in enumerate(zip(us.tolist(), (int(m) for m in masks), strict=True)):
        found = {(int(to[i]), int(done[i])) for i in range(first[x], first[x + 1])}
        expected = {
            (int(slots[node_slot(us, masks, slots, m.target[0], np.uint64(m.target[1]))]), m.completed)
            for m in stepper.moves((u, mask))
            if m.target != (u, mask) and stepper.status[m.target[0]] != FAILURE
        }
        assert found == expected


def test_more_states_than_allowed_are_refused() -> None:
    lowering = lowered(any_order(*"abcdefgh"))
    assert number_states(lowering, 200) is None
    assert number_states(lowering, 300) is not None
