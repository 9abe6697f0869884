"""The full state of an environment as plain data: our own, foreign attributes, random numbers, MuJoCo's physics."""

from __future__ import annotations

import base64
import copy
import ctypes.util
import os
import sys
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from errands.errors import ErrandsError, TaskError

if TYPE_CHECKING:
    import gymnasium as gym

Saved = dict[str, Any]
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.ndarray)
# Neither saved nor set: what no step changes, and what is saved in another way (the generator, MuJoCo's data).
_FIXED = {"P", "spec", "model", "data", "metadata", "action_space", "observation_space", "_np_random"}
_SCENERY = ("gymnasium", "pygame", "mujoco")


@runtime_checkable
class Restorable(Protocol):
    """An environment whose future after `restore(saved)` is exactly that after `save()`."""

    def save(self) -> Saved:
        """The full state as plain data."""

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state."""


def save_random(env: gym.Env[Any, Any]) -> Saved:
    """The state of an environment's random generator."""
    return dict(env.np_random.bit_generator.state)


def restore_random(env: gym.Env[Any, Any], state: Any) -> None:
    """Give an environment a generator in that state."""
    bits = np.random.PCG64()
    bits.state = state
    env.np_random = np.random.Generator(bits)


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

    full, kind = np.array(physics, np.float64), int(mujoco.mjtState.mjSTATE_INTEGRATION)
    if not np.isfinite(full).all():
        raise TaskError("the stored state of the simulation has numbers that are not finite")
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


def plain_attributes(env: gym.Env[Any, Any], fixed: Set[str], scenery: Sequence[str] = ()) -> Saved:
    """What changes in an environment or a wrapper; a TaskError where something is not plain data, nor of the scenery's modules."""
    attributes = {}
    for name, value in vars(env).items():
        if name in fixed or callable(value):
            continue
        if is_plain(value):
            attributes[name] = value
        # Another environment inside is no scenery, though most are of a module of gymnasium's: it has a state of its own.
        elif type(value).__module__.split(".")[0] not in scenery or (hasattr(value, "step") and hasattr(value, "reset")):
            raise TaskError(
                f"{type(env).__name__} cannot be saved: its attribute '{name}' is a {type(value).__name__}, "
                "not plain data; use an environment that keeps its state in numbers and arrays"
            )
    return attributes


def save_foreign(env: gym.Env[Any, Any]) -> Saved:
    """All that changes in an unwrapped environment."""
    attributes = copy.deepcopy(plain_attributes(env, _FIXED, _SCENERY))
    saved: Saved = {"attributes": attributes, "random": save_random(env)}
    physical: Any = env
    if type(getattr(env, "data", None)).__name__ == "MjData":
        saved["physics"] = save_physics(physical.model, physical.data)
    return saved


def restore_foreign(env: gym.Env[Any, Any], saved: Saved) -> None:
    """Put an unwrapped environment back into a saved state."""
    # The generator first: Gymnasium forgets the seed, one of the attributes, when it is given one.
    restore_random(env, saved["random"])
    for name, value in saved["attributes"].items():
        # What is stored may be anything: nothing of the environment's own that is no plain data is replaced.
        if name in _FIXED or not isinstance(name, str) or callable(getattr(env, name, None)) or not is_plain(value):
            raise TaskError(
                f"the stored state of {type(env).__name__} has '{str(name)[:40]}', which is none of its data"
            )
        setattr(env, name, copy.deepcopy(value))
    physical: Any = env
    if "physics" in saved:
        restore_physics(physical.model, physical.data, saved["physics"])


def is_plain(value: Any) -> bool:
    """Whether a value is numbers, text, bytes, arrays, or containers of them."""
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(item) for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return all(is_plain(item) for item in value)
    return isinstance(value, _PLAIN)


def to_json(value: Any) -> Any:
    """Plain data as JSON can hold it; arrays, numpy numbers, bytes and tuples are marked."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        data = base64.b64encode(array.tobytes()).decode()
        return {"~array": [array.dtype.str, list(array.shape), data, isinstance(value, np.generic)]}
    if isinstance(value, bytes):
        return {"~bytes": base64.b64encode(value).decode()}
    if isinstance(value, tuple | set | frozenset):
        return {f"~{type(value).__name__}": [to_json(v) for v in value]}
    if isinstance(value, dict):
        return {"~dict": [[to_json(k), to_json(v)] for k, v in value.items()]}
    return [to_json(v) for v in value] if isinstance(value, list) else value


def from_json(value: Any) -> Any:
    """The data behind `plain`."""
    if isinstance(value, list):
        return [from_json(v) for v in value]
    if not isinstance(value, dict):
        return value
    # Every table that `plain` writes has exactly one key, the mark: dictionaries are marked as well.
    ((mark, inner),) = value.items()
    if mark == "~array":
        dtype, shape, data, scalar = inner
        array = np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()
        return array[()] if scalar else array
    if mark == "~bytes":
        return base64.b64decode(inner)
    if mark == "~dict":
        return {from_json(k): from_json(v) for k, v in inner}
    return {"~tuple": tuple, "~set": set, "~frozenset": frozenset}[mark](from_json(v) for v in inner)
