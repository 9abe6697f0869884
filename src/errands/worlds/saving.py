"""Save and restore of a world's full state as plain data, the random numbers to come included."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

Saved = dict[str, Any]


@runtime_checkable
class Restorable(Protocol):
    """An environment whose future after `restore(saved)` is exactly that after `save()`."""

    def save(self) -> Saved:
        """The full state as plain data."""
        ...

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state."""
        ...


def save_random(env: gym.Env[Any, Any]) -> Saved:
    """The state of an environment's random generator."""
    return dict(env.np_random.bit_generator.state)


def restore_random(env: gym.Env[Any, Any], state: Any) -> None:
    """Give an environment a generator in that state."""
    bits = np.random.PCG64()
    bits.state = state
    env.np_random = np.random.Generator(bits)
