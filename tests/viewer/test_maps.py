"""Arrows and heat maps of policies."""

from __future__ import annotations

import errands
from errands.machines.stepping import Stepper
from errands.viewer.maps import maps_of, steps_on
from errands.viewer.recording import record
from errands.worlds.grid import DOWN, LEFT, RIGHT, UP

CORRIDOR = """name = "c"
[world]
kind = "grid"
rows = ["g...A..."]
legend = { g = "g" }
[machine]
phrase = "g"
"""


def test_steps_are_counted_along_the_arrows_and_circles_have_none() -> None:
    task = errands.Task.from_toml(CORRIDOR)
    start = Stepper(task.machine).start
    assert steps_on(task, [LEFT] * 8, start) == [1, 1, 2, 3, 4, 5, 6, 7]
    assert steps_on(task, [LEFT, LEFT, UP, RIGHT, LEFT, LEFT, DOWN, LEFT], start) == [1, 1, *[None] * 6]


def test_a_method_without_values_gets_a_map_of_steps() -> None:
    task = errands.load("figure-1")
    run = errands.train(task, "scout", steps=2_000)
    maps = maps_of(task, run.policy, None, record(task, run.policy))
    assert [m["name"] for m in maps] == ["0{b1,b2}{b1,b2}", "1{b1}s", "2{b1}b1", "3{}s"]
    assert maps[0]["values"] is None
    assert maps[0]["steps"][task.layout.start] == 4
    assert maps[1]["steps"][9] == 4


def test_worlds_without_cells_have_no_maps() -> None:
    class Still:
        def act(self, world_state: object, machine_state: tuple[int, int], memory: object) -> tuple[int, object]:
            return 0, None

    task = errands.load("water-2")
    assert maps_of(task, Still(), None, record(task, Still(), most=3)) == []
