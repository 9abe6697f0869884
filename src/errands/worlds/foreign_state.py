"""The state of environments that errands did not write: plain attributes, random generator, MuJoCo's physics."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
import numpy as np

from errands.errors import TaskError
from errands.worlds.physics import restore_physics, save_physics
from errands.worlds.saving import Saved, restore_random, save_random

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.ndarray)
_FIXED = {"P", "spec", "model", "data", "metadata", "action_space", "observation_space", "_np_random"}
_SCENERY = ("gymnasium", "pygame", "mujoco")


def save_foreign(env: gym.Env[Any, Any]) -> Saved:
    """All that changes in an unwrapped environment; a TaskError where something is not plain data."""
    attributes = {}
    for name, value in vars(env).items():
        if name in _FIXED or callable(value):
            continue
        if _plain(value):
            attributes[name] = copy.deepcopy(value)
        elif type(value).__module__.split(".")[0] not in _SCENERY:
            raise TaskError(
                f"{type(env).__name__} cannot be saved: its attribute '{name}' is a {type(value).__name__}, "
                "not plain data; use an environment that keeps its state in numbers and arrays"
            )
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
        setattr(env, name, copy.deepcopy(value))
    physical: Any = env
    if "physics" in saved:
        restore_physics(physical.model, physical.data, saved["physics"])


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_plain(key) and _plain(item) for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return all(_plain(item) for item in value)
    return isinstance(value, _PLAIN)
