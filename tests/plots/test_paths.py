"""Paths through the plane: which entries are drawn, where the regions lie, and a path that is known step by step."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands.errors import TaskError
from errands.plots.figures import FIGURES, Trained
from errands.plots.paths import draw_path, path_of, plane_of
from errands.tasks import Task


class Plane(gym.Env[Any, Any]):
    """A point that begins in the middle; the first entry of what is observed says nothing."""

    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gym.spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.at = np.zeros(3, np.float32)
        return self.at.copy(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at[1 + action // 2] += 0.25 if action % 2 else -0.25
        return self.at.copy(), 0.0, False, False, {}


class Square:
    """Right twice, then up until the end."""

    def act(self, world_state: Any, machine_state: Any, memory: Any) -> tuple[int, Any]:
        number = memory or 0
        return (1 if number < 2 else 3), number + 1


def task(**features: Any) -> Task:
    return Task.from_env(Plane, features, f"any_order({', '.join(features)})", limit=4, name="plane")


DISC = {"index": [1, 2], "centre": [0.5, 0.0], "radius": 0.1}
BOX = {"index": [1, 2], "above": [0.4, 0.4]}


def test_a_path_goes_through_the_entries_that_the_rules_are_about() -> None:
    ours = task(a=DISC, b=BOX)
    index, regions = plane_of(ours)
    assert index == (1, 2)
    assert [(r.feature, r.centre, r.radius, r.above, r.below) for r in regions] == [
        ("a", (0.5, 0.0), 0.1, (), ()), ("b", (), 0.0, (0.4, 0.4), (None, None)),
    ]  # fmt: skip
    value = path_of(ours, Square(), "by hand")
    assert value.points == ((0, 0), (0.25, 0), (0.5, 0), (0.5, 0.25), (0.5, 0.5))
    assert (value.completed, value.success) == (((2, "a"), (4, "b")), True)
    assert value.as_json()["kind"] == "path"
    texts = {text.get_text() for text in draw_path(value).axes[0].texts}
    assert texts == {"a", "b", "1", "2"}


def test_a_path_of_states_that_a_function_tells_apart_is_drawn_as_observed() -> None:
    ours = Task.from_env(Plane, {"a": DISC}, "a", limit=4, name="plane", state=lambda seen: tuple(np.round(seen, 2).tolist()))
    value = path_of(ours, errands.train(ours, "scout", steps=2_000).policy, "scout")
    assert (value.points, value.completed) == (((0, 0), (0.25, 0), (0.5, 0)), ((2, "a"),))


def test_rules_of_one_entry_have_no_plane_and_plot_draws_a_trained_run() -> None:
    with pytest.raises(TaskError, match="neither a map nor features that are discs or boxes of two entries"):
        plane_of(task(a={"index": 1, "above": 0.4}))
    run = errands.train(task(a=DISC), "crm", steps=60, settings={"width": 8, "depth": 1, "warmup": 10, "eval_every": 60})
    svg = FIGURES["route"].svg(Trained(run.task, run.trained, "crm, seed 0"))
    assert "plane, crm, seed 0" in svg or "<svg" in svg
