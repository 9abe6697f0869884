"""Tasks as chains of groups: found where groups come one after the other; routes through them, lengths and bounds."""

from __future__ import annotations

from typing import Any

import pytest

from errands.learners.scout.kernel.model import learn_model
from errands.learners.scout.machine import Lowering
from errands.learners.scout.stages import Stage, StageValues, TourPlanner, find_stages
from errands.machines import NumericRM
from errands.oracle.optimum import optimum
from errands.tasks import Task, load
from errands.tasks.phrases import any_order, avoid, sequence


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


UP, RIGHT, DOWN, LEFT = range(4)


@pytest.fixture
def staged(tried: Any, drawn: Any) -> Any:
    def make(row: str, phrase: str) -> StageValues:
        known, lowering = tried(drawn([row], phrase))
        stages = find_stages(lowering)
        assert stages is not None
        return StageValues(known, learn_model(known, 1e-6), lowering, stages, 0.9, 50, 0)

    return make


def test_the_nearer_end_comes_first_and_then_the_other(staged: Any) -> None:
    """x is 2 to the left, y 4 to the right: left first, and once x is done right from everywhere."""
    random_planner = staged("x.A...y", "any_order(x, y)")
    assert random_planner.route((0, 0b11))[1:3].tolist() == [LEFT, LEFT]
    assert random_planner.route((0, 0b10))[:6].tolist() == [RIGHT] * 6
    assert random_planner.route((0, 0b01))[1:].tolist() == [LEFT] * 6


def test_the_order_of_all_items_decides_and_not_the_nearest(staged: Any) -> None:
    """x is 3 to the left, y 1 and z 7 to the right: x, y, z takes 3 + 4 + 6 = 13; y first takes 15 at best."""
    random_planner = staged("x..Ay.....z", "any_order(x, y, z)")
    assert random_planner.route((0, 0b111))[3] == LEFT


def test_boxes_are_carried_to_the_station(staged: Any) -> None:
    random_planner = staged("b.A.s", "any_order(b, after=s)")
    chooser = random_planner.stages[0].chooser
    carrying = 1 - chooser
    assert random_planner.route((chooser, 0b1))[1:].tolist() == [LEFT] * 4
    assert random_planner.route((carrying, 0))[:4].tolist() == [RIGHT] * 4


def test_a_route_is_solved_once(staged: Any) -> None:
    random_planner = staged("x.A.y", "any_order(x, y)")
    assert random_planner.route((0, 0b11)) is not None
    kept = random_planner.routes[0b11]
    random_planner.route((0, 0b11))
    assert random_planner.routes[0b11] is kept
    assert set(random_planner.routes) == {0b11}


def crowd(tried: Any, task: Task, kicks: int = 100) -> tuple[TourPlanner, int]:
    known, lowering = tried(task)
    stages = find_stages(lowering)
    assert stages is not None
    assert task.finite is not None
    return TourPlanner(known, lowering, stages, kicks, 0), int(task.finite.table.starts[0])


@pytest.mark.parametrize("name", ["figure-1", "delivery-4", "visit-6", "corridor"])
def test_few_subtasks_are_ordered_as_well_as_can_be(tried: Any, name: str) -> None:
    task = load(name)
    planner, s = crowd(tried, task)
    walk = planner.walk(planner.lowering.stepper.start, s)
    best = optimum(task).length
    assert walk is not None
    assert best is not None
    assert len(walk.actions) >= best
    if name != "corridor":
        assert len(walk.actions) == best
    assert planner.floor(planner.lowering.stepper.start, s, float(len(walk.actions))) <= best


def test_items_in_a_row_are_taken_as_they_come(tried: Any, drawn: Any) -> None:
    """Six to the left of the start at the right end: six steps for six items, the order being forced."""
    task = drawn(["fedcbaA"], "any_order(a, b, c, d, e, f)")
    planner, s = crowd(tried, task, kicks=0)
    start = planner.lowering.stepper.start
    walk = planner.walk(start, s)
    assert walk is not None
    assert len(walk.actions) == 6
    assert [bin(mask).count("1") for _, mask in walk.states] == [6, 5, 4, 3, 2, 1]
    assert planner.floor(start, s, 6.0) == 6.0


def test_groups_are_done_one_after_the_other(tried: Any, drawn: Any) -> None:
    """p and q first, though r lies on the way: 1 + 2, then on to r and t: 1 + 2."""
    planner, s = crowd(tried, drawn(["pAqr.t"], "sequence(any_order(p, q), any_order(r, t))"))
    walk = planner.walk(planner.lowering.stepper.start, s)
    assert walk is not None
    assert len(walk.actions) == 6


def test_an_item_whose_cell_is_not_known_leaves_no_walk(tried: Any, drawn: Any) -> None:
    task = drawn(["x.A.y"], "any_order(x, y)")
    known, lowering = tried(task, tuple((s, a) for s in (3, 4) for a in range(4)))
    stages = find_stages(lowering)
    assert stages is not None
    planner = TourPlanner(known, lowering, stages, 10, 0)
    assert planner.walk(lowering.stepper.start, 2) is None
    assert planner.costs(0, 0, 2, 0b11) is None
    costs = planner.costs(0, 0, 2, 0b01)
    assert costs is not None
    assert costs.first.tolist() == [2.0]


def test_costs_are_the_distances_on_the_drawing(tried: Any, drawn: Any) -> None:
    planner, s = crowd(tried, drawn(["x.A..y"], "any_order(x, y)"))
    costs = planner.costs(0, 0, s, 0b11)
    assert costs is not None
    assert (costs.items, costs.first.tolist(), costs.last.tolist()) == ([0, 1], [2.0, 3.0], [0.0, 0.0])
    assert costs.between[0, 1] == costs.between[1, 0] == 5.0
