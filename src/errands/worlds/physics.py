"""MuJoCo's part of a world: its full physical state as plain numbers, and drawing without a screen."""

from __future__ import annotations

import ctypes.util
import os
import sys
from typing import Any

import numpy as np

from errands.errors import ErrandsError


def save_physics(model: Any, data: Any) -> list[float]:
    """All that the simulation's future depends on, the solver's warm start included."""
    import mujoco

    kind = int(mujoco.mjtState.mjSTATE_INTEGRATION)
    full = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, full, kind)
    return [float(number) for number in full]


def restore_physics(model: Any, data: Any, physics: list[float]) -> None:
    """Put the simulation back into a saved state."""
    import mujoco

    full, kind = np.array(physics), int(mujoco.mjtState.mjSTATE_INTEGRATION)
    mujoco.mj_setState(model, data, full, kind)
    mujoco.mj_forward(model, data)
    # The forward pass is for the picture only and moves the warm start: set the state again.
    mujoco.mj_setState(model, data, full, kind)


def choose_gl() -> None:
    """On Linux without a screen, tell MuJoCo to draw through EGL, or OSMesa, unless the user has chosen."""
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if os.environ.get("MUJOCO_GL") or screen or not sys.platform.startswith("linux"):
        return
    for backend, library in (("egl", "EGL"), ("osmesa", "OSMesa")):
        if ctypes.util.find_library(library):
            os.environ["MUJOCO_GL"] = backend
            return
    raise ErrandsError(
        "rendering MuJoCo without a screen needs EGL or OSMesa and neither is here; install libegl1 or libosmesa6"
    )
