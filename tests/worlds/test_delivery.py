"""Delivery: golden maps, its table, and boxes that are gone once the machine has completed them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from errands.errors import SpecError
from errands.tasks import load
from errands.tasks.product import task_env
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
        futures.append([(cell, info) for cell, _, _, _, info in steps])
    assert futures[0] == futures[1]


def test_a_box_is_reported_by_the_step_that_completes_it_and_then_gone() -> None:
    env: Any = task_env(load("delivery-2"), "numeric", "ansi")
    where = dict(env.env.unwrapped.layout.places)
    env.reset(seed=0)
    reported = []
    for name in ("b1", "b2", "s", "b1", "b2"):
        for action in _way(10, env.env.unwrapped.cell, where[name]):
            *_, info = env.step(action)
        reported.append((info["features"], set(info["remaining"])))
    # A box is where it is while another is carried.
    assert reported == [
        ({"b1"}, {"b2"}), ({"b2"}, {"b2"}), ({"s"}, {"b2"}), (set(), {"b2"}), ({"b2"}, set()),
    ]  # fmt: skip
    assert "b" not in str(env.render())
    env.reset()
    assert "b1" in str(env.render())


def _way(side: int, here: int, there: int) -> list[int]:
    down, right = there // side - here // side, there % side - here % side
    return [2 if down > 0 else 0] * abs(down) + [1 if right > 0 else 3] * abs(right)
