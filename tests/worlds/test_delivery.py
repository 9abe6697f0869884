"""Delivery: golden maps, its own rule step by step, and the expanded table beside the shell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from errands.errors import SpecError, TaskError
from errands.worlds import Delivery, World


def test_the_map_of_seed_0_is_the_same_on_every_platform() -> None:
    assert Delivery(4).layout.start == 88
    assert Delivery(4).layout.places == (("b1", 4), ("b2", 97), ("b3", 14), ("b4", 36), ("s", 43))
    assert Delivery(2, map_seed=1).layout.places == (("b1", 97), ("b2", 46), ("s", 74))


def test_more_boxes_only_add_to_a_map() -> None:
    few, many = dict(Delivery(3).layout.places), dict(Delivery(20).layout.places)
    assert few.items() <= many.items()
    assert len(set(many.values()) | {Delivery(20).layout.start}) == 22


def test_sizes_and_settings() -> None:
    world = Delivery(64)
    assert (world.size, world.limit) == (16, 10240)
    assert isinstance(world, World)
    assert Delivery(2).features == ("b1", "b2", "s")
    assert replace(Delivery(2), boxes=3, slip=0.1) == Delivery(3, slip=0.1)
    with pytest.raises(SpecError, match="boxes is 0, and must be at least 1"):
        Delivery(0)


def corridor(env: Any, *cells: int) -> list[tuple[set[str], dict[str, Any]]]:
    """Enter cells one after the other, wherever they are, and say what was reported."""
    reports = []
    for cell in cells:
        env.cell = cell
        reports.append((set(env.enter()), env.observe()))
    return reports


def test_a_box_is_reported_by_the_step_that_takes_it_and_then_gone() -> None:
    world = Delivery(2)
    where = dict(world.layout.places)
    env = world.env()
    env.reset(seed=0)
    took, onto_other, home, gone, took_2 = corridor(env, where["b1"], where["b2"], where["s"], where["b1"], where["b2"])
    assert took[0] == {"b1"}
    assert took[1]["carrying"] == 1
    assert took[1]["boxes"].tolist() == [0, 1]
    assert onto_other[0] == {"b2"}, "a box is where it is while another is carried"
    assert onto_other[1]["boxes"].tolist() == [0, 1]
    assert home[0] == {"s"}
    assert home[1]["carrying"] == 0
    assert gone[0] == set()
    assert took_2[0] == {"b2"}
    assert took_2[1]["boxes"].tolist() == [0, 0]
    assert env.reset()[0]["boxes"].tolist() == [1, 1]


def test_a_walk_takes_and_delivers() -> None:
    world = Delivery(1, size=2)
    env = world.env()
    where = dict(world.layout.places)
    env.reset(seed=0)
    reported: list[set[str]] = []
    for target in (where["b1"], where["s"], where["b1"]):
        for action in _way(world, env.unwrapped.cell, target):  # type: ignore[attr-defined]
            reported.append(env.step(action)[4]["features"])
    assert reported.count({"b1"}) == 1
    assert {"s"} in reported
    assert reported[-1] == set()


def _way(world: Delivery, here: int, there: int) -> list[int]:
    side = world.size
    down, right = there // side - here // side, there % side - here % side
    return [2 if down > 0 else 0] * abs(down) + [1 if right > 0 else 3] * abs(right)


@pytest.mark.parametrize("slip", [0.0, 0.25])
def test_the_expanded_table_and_the_shell_agree_over_100_000_steps(walk: Callable[..., Any], slip: float) -> None:
    world = Delivery(4, map_seed=2, size=4, slip=slip, limit=400)
    expanded = world.expanded()
    assert expanded.states == 16 * 2**5

    def state_of(observation: dict[str, Any]) -> int:
        left = sum(1 << i for i, here in enumerate(observation["boxes"].tolist()) if here)
        return (2 * left + int(observation["carrying"])) * 16 + int(observation["cell"])

    seen = walk(world.env(), expanded, state_of, draws=False)
    assert seen["episodes"] == 251
    assert seen["labels"] > 1000


def test_too_many_boxes_to_expand_are_refused_with_their_number() -> None:
    assert Delivery(14).expanded().states == 3_276_800
    with pytest.raises(TaskError, match=r"delivery with 15 boxes expands to 6,553,600 states"):
        Delivery(15).expanded()


def test_the_compact_table_keeps_every_box_in_its_place() -> None:
    world = Delivery(3)
    finite = world.finite()
    assert finite.states == 100
    assert set(finite.labels) == {frozenset(), *(frozenset({name}) for name in world.features)}


def test_restoring_reproduces_the_future() -> None:
    world = Delivery(5, size=4, slip=0.2)
    env, twin = world.env(), world.env()
    env.reset(seed=1)
    actions = np.random.default_rng(0).integers(4, size=400).tolist()
    for action in actions[:60]:
        env.step(action)
    saved = env.save()  # type: ignore[attr-defined]
    futures = []
    for each in (env, twin):
        each.restore(saved)  # type: ignore[attr-defined]
        steps = [each.step(action) for action in actions[60:]]
        futures.append([(o["cell"], o["carrying"], o["boxes"].tolist(), info) for o, _, _, _, info in steps])
    assert futures[0] == futures[1]


def test_taken_boxes_disappear_from_the_picture() -> None:
    world = Delivery(2)
    env = world.env("ansi")
    env.reset(seed=0)
    assert "b1" in str(env.render())
    corridor(env, dict(world.layout.places)["b1"], world.layout.start)
    assert "b1" not in str(env.render())
    assert "b2" in str(env.render())
