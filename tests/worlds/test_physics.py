"""Which way of drawing is chosen without a screen."""

from __future__ import annotations

import ctypes.util
import os
import sys

import pytest

from errands.errors import ErrandsError
from errands.worlds.physics import choose_gl


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
