"""Walking on any of the four machines: positions, numbers, codes and labels agree with the machines themselves."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from errands.errors import TaskError
from errands.machines import NumericRM, couple, unfold_agenda, unfold_boolean
from errands.tasks import any_order
from errands.tasks.walker import Walker

BOXES = any_order("b1", "b2", after="s")
KINDS: dict[str, Any] = {
    "numeric": lambda m: m,
    "boolean": unfold_boolean,
    "agenda": unfold_agenda,
    "coupled": lambda m: couple(unfold_agenda(m)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_walk_pays_and_ends_as_the_machine_runs(kind: str) -> None:
    machine = KINDS[kind](BOXES)
    walker, chance = Walker(machine), random.Random(7)
    for _ in range(50):
        trace = [{n for n in ("b1", "b2", "s") if chance.random() < 0.3} for _ in range(12)]
        position, rewards, ended, success = walker.start, [], False, False
        for true in trace:
            walked = walker.step(position, true)
            position, ended, success = walked.position, walked.terminal, walked.success
            rewards.append(walked.reward)
            if ended:
                break
        outcome = machine.run(trace)
        assert (tuple(rewards), ended, success) == (outcome.rewards, outcome.terminal, outcome.success)


@pytest.mark.parametrize(
    ("kind", "count", "width"), [("numeric", 7, 7), ("boolean", 9, 9), ("agenda", 7, 7), ("coupled", 7, 8)]
)
def test_positions_are_counted_as_in_figure_2(kind: str, count: int, width: int) -> None:
    walker = Walker(KINDS[kind](BOXES))
    assert (walker.count, walker.width) == (count, width)
    assert [walker.index(walker.position(i)) for i in range(count)] == list(range(count))
    assert walker.index(walker.start) == 0
    with pytest.raises(
        TaskError, match=f"the machine state {count} does not exist; states are numbered 0 to {count - 1}"
    ):
        walker.position(count)
    with pytest.raises(TaskError):
        walker.position(-1)


def test_a_coupled_code_marks_every_occupied_state() -> None:
    walker = Walker(couple(unfold_agenda(BOXES)))
    assert walker.code(walker.start).tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    after = walker.step(walker.start, {"b1"}).position
    assert walker.code(after).sum() == 1


def test_other_codes_are_one_hot() -> None:
    walker = Walker(unfold_boolean(BOXES))
    assert np.array_equal(np.array([walker.code(walker.position(i)) for i in range(9)]), np.eye(9))


def test_labels_tell_the_agenda_or_the_order() -> None:
    agenda, boolean = Walker(unfold_agenda(BOXES)), Walker(unfold_boolean(BOXES))
    assert agenda.label(agenda.start) == "0{b1,b2}{b1,b2}"
    first = boolean.step(boolean.start, {"b2"}).position
    assert boolean.label(first) == "u1(b2)"
    assert boolean.remaining(first) == ("b1",)
    assert boolean.label(boolean.start) == "u0()"


def test_a_machine_too_large_to_number_is_coded_by_state_and_remaining_bits() -> None:
    names = [f"v{i}" for i in range(20)]
    walker = Walker(any_order(*names))
    assert walker.count is None
    assert walker.width == 2 + 20
    assert walker.code(walker.start).tolist() == [1, 0, *[1] * 20]
    after = walker.step(walker.start, {"v3"}).position
    assert walker.code(after).tolist() == [1, 0, 1, 1, 1, 0, *[1] * 16]
    assert walker.position(walker.index(after)) == after
    assert walker.remaining(after) == tuple(n for n in names if n != "v3")
    assert walker.label(after).startswith("u0{v0,v1,v2,v4,")
    with pytest.raises(TaskError, match="too many states to go through them all"):
        walker.running()


def test_running_positions_are_those_that_can_still_come() -> None:
    walker = Walker(unfold_agenda(BOXES))
    assert {walker.label(p) for p in walker.running()} == {
        "0{b1,b2}{b1,b2}", "1{b1}s", "1{b2}s", "2{b1}b1", "2{b2}b2", "3{}s",
    }  # fmt: skip
    after = walker.step(walker.start, {"b1"}).position
    assert {walker.label(p) for p in walker.running(after)} == {"1{b2}s", "2{b2}b2", "3{}s"}


def test_a_signal_is_paid_from_the_step() -> None:
    walker = Walker(NumericRM.of("u0", ["u1"], ["u0 -> u0 : ~g ; -cost", "u0 -> u1 : g ; 1"]))
    assert walker.step(walker.start, set(), {"cost": 0.5}).reward == -0.5
