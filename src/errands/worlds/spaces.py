"""Any Gymnasium space for learners: observations as rows of numbers, actions as one number or a row between -1 and 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError

Row = NDArray[np.float32]
MOST_CHOICES = 4_096
"""Combined actions of a MultiDiscrete or MultiBinary space at most."""


@dataclass(frozen=True)
class Seeing:
    """How observations become rows: Dict and Tuple part by part in the order of the space, arrays row by row."""

    size: int
    """Numbers in a row."""
    read: Callable[[Any], Row]
    image: tuple[int, int, int] | None = None
    """Height, width and channels, where an observation is a picture."""


@dataclass(frozen=True)
class Doing:
    """How a learner's numbers become actions."""

    count: int
    """How many choices there are, or the numbers of a continuous action."""
    continuous: bool
    make: Callable[[Any], Any]
    """The action behind the number of a choice, or behind numbers between -1 and 1."""


def seeing(space: gym.Space[Any], whole: str = "observations are") -> Seeing:
    """How observations of a space are seen; a sentence where they cannot be, in which `whole` says what part it is."""
    if isinstance(space, gym.spaces.Discrete):
        return _choices(np.array([space.n]), np.array([space.start]))
    if isinstance(space, gym.spaces.MultiDiscrete):
        return _choices(space.nvec.ravel(), np.asarray(space.start).ravel())
    if isinstance(space, gym.spaces.MultiBinary):
        return Seeing(int(np.prod(space.shape)), lambda seen: np.asarray(seen, np.float32).ravel())
    if isinstance(space, gym.spaces.Box):
        scale = np.float32(1 / 255 if space.dtype == np.uint8 else 1)
        image = tuple(map(int, space.shape)) if len(space.shape) == 3 else None
        return Seeing(int(np.prod(space.shape)), lambda seen: finite(seen).ravel() * scale, image)  # type: ignore[arg-type]
    if isinstance(space, gym.spaces.Dict):
        return _parts([(n, seeing(part, f"the part '{n}' of observations is a")) for n, part in space.spaces.items()])
    if isinstance(space, gym.spaces.Tuple):
        return _parts([(n, seeing(part, f"the part {n} of observations is a")) for n, part in enumerate(space.spaces)])
    raise TaskError(
        f"{whole} {type(space).__name__}, and a deep learner sees Box, Discrete, MultiDiscrete, MultiBinary, and Dict and Tuple "
        "of those; wrap the environment so that it shows one of these"
    )


def _choices(counts: NDArray[Any], starts: NDArray[Any]) -> Seeing:
    """Each number as a row with a single 1."""
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    size = int(counts.sum())

    def read(seen: Any) -> Row:
        row = np.zeros(size, np.float32)
        # One block for each number, the blocks side by side.
        row[begins + np.asarray(seen).ravel() - starts] = 1.0
        return row

    return Seeing(size, read)


def _parts(parts: list[tuple[Any, Seeing]]) -> Seeing:
    def read(seen: Any) -> Row:
        return np.concatenate([part.read(seen[key]) for key, part in parts])

    image = parts[0][1].image if len(parts) == 1 else None
    return Seeing(sum(part.size for _, part in parts), read, image)


def finite(observation: Any) -> Row:
    """An observation as numbers; one that is not finite is refused."""
    row = np.asarray(observation, np.float32)
    good = np.isfinite(row)
    if not good.all():
        entry = int(np.argwhere(~good)[0][-1])
        raise TaskError(f"entry {entry} of an observation is not a finite number; mend the environment")
    return row


def doing(space: gym.Space[Any]) -> Doing:
    """How actions of a space are made; a sentence where they cannot be."""
    if isinstance(space, gym.spaces.Discrete):
        first = int(space.start)
        return Doing(int(space.n), False, lambda choice: int(choice) + first)
    if isinstance(space, gym.spaces.MultiDiscrete | gym.spaces.MultiBinary):
        counts = space.nvec if isinstance(space, gym.spaces.MultiDiscrete) else np.full(space.shape, 2)
        starts = (
            np.asarray(space.start) if isinstance(space, gym.spaces.MultiDiscrete) else np.zeros(space.shape, np.int64)
        )
        total = int(np.prod([int(n) for n in counts.ravel()], dtype=object))
        if total > MOST_CHOICES:
            raise TaskError(
                f"actions are {space} with {total:,} combinations; a deep learner drives {MOST_CHOICES:,} at most"
            )
        shape, sizes, dtype = counts.shape, tuple(counts.ravel()), space.dtype

        def combined(choice: Any) -> Any:
            return (np.array(np.unravel_index(int(choice), sizes)).reshape(shape) + starts).astype(dtype)

        return Doing(total, False, combined)
    if isinstance(space, gym.spaces.Box) and space.is_bounded():
        low, high = np.asarray(space.low, np.float32), np.asarray(space.high, np.float32)

        def stretched(numbers: Any) -> Any:
            array = np.asarray(numbers, np.float32)
            # The learner of several seeds stretches all their actions at once: axes before the space's own stay.
            array = array.reshape(*array.shape[:-1], *low.shape)
            return (low + (array + 1) / 2 * (high - low)).astype(space.dtype)

        return Doing(int(np.prod(low.shape)), True, stretched)
    raise TaskError(
        f"actions are {space}, and a deep learner drives Discrete, MultiDiscrete and MultiBinary ones (DDQN) or a bounded Box "
        "(TD3); wrap the environment so that it takes one of these"
    )
