"""Machines lowered label by label: stepped as the machine itself steps, whatever the number of subtasks."""

from __future__ import annotations

import random

import numpy as np
import pytest

from errands.errors import TaskError
from errands.learners.scout.kernel.memory import advance
from errands.learners.scout.machine import Lowering
from errands.machines import NumericRM, Stepper
from errands.tasks.phrases import any_order, avoid, sequence

MACHINES = {
    "boxes": any_order("b1", "b2", "b3", after="s"),
    "wide": any_order(*(f"v{i}" for i in range(150))),
    "fatal": avoid("x", sequence(any_order("p", "q"), any_order("r", "t"))),
}


@pytest.mark.parametrize("name", MACHINES)
def test_compiled_steps_are_the_machines_own(name: str) -> None:
    """Random walks over random labels, one to three words of mask."""
    machine = MACHINES[name]
    chance = random.Random(3)
    labels = [set(chance.sample(machine.features, chance.randint(0, min(3, len(machine.features))))) for _ in range(40)]
    lowering, stepper = Lowering(machine, labels, ()), Stepper(machine)
    assert lowering.words == -(-max(1, len(machine.subtasks)) // 64)
    state, mask = stepper.start, lowering.machine.full.copy()
    after = mask.copy()
    for _ in range(300):
        label = chance.randrange(len(labels))
        row = advance(lowering.machine, state[0], mask, label, after)
        expected, chosen, _ = stepper.step(state, labels[label])
        assert int(lowering.machine.next[label, row]) == expected[0]
        assert lowering.machine.reward[label, row] == (chosen.reward.value if chosen else 0.0)
        assert expected == lowering.step(state, label)
        if stepper.status[expected[0]]:
            state = stepper.start
            mask[:] = lowering.machine.full
            continue
        assert lowering.mask_of(after) == expected[1]
        state = expected
        mask[:] = after


def test_labels_that_come_later_leave_earlier_ones_as_they_were() -> None:
    machine = MACHINES["boxes"]
    at_once, grown = Lowering(machine, [set(), {"b1"}, {"s"}], ()), Lowering(machine, [set()], ())
    grown.add([{"b1"}, {"s"}])
    for name, a, b in zip(at_once.machine._fields, at_once.machine, grown.machine, strict=True):
        assert name == "order" or np.array_equal(a, b), name
    assert grown.number[frozenset({"s"})] == 2


def test_signals_are_named_by_their_place() -> None:
    machine = NumericRM.of("u0", ["u1"], ["u0 -> u0 : ~g ; -cost", "u0 -> u1 : g ; 1"])
    lowered = Lowering(machine, [set(), {"g"}], ("speed", "cost")).machine
    assert lowered.signal[:, 0].tolist() == [1, -1]
    assert lowered.reward[:, 0].tolist() == [-1.0, 1.0]


def test_an_unseen_cell_may_do_what_its_features_allow() -> None:
    """From u0 of 'fatal' a cell may do nothing or fail; where x is known to be false it cannot fail."""
    machine = avoid("x", sequence("g"))
    lowering = Lowering(machine, [set()], ())
    start, failed = machine.states.index(machine.initial), machine.states.index(machine.failure[0])
    _, _, allowed = lowering.options()
    assert allowed[lowering.row[start], failed]
    _, _, safe = lowering.options({"x"})
    assert not safe[lowering.row[start], failed]
    assert failed in lowering.reached(int(lowering.row[start]))


def test_too_many_numeric_features_in_one_state_are_refused() -> None:
    names = [f"n{i}" for i in range(9)]
    guard = " & ".join(f"{n}⤓" for n in names)
    machine = NumericRM.of("u0", ["u1"], [f"u0 -> u1 : {guard} ; 1"], numeric={n: [f"x{n}"] for n in names})
    with pytest.raises(TaskError, match="mention 9 numeric features, and at most 8 are read"):
        Lowering(machine, [set()], ())
