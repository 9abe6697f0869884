"""Any Gymnasium space for learners: observations as rows of numbers, actions as one number or a row between -1 and 1.

A space is first written down as a form, a few plain values. What reads observations and makes actions by a form needs
numpy alone: policy files hold forms, and are acted by with the same functions as learners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError, shown_briefly

if TYPE_CHECKING:
    import gymnasium as gym

Row = NDArray[np.float32]
Form = Mapping[str, Any]
MAX_CHOICES = 4_096
"""Combined actions of a MultiDiscrete or MultiBinary space at most."""


@dataclass(frozen=True)
class ObservationEncoder:
    """How observations become rows: Dict and Tuple part by part in the order of the space, arrays row by row."""

    size: int
    """Numbers in a row."""
    read: Callable[[Any], Row]
    image: tuple[int, int, int] | None = None
    """Height, width and channels, where an observation is a picture."""


@dataclass(frozen=True)
class ActionDecoder:
    """How a learner's numbers become actions."""

    count: int
    """How many choices there are, or the numbers of a continuous action."""
    continuous: bool
    make: Callable[[Any], Any]
    """The action behind the number of a choice, or behind numbers between -1 and 1."""


def observation_encoder(space: gym.Space[Any]) -> ObservationEncoder:
    """How observations of a space are seen; a sentence where they cannot be."""
    import gymnasium as gym

    form = seen_form(space)
    while isinstance(space, gym.spaces.Dict | gym.spaces.Tuple) and len(space.spaces) == 1:
        space = next(iter(_parts(space)))[1]
    picture = isinstance(space, gym.spaces.Box) and len(space.shape) == 3
    image: Any = tuple(map(int, space.shape or ())) if picture else None
    return ObservationEncoder(int(gym.spaces.flatdim(space)), partial(row_of, form), image)


def seen_form(space: gym.Space[Any], whole: str = "observations are") -> Form:
    """What `row_of` reads observations of a space by: parts, choices, or numbers times a scale.

    A sentence where they cannot be read, in which `whole` says what part it is.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Dict | spaces.Tuple):
        return {"parts": [[key, seen_form(part, f"the part {key!r} of observations is a")] for key, part in _parts(space)]}
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        counts = space.n if isinstance(space, spaces.Discrete) else space.nvec
        return {"counts": np.ravel(counts), "starts": np.ravel(space.start)}
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        return {"scale": 1 / 255 if space.dtype == np.uint8 else 1.0, "size": int(np.prod(space.shape))}
    raise TaskError(
        f"{whole} {type(space).__name__}, and a deep learner sees Box, Discrete, MultiDiscrete, MultiBinary, and Dict and Tuple "
        "of those; wrap the environment so that it shows one of these"
    )


def _parts(space: Any) -> Any:
    return space.spaces.items() if isinstance(space.spaces, Mapping) else enumerate(space.spaces)


def row_of(form: Form, observation: Any, scaled: bool = True) -> Row:
    """An observation as one row of numbers, part by part; `scaled` as networks see it, else as regions are told."""
    if "parts" in form:
        return np.concatenate([row_of(part, observation[key], scaled) for key, part in form["parts"]])
    if "counts" in form:  # one block with a single 1 for each number, the blocks side by side
        counts = np.asarray(form["counts"])
        row = np.zeros(counts.sum(), np.float32)
        row[np.cumsum(counts) - counts + np.ravel(observation) - np.asarray(form["starts"])] = 1
        return row
    return finite(observation).ravel() * np.float32(form["scale"]) if scaled else np.ravel(observation)


def finite(observation: Any) -> Row:
    """An observation as numbers; one that is not finite is refused."""
    row = np.asarray(observation, np.float32)
    good = np.isfinite(row)
    if not good.all():
        entry = int(np.argwhere(~good)[0][-1])
        raise TaskError(f"entry {entry} of an observation is not a finite number; fix the environment")
    return row


def action_decoder(space: gym.Space[Any]) -> ActionDecoder:
    """How actions of a space are made; a sentence where they cannot be."""
    form = done_form(space)
    return ActionDecoder(_size(form), "low" in form, partial(action_of, form))


def _size(form: Form) -> int:
    return int(np.size(form["low"]) if "low" in form else np.prod(form["counts"]) if "counts" in form else form["n"])


def drawn(form: Form, rng: np.random.Generator) -> Any:
    """What `action_of` makes a random action of."""
    return rng.uniform(-1, 1, _size(form)) if "low" in form else rng.integers(_size(form))


def done_form(space: gym.Space[Any]) -> Form:
    """What `action_of` makes actions of a space by; a sentence where they cannot be made."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return {"start": int(space.start), "n": int(space.n)}
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        counts = space.nvec if isinstance(space, spaces.MultiDiscrete) else np.full(space.shape, 2)
        total = int(np.prod([int(n) for n in counts.ravel()], dtype=object))
        if total > MAX_CHOICES:
            raise TaskError(
                f"actions are {space} with {total:,} combinations; a deep learner drives {MAX_CHOICES:,} at most"
            )
        starts = space.start if isinstance(space, spaces.MultiDiscrete) else np.zeros(space.shape, np.int64)
        return {"counts": counts, "starts": np.asarray(starts), "dtype": np.dtype(space.dtype).str}
    if isinstance(space, spaces.Box) and space.is_bounded():
        low, high = np.asarray(space.low, np.float32), np.asarray(space.high, np.float32)
        return {"low": low, "high": high, "dtype": np.dtype(space.dtype).str}
    raise TaskError(
        f"actions are {space}, and a deep learner drives Discrete, MultiDiscrete and MultiBinary ones (DDQN) or a bounded Box "
        "(TD3); wrap the environment so that it takes one of these"
    )


MASK = "action_mask"
"""Where `info` says which of the actions 0, 1, 2, ... are allowed now, as Taxi does."""


Mask = NDArray[np.bool_]


def read_mask(given: Any, actions: int) -> Mask:
    """Which of the actions a mask allows; a ValueError, whose words are the end of a sentence, where it is none."""
    try:
        row = np.ravel(given)
    except ValueError:  # rows of different lengths
        row = np.array([None])
    if row.shape != (actions,) or row.dtype.kind not in "biuf" or not ((row == 0) | (row == 1)).all():
        raise ValueError(f"{MASK} = {shown_briefly(repr, given)}; give a 0 or 1 for each of {actions:,} actions")
    return row.astype(np.bool_)


def unmasked(mask: Mask | None, number: int) -> int:
    """The number of an action where a mask allows it, else that of the next one that it allows; without a mask itself."""
    if mask is None:
        return number
    free = np.flatnonzero(np.roll(mask, -number))
    return (number + int(free[0])) % len(mask) if len(free) else number


def action_of(form: Form, chosen: Any) -> Any:
    """The action behind the number of a choice, or behind numbers between -1 and 1."""
    if "low" in form:
        low, high = np.asarray(form["low"], np.float32), np.asarray(form["high"], np.float32)
        numbers = np.asarray(chosen, np.float32)
        # The learner of several seeds stretches all their actions at once: axes before the space's own stay.
        numbers = numbers.reshape(*numbers.shape[:-1], *low.shape)
        return (low + (numbers + 1) / 2 * (high - low)).astype(form["dtype"])
    if "counts" in form:
        counts = np.asarray(form["counts"])
        parts = np.array(np.unravel_index(int(chosen), tuple(counts.ravel())))
        return (parts.reshape(counts.shape) + np.asarray(form["starts"])).astype(form["dtype"])
    return int(chosen) + int(form["start"])
