"""World states of a device world as rows of numbers, so that attempts can begin in recorded ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from errands.learners.deep.worlds import DeviceWorld


@dataclass(frozen=True, eq=False)
class States:
    """Both ways between a world's state and a row of numbers."""

    numbers: int
    dtype: Any
    state: Callable[[Array], Any]

    @staticmethod
    def row(state: Any) -> Array:
        """The numbers of a state."""
        row: Array = ravel_pytree(state)[0]
        return row


@lru_cache(maxsize=16)
def states_of(world: DeviceWorld) -> States:
    """The rows of a world; asked again they are the same, so that nothing is compiled twice."""
    row, state = ravel_pytree(world.start(jnp.float32(0)))
    return States(len(row), row.dtype, state)
