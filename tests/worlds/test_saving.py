"""Saved states are plain data: they survive JSON."""

from __future__ import annotations

import ctypes.util
import json
import os
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from errands.errors import ErrandsError, TaskError
from errands.ids import WORLDS
from errands.worlds.saving import Restorable, choose_gl, from_json, restore_foreign, save_foreign, to_json


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_a_saved_state_survives_json_and_continues(name: str) -> None:
    if "Cheetah" in name:
        pytest.importorskip("mujoco")
    env = gym.make(name).unwrapped
    env.reset(seed=1)
    env.action_space.seed(1)
    env.step(env.action_space.sample())
    assert isinstance(env, Restorable)
    saved = env.save()
    env.restore(json.loads(json.dumps(saved)))
    assert env.save() == saved


@pytest.fixture(autouse=True)
def _bare_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "environ", {})


def library(monkeypatch: pytest.MonkeyPatch, *present: str) -> None:
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: name if name in present else None)


@pytest.mark.parametrize(("present", "chosen"), [(("EGL", "OSMesa"), "egl"), (("OSMesa",), "osmesa")])
def test_egl_comes_before_osmesa(monkeypatch: pytest.MonkeyPatch, present: tuple[str, ...], chosen: str) -> None:
    library(monkeypatch, *present)
    choose_gl()
    assert os.environ["MUJOCO_GL"] == chosen


def test_neither_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    library(monkeypatch)
    with pytest.raises(ErrandsError, match="needs EGL or OSMesa and neither is here; install libegl1 or libosmesa6"):
        choose_gl()


@pytest.mark.parametrize("setting", [{"DISPLAY": ":0"}, {"WAYLAND_DISPLAY": "wayland-0"}, {"MUJOCO_GL": "glfw"}])
def test_a_screen_or_the_users_choice_wins(monkeypatch: pytest.MonkeyPatch, setting: dict[str, str]) -> None:
    library(monkeypatch, "EGL")
    os.environ.update(setting)
    choose_gl()
    assert os.environ.get("MUJOCO_GL") == setting.get("MUJOCO_GL")


def test_mujoco_environments_continue_to_the_last_bit() -> None:
    pytest.importorskip("mujoco")
    env, twin = (gym.make("Hopper-v5").unwrapped for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=1)
    actions = np.random.default_rng(0).uniform(-1, 1, (20, 3)).astype(np.float32)
    for action in actions[:10]:
        env.step(action)
    saved = save_foreign(env)
    restore_foreign(twin, saved)
    for action in actions[10:]:
        assert np.array_equal(env.step(action)[0], twin.step(action)[0])


class _Hidden(gym.Env[Any, Any]):
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Discrete(2)

    def __init__(self) -> None:
        self.engine = memoryview(b"hidden state")


def test_state_that_is_not_plain_is_refused_by_name() -> None:
    with pytest.raises(TaskError, match="_Hidden cannot be saved: its attribute 'engine' is a memoryview"):
        save_foreign(_Hidden())


def test_saved_values_are_copies() -> None:
    env: Any = gym.make("MountainCar-v0").unwrapped
    env.reset(seed=0)
    saved = save_foreign(env)
    before = np.array(saved["attributes"]["state"])
    env.step(2)
    assert np.array_equal(saved["attributes"]["state"], before)


def through(value: Any) -> Any:
    return from_json(json.loads(json.dumps(to_json(value))))


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, 2.5, "text", [], [1, [2, "a"]], (), (1, (2,)), set(), {1, 2}, frozenset({"a"}), b"", b"\x00\xff",
        {}, {"a": 1, (1, 2): [b"x"]}, {"~array": 3}, {1: {2: {3: (4,)}}},
    ],
)  # fmt: skip
def test_values_come_back_with_their_kind(value: Any) -> None:
    found = through(value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "bool", "<M8[s]"])
def test_arrays_keep_type_shape_and_every_bit(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    found = through(array)
    assert (found.dtype, found.shape) == (array.dtype, (2, 3))
    assert found.tobytes() == array.tobytes()
    found[0, 0] = found[1, 1]


def test_numpy_numbers_stay_numpy_numbers() -> None:
    found = through({"x": np.float32(0.1), "n": np.uint64(2**63)})
    assert type(found["x"]) is np.float32
    assert found == {"x": np.float32(0.1), "n": np.uint64(2**63)}


def test_an_empty_array_comes_back() -> None:
    assert through(np.zeros((0, 4))).shape == (0, 4)
