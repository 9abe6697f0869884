"""Machines unfolded on demand: the same transitions as the machine that is built, however it grew."""

from __future__ import annotations

import random

import numpy as np
import pytest

from errands.learners.tabular.lazy import UNBORN, LazyMachine
from errands.machines import NumericRM, unfold_agenda, unfold_boolean
from errands.tasks import any_order

BOXES = any_order("b1", "b2", "b3", after="s")
LABELS = [set(), {"b1"}, {"b2"}, {"b3"}, {"s"}]


def explored(kind: str, seed: int) -> LazyMachine:
    """Born in random order until nothing is missing."""
    machine = LazyMachine(BOXES, kind, LABELS, ())  # type: ignore[arg-type]
    chance = random.Random(seed)
    waiting = [(0, label) for label in range(5)]
    while waiting:
        i, label = waiting.pop(chance.randrange(len(waiting)))
        before = len(machine)
        if machine.stepper.status[machine.states[i][0]] == 0:
            machine.birth(i, label)
        waiting += [(j, new) for j in range(before, len(machine)) for new in range(5)]
    return machine


@pytest.mark.parametrize(("kind", "unfold"), [("agenda", unfold_agenda), ("boolean", unfold_boolean)])
@pytest.mark.parametrize("seed", range(3))
def test_all_states_of_the_machine_are_born_once(kind: str, unfold: object, seed: int) -> None:
    machine = explored(kind, seed)
    assert len(machine) == len(unfold(BOXES))  # type: ignore[operator]
    assert len(set(machine.index.values())) == len(machine)


def test_a_transition_is_unknown_until_it_is_asked_for() -> None:
    machine = LazyMachine(BOXES, "agenda", LABELS, ())
    assert (machine.table.next == UNBORN).all()
    assert machine.birth(0, 1) == 1
    assert machine.table.next[0, 1] == 1
    assert machine.birth(0, 0) == 0
    assert machine.born().tolist() == [[True, True, False, False, False], [False] * 5]


def test_rewards_signals_and_ends_are_filled_in() -> None:
    numeric = NumericRM.of("u0", ["u1"], ["u0 -> u0 : ~g ; -cost", "u0 -> u1 : g ; 3"])
    machine = LazyMachine(numeric, "agenda", [set(), {"g"}], ("speed", "cost"))
    machine.birth(0, 0)
    machine.birth(0, 1)
    assert (machine.table.reward[0].tolist(), machine.table.signal[0].tolist()) == ([-1.0, 3.0], [1, -1])
    assert machine.table.status[:2].tolist() == [0, 1]


def test_tables_grow_and_keep_what_is_known() -> None:
    machine = LazyMachine(any_order(*(f"v{i}" for i in range(8))), "boolean", [{f"v{i}"} for i in range(8)], ())
    chance, at = random.Random(0), 0
    while len(machine) <= machine.capacity // 2 or machine.capacity == 64:
        following = machine.birth(at, chance.randrange(8))
        at = 0 if machine.stepper.status[machine.states[following][0]] else following
    assert machine.capacity >= 128
    for i, label in np.argwhere(machine.born()).tolist()[:50]:
        kept = int(machine.table.next[i, label])
        assert machine.birth(i, label) == kept


def test_new_labels_widen_the_table() -> None:
    labels = [set(LABELS[0])]
    machine = LazyMachine(BOXES, "agenda", labels, ())
    machine.birth(0, 0)
    labels.append({"b2"})
    machine.widen()
    assert machine.table.next.shape[1] == 2
    assert (machine.table.next[0, 0], machine.birth(0, 1)) == (0, 1)


@pytest.mark.parametrize("kind", ["agenda", "boolean"])
def test_a_packed_machine_comes_back_with_what_was_known(kind: str) -> None:
    machine = explored(kind, 1)
    again = LazyMachine(BOXES, kind, LABELS, ())  # type: ignore[arg-type]
    again.unpack(*machine.pack(), machine.born())
    assert again.states == machine.states
    assert np.array_equal(again.table.next[: len(again)], machine.table.next[: len(machine)])
    assert np.array_equal(again.table.status[: len(again)], machine.table.status[: len(machine)])
