"""Lowered tables against the machines themselves, step by step, with the loops written out here."""

from __future__ import annotations

import random

import numpy as np
import pytest

from errands.errors import TaskError
from errands.machines import NumericRM, Stepper, couple, unfold_agenda, unfold_boolean
from errands.machines.lower import entries, lower
from errands.tables import FAILURE, RUNNING, SUCCESS

from .definition import defined
from .examples import boxes, random_machine, random_trace

LABELS: list[set[str]] = [set(), {"b1"}, {"b2"}, {"s"}, {"b1", "b2"}, {"elsewhere"}]


def test_the_enumerated_table_of_figure_1_is_the_one_on_paper() -> None:
    """States 0 {b1,b2}, 1 carrying with b2 left, 2 carrying with b1 left, 3 {b2}, 4 {b1}, 5 carrying the last, 6 done."""
    table = lower(unfold_agenda(boxes(2)), LABELS)
    assert table.next.tolist() == [
        [0, 1, 2, 0, 1, 0],
        [1, 1, 1, 3, 1, 1],
        [2, 2, 2, 4, 2, 2],
        [3, 3, 5, 3, 5, 3],
        [4, 5, 4, 4, 5, 4],
        [5, 5, 5, 6, 5, 5],
        [6, 6, 6, 6, 6, 6],
    ]
    assert table.reward.nonzero()[0].tolist() == [5]
    assert table.reward[5, 3] == 1.0
    assert table.status.tolist() == [RUNNING] * 6 + [SUCCESS]
    assert (table.signal == -1).all()
    assert table.initial == 0


@pytest.mark.parametrize("seed", range(30))
def test_enumerated_tables_walk_as_the_machine_runs(seed: int) -> None:
    chance = random.Random(seed)
    numeric = random_machine(chance)
    for machine in (unfold_agenda(numeric), unfold_boolean(numeric)):
        for _ in range(5):
            trace = random_trace(chance, numeric, 25)
            table = lower(machine, trace, ["cost"])
            at, paid = table.initial, []
            for i in range(len(trace)):
                cost = 0.25 * (i + 1)
                paid.append(table.reward[at, i] * (cost if table.signal[at, i] == 0 else 1.0))
                at = int(table.next[at, i])
                if table.status[at] != RUNNING:
                    break
            outcome = defined(numeric, trace, [{"cost": 0.25 * (i + 1)} for i in range(len(trace))])
            assert outcome.rewards == tuple(paid)
            assert outcome.terminal == (table.status[at] != RUNNING)
            assert outcome.success == (table.status[at] == SUCCESS)


def test_a_coupled_machine_is_lowered_to_the_stepping_table_of_its_numeric_one() -> None:
    numeric = boxes(3)
    ours, theirs = lower(couple(unfold_agenda(numeric)), LABELS), lower(numeric, LABELS)
    pairs = [*zip(ours._fields, ours, theirs, strict=True), *zip(ours.order._fields, ours.order, theirs.order, strict=True)]
    for name, mine, other in pairs:
        assert name == "order" or np.array_equal(mine, other), name


def test_many_masks_are_stepped_at_once_as_one_by_one() -> None:
    numeric = boxes(5)
    labels = [set(), {"b3"}, {"b1", "b4"}, {"s"}]
    table, stepper = lower(numeric, labels), Stepper(numeric)
    masks = np.arange(32, dtype=np.uint64)
    for u in range(2):
        for true, entry, after, completed in zip(labels, *(x.T for x in entries(table, u, masks)), strict=True):
            for mask in range(32):
                (target, rest), chosen, bit = stepper.step((u, mask), true)
                assert int(after[mask]) == rest
                assert int(completed[mask]) == bit
                assert int(table.next[entry[mask]]) == target
                assert table.reward[entry[mask]] == (chosen.reward.value if chosen else 0.0)


def test_a_failure_is_one_row_that_stays() -> None:
    lines = ["u0 -> u0 : n↓ & ~d ; 0", "u0 -> won : n⤓ & ~d ; 1", "u0 -> lost : d ; -1"]
    numeric = NumericRM.of("u0", ["won"], lines, failure=["lost"], numeric={"n": ["x", "y"]})
    table = lower(unfold_agenda(numeric), [set(), {"x"}, {"d"}])
    assert table.status.tolist().count(FAILURE) == 1
    lost = table.status.tolist().index(FAILURE)
    assert table.next[lost].tolist() == [lost] * 3
    assert table.next[0, 2] == lost
    assert table.reward[0, 2] == -1.0


def test_a_signal_that_the_world_does_not_report_is_refused() -> None:
    numeric = NumericRM.of("u0", ["u1"], ["u0 -> u0 : ~g ; -cost", "u0 -> u1 : g ; 1"])
    assert lower(unfold_agenda(numeric), [set(), {"g"}], ["speed", "cost"]).signal.tolist() == [[1, -1], [-1, -1]]
    with pytest.raises(TaskError, match="the signal 'cost', which the world does not report"):
        lower(numeric, [set(), {"g"}], ["speed"])


def test_more_than_sixty_four_subtasks_are_refused() -> None:
    assert int(lower(boxes(64), [set()]).full) == 2**64 - 1
    with pytest.raises(TaskError, match="at most 64 subtasks, this machine has 65"):
        lower(boxes(65), [set()])
