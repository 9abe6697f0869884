"""States of environments on the host as rows of bytes, so that attempts can begin in recorded ones."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from errands.errors import ErrandsError, TaskError
from errands.learners.deep.machine import listed
from errands.learners.deep.worlds import device_world
from errands.tasks.task import Task
from errands.worlds.saving import Restorable

BLANK = ord(" ")
ROUND = 512
"""Rows are filled with blanks to a multiple of this, so that most have the same length."""


def taken(env: gym.Env[Any, Any], seen: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The state of an environment and what is seen in it, as JSON and blanks."""
    state = env.save()  # type: ignore[attr-defined]
    data = json.dumps({"seen": seen.tolist(), "state": state}, default=_plain).encode()
    return np.frombuffer(data.ljust(-(-len(data) // ROUND) * ROUND), np.uint8)


def put(env: gym.Env[Any, Any], row: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Put an environment into a recorded state; what is seen there."""
    found = json.loads(bytes(row), object_hook=_array)
    env.restore(found["state"])  # type: ignore[attr-defined]
    return np.array(found["seen"], np.float32)


def stacked(rows: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Rows of bytes as one array; shorter ones are filled with blanks."""
    width = max((row.shape[-1] for row in rows), default=0)
    return np.array([np.pad(row, (0, width - len(row)), constant_values=BLANK) for row in rows], np.uint8)


def restorable(task: Task) -> None:
    """Refuse a world that cannot be put into a state, in a sentence."""
    if device_world(listed(task)) is not None:
        return
    env = task.world.env()
    reason = "it has no save() and restore()"
    try:
        if isinstance(env, Restorable):
            env.reset(seed=0)
            put(env, taken(env, np.zeros(0, np.float32)))
            return
    except (ErrandsError, TypeError, ValueError, AttributeError) as fault:
        reason = str(fault)
    finally:
        env.close()
    raise TaskError(
        f"dirl starts attempts where earlier ones ended, and the environment of '{task.name}' cannot be put into a "
        f"state ({reason}); use learner 'qrm', 'hrm' or 'qcorm-plus'"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": value.tolist(), "dtype": value.dtype.str, "shape": list(value.shape)}
    raise TypeError(f"a {type(value).__name__} is not plain data")


def _array(found: dict[str, Any]) -> Any:
    if found.keys() == {"array", "dtype", "shape"}:
        return np.array(found["array"], found["dtype"]).reshape(found["shape"])
    return found
