"""Boolean machines: every completion order a state of its own (Figure 2a)."""

from __future__ import annotations

from itertools import permutations

import pytest

from errands.errors import TaskError
from errands.machines import NumericRM, Stepper, unfold_boolean
from errands.machines.boolean import extend, mask_of

from .examples import boxes


def test_the_states_of_three_boxes_are_all_ordered_choices() -> None:
    machine = unfold_boolean(boxes(3))
    carrying = {order for k in (1, 2, 3) for order in permutations(range(3), k)}
    expected = {(0, ()), *((0, order) for order in carrying if len(order) < 3), *((1, order) for order in carrying)}
    expected |= {(2, order) for order in permutations(range(3), 3)}
    assert [machine.numeric.states[u] for u in range(3)] == ["u0", "u1", "u2"]
    assert set(machine.states) == expected
    assert machine.states[0] == (0, ())
    assert machine.index[machine.states[17]] == 17


def test_a_mask_holds_what_an_order_leaves() -> None:
    stepper = Stepper(boxes(3))
    assert mask_of(stepper, ()) == 0b111
    assert mask_of(stepper, (1,)) == 0b101
    assert mask_of(stepper, (2, 0)) == mask_of(stepper, (0, 2)) == 0b010


def test_an_order_grows_by_what_is_completed_and_a_failure_forgets_it() -> None:
    lines = ["u0 -> u0 : n↓ & ~d ; 0", "u0 -> won : n⤓ & ~d ; 1", "u0 -> lost : d ; 0"]
    stepper = Stepper(NumericRM.of("u0", ["won"], lines, failure=["lost"], numeric={"n": ["x", "y"]}))
    lost = stepper.index["lost"]
    assert extend(stepper, 0, (1,), 0b01) == (0, (1, 0))
    assert extend(stepper, 0, (1,), 0) == (0, (1,))
    assert extend(stepper, lost, (1,), 0b01) == (lost, ())


def test_its_own_walk_pays_signals_and_stops_at_the_end() -> None:
    machine = unfold_boolean(NumericRM.of("u0", ["u1"], ["u0 -> u0 : ~g ; -cost", "u0 -> u1 : g ; 1"]))
    outcome = machine.run([set(), set(), {"g"}, {"g"}], [{"cost": 2.0}, {"cost": 3.0}, {}, {}])
    assert outcome.rewards == (-2.0, -3.0, 1.0)
    assert outcome.success


def test_a_machine_larger_than_the_budget_is_refused() -> None:
    assert len(unfold_boolean(boxes(3), budget=31)) == 31
    with pytest.raises(TaskError, match="Boolean machine would have 31 states, more than the budget of 30"):
        unfold_boolean(boxes(3), budget=30)
