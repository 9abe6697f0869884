"""What a deep learner can see and drive: one row of numbers or a numbered state, numbered or bounded actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError
from errands.learners.deep.methods import Spaces

Row = NDArray[np.float32]


@dataclass(frozen=True)
class Senses:
    """How observations become rows of numbers and numbers become actions."""

    spaces: Spaces
    see: Callable[[Any], Row]
    do: Callable[[Row], Any]


def senses_of(env: gym.Env[Any, Any], signals: int) -> Senses:
    """The senses for an environment; spaces that cannot be driven are refused in a sentence."""
    size, see = _seeing(env.observation_space)
    count, continuous, do = _doing(env.action_space)
    return Senses(Spaces(size, count, continuous, signals), see, do)


def _seeing(space: gym.Space[Any]) -> tuple[int, Callable[[Any], Row]]:
    if isinstance(space, gym.spaces.Discrete):
        size, first = int(space.n), int(space.start)
        eye = np.eye(size, dtype=np.float32)
        return size, lambda observation: eye[int(observation) - first]
    if isinstance(space, gym.spaces.Box) and len(space.shape) == 1:
        return int(space.shape[0]), finite
    shape = f"of shape {space.shape}" if isinstance(space, gym.spaces.Box) else str(space)
    raise TaskError(
        f"observations are {shape}, and a deep learner sees one row of numbers or a numbered state; "
        "flatten them, for example with gymnasium.wrappers.FlattenObservation"
    )


def finite(observation: Any) -> Row:
    """An observation as numbers; one that is not finite is refused."""
    row = np.asarray(observation, np.float32)
    good = np.isfinite(row)
    if not good.all():
        entry = int(np.argwhere(~good)[0][-1])
        raise TaskError(f"entry {entry} of an observation is not a finite number; mend the environment")
    return row


def _doing(space: gym.Space[Any]) -> tuple[int, bool, Callable[[Row], Any]]:
    if isinstance(space, gym.spaces.Discrete):
        first = int(space.start)
        return int(space.n), False, lambda action: int(action[0]) + first
    if isinstance(space, gym.spaces.Box) and len(space.shape) == 1 and space.is_bounded():
        low, high = np.asarray(space.low, np.float32), np.asarray(space.high, np.float32)
        return int(space.shape[0]), True, lambda action: (low + (action + 1) / 2 * (high - low)).astype(space.dtype)
    raise TaskError(
        f"actions are {space}, and a deep learner drives Discrete ones (DDQN) or a bounded Box of one dimension (TD3); "
        "wrap the environment so that it takes one of these"
    )
