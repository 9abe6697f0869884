"""One step of Scout's machine with masks of several words, by hand."""

from __future__ import annotations

import numpy as np

from errands.learners.scout.kernel.memory import advance
from errands.learners.scout.machine import Lowering
from errands.tasks.phrases import any_order

NAMES = [f"v{i}" for i in range(70)]
LOWERING = Lowering(any_order(*NAMES), [set(), {"v3"}, {"v66", "v65"}, {"v3", "v66"}], ())
MACHINE = LOWERING.machine


def stepped(left: set[int], label: int) -> tuple[set[int], int]:
    """The subtasks left after a step, and the numeric state reached."""
    mask = np.zeros(2, np.uint64)
    for i in left:
        mask[i // 64] |= np.uint64(1 << i % 64)
    before, after = mask.copy(), np.zeros(2, np.uint64)
    row = advance(MACHINE, MACHINE.initial, mask, label, after)
    assert np.array_equal(mask, before)
    found = {i for i in range(70) if int(after[i // 64]) >> i % 64 & 1}
    return found, int(MACHINE.next[label, row])


def test_seventy_subtasks_take_two_words() -> None:
    assert MACHINE.full.tolist() == [2**64 - 1, 2**6 - 1]


def test_a_subtask_of_either_word_is_completed() -> None:
    assert stepped({3, 66, 69}, 1) == ({66, 69}, 0)
    assert stepped({3, 66, 69}, 2) == ({3, 69}, 0)


def test_of_several_the_first_in_declared_order_is_completed() -> None:
    assert stepped({65, 66}, 2) == ({66}, 0)
    assert stepped({3, 66}, 3) == ({66}, 0)
    assert stepped({66, 68}, 3) == ({68}, 0)


def test_what_was_done_before_changes_nothing() -> None:
    assert stepped({66, 69}, 1) == ({66, 69}, 0)
    assert stepped({66, 69}, 0) == ({66, 69}, 0)


def test_the_last_one_ends_the_task() -> None:
    left, state = stepped({66}, 2)
    assert left == set()
    assert LOWERING.stepper.machine.states[state] in LOWERING.stepper.machine.success
