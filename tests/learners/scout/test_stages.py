"""Tasks as chains of groups: found where groups come one after the other, and nowhere else."""

from __future__ import annotations

import pytest

from errands.learners.scout.machine import Lowering
from errands.learners.scout.stages import Stage, find_stages
from errands.machines import NumericRM
from errands.tasks import any_order, avoid, sequence


def stages(machine: NumericRM) -> tuple[Stage, ...] | None:
    return find_stages(Lowering(machine, [set()], ()))


def test_one_group_with_a_return_is_one_stage_and_what_is_left() -> None:
    """Boxes to a station: the group of three, then the last walk to the station."""
    found = stages(any_order("b1", "b2", "b3", after="s"))
    assert found is not None
    assert [stage.bits for stage in found] == [0b111, 0]
    assert [stage.chooser for stage in found] == [0, -1]


def test_one_group_without_a_return_ends_with_its_last_item() -> None:
    found = stages(any_order("p", "q"))
    assert found is not None
    assert [stage.bits for stage in found] == [0b11]


def test_groups_one_after_the_other_are_so_many_stages() -> None:
    found = stages(sequence(any_order("p", "q"), "between", any_order("r", "t", "v")))
    assert found is not None
    assert [stage.bits for stage in found] == [0b11, 0b11100]


def test_what_fails_the_task_does_not_break_the_chain() -> None:
    found = stages(avoid("lava", any_order("p", "q", before="c")))
    assert found is not None
    assert found[0].bits == 0b11


def test_a_sequence_without_subtasks_is_one_rest() -> None:
    found = stages(sequence("a", "b"))
    assert found is not None
    assert [(stage.bits, stage.chooser) for stage in found] == [(0, -1)]


@pytest.mark.parametrize(
    "lines",
    [
        ["u0 -> u0 : n↓ ; 0", "u0 -> u0 : m↓ & n! ; 0", "u0 -> won : n⤓ & m⤓ ; 1"],
        ["u0 -> u1 : a & ~b ; 0", "u0 -> u2 : b & ~a ; 0", "u1 -> won : n⤓ ; 1", "u2 -> won : m⤓ ; 1"],
    ],
)
def test_groups_that_mix_are_no_chain(lines: list[str]) -> None:
    machine = NumericRM.of("u0", ["won"], lines, numeric={"n": ["x", "y"], "m": ["v", "w"]})
    assert stages(machine) is None


def test_success_before_all_items_are_done_is_no_chain() -> None:
    machine = NumericRM.of("u0", ["won"], ["u0 -> won : n↓ ; 1"], numeric={"n": ["x", "y"]})
    assert stages(machine) is None
