"""The one guard around calls into a user's code: whatever it does becomes a sentence, and an interrupt stays one."""

from __future__ import annotations

import math
import queue
import sys
import threading
import warnings
from collections.abc import Callable, Set
from functools import partial
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from errands.errors import ErrandsError, SpecError, TaskError, shown_briefly, words_of

T = TypeVar("T")
STEP = "observation, reward, terminated, truncated, info"
MAX_NUMBERED = {"observation_space": 10_000_000, "action_space": 65_536}
"""Discrete observations and actions at most; beyond, even one row of numbers for each would fill the memory."""
CLOSING = 5.0
"""Seconds in which an environment must have closed itself; then it is left to itself."""


def guarded(
    call: Callable[[], T],
    place: Callable[[], str],
    advice: str = "fix it",
    seconds: float | None = None,
    error: type[ErrandsError] = TaskError,
    raised: str = " raised",
) -> T:
    """What a user's code gives; an error of errands where it raises anything else, exits, or takes longer than `seconds`.

    `place` names the code and where it was; it is asked when something has happened. What the code prints goes to standard
    error.
    """
    out, sys.stdout = sys.stdout, sys.stderr  # by hand: a context manager costs as much as many a step
    try:
        return call() if seconds is None else in_time(call, seconds)
    except (ErrandsError, KeyboardInterrupt):
        raise
    except Wrong as said:
        raise error(f"{place()} {said}") from None
    except TooLong:
        raise error(
            f"{place()} took longer than {seconds:g} seconds; fix the environment, or allow more with step_seconds, then "
            "resume the run"
        ) from None
    except BaseException as fault:  # one that exits would take the run's last words with it
        raise error(f"{place()}{raised} {words_of(fault)}; {advice}") from fault
    finally:
        sys.stdout = out


class Wrong(Exception):
    """A user's code gave what cannot be used; its words are the rest of a sentence that begins with a place."""


class TooLong(Exception):
    """A call was not answered in time."""


def in_time(call: Callable[[], T], seconds: float) -> T:
    """What a call gives; TooLong where it takes longer. It is then left running in its thread."""
    answer: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()

    def work() -> None:
        try:
            answer.put((True, call()))
        except BaseException as fault:  # noqa: BLE001 (raised again where it was asked for)
            answer.put((False, fault))

    threading.Thread(target=work, daemon=True).start()
    try:
        good, value = answer.get(timeout=seconds)
    except queue.Empty:
        raise TooLong from None
    if not good:
        raise value
    return value  # type: ignore[no-any-return]


def spaces_of(name: str, env: gym.Env[Any, Any], stated: bool) -> list[gym.Space[Any]]:
    """What is observed and done in an environment; where it is not `stated`, its observations must be few enough for a table."""
    spaces = []
    for part, most in MAX_NUMBERED.items():
        place = f"the {part} of '{name}'"
        space = guarded(partial(getattr, env, part, None), place.__str__, error=SpecError)
        if not isinstance(space, gym.Space):
            raise SpecError(f"the environment '{name}' has no {part}; give it one of gymnasium.spaces")
        if isinstance(space, gym.spaces.Discrete) and space.n > most and not (stated and part == "observation_space"):
            raise SpecError(f"the {part} of '{name}' is {space}, and tables have room for {most:,}; number fewer, or give a Box")
        spaces.append(space)
    return spaces


def close(env: gym.Env[Any, Any]) -> None:
    """Close an environment; where it raises or does not come back a warning says so, for nothing is lost by it."""
    name = type(env.unwrapped).__name__
    try:
        # What draws must be closed by the thread that drew.
        in_time(env.close, CLOSING) if env.render_mode is None else env.close()
    except KeyboardInterrupt:
        raise
    except TooLong:
        warnings.warn(f"{name} did not close itself in {CLOSING:g} seconds and was left as it is", stacklevel=2)
    except BaseException as fault:  # noqa: BLE001 (whatever it is, the work is done)
        said = shown_briefly(str, fault, 200)
        warnings.warn(f"{name} raised {type(fault).__name__} when it was closed: {said}", stacklevel=2)


def frame(env: gym.Env[Any, Any]) -> NDArray[np.uint8] | None:
    """The environment's own picture [height, width, 3] where it was made with render_mode="rgb_array"; else None."""
    if env.render_mode != "rgb_array":
        return None

    def drawn() -> NDArray[np.uint8] | None:
        picture = np.asarray(env.render())
        good = picture.ndim == 3 and picture.shape[2] in (3, 4) and picture.size > 0
        return np.ascontiguousarray(picture[:, :, :3], np.uint8) if good else None

    return guarded(drawn, lambda: f"drawing the environment '{type(env.unwrapped).__name__}'")


def parts_of(answer: Any, wanted: str) -> Any:
    """An answer, which must have as many parts as are `wanted`."""
    if isinstance(answer, tuple | list) and len(answer) == 1 + wanted.count(","):
        return answer
    parts = [f"{type(part).__name__} {shown_briefly(str, part, 40)}" for part in answer] if isinstance(answer, tuple) else ()
    raise Wrong(f"answered ({', '.join(parts)[:200] or shown_briefly(repr, answer)}); give ({wanted})")


def truth(value: Any, name: str) -> bool:
    """A flag, which must be a bool of Python's or of an array library's."""
    if value is True or value is False:
        return bool(value)
    if getattr(value, "shape", None) == () and getattr(value, "dtype", None) == np.bool_:
        return bool(value)
    raise Wrong(f"gave {name} = {shown_briefly(repr, value)}, a {type(value).__name__}; give True or False")


def number(value: Any, name: str) -> float:
    """A reward or signal, which must be a finite number."""
    try:
        given = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        given = math.nan
    if math.isfinite(given):
        return given
    raise Wrong(f"gave {name} = {shown_briefly(repr, value)}; give a finite number")


def feature_set(true: Any) -> set[str]:
    """Features, which must be a set of names."""
    if isinstance(true, Set) and all(isinstance(name, str) for name in true):
        return set(true)
    raise Wrong(
        f"gave {shown_briefly(repr, true)} ({type(true).__name__}) as features; it must give a set of names, such as {{'goal'}}"
    )


def stranger(space: gym.Space[Any], observation: Any) -> str | None:
    """What is wrong with an observation of a space, as the rest of a sentence; bounds of a Box are not looked at."""
    if isinstance(space, gym.spaces.Box):
        try:
            row = np.asarray(observation)
        except ValueError:  # rows of different lengths
            return f"{shown_briefly(str, observation)}, which is no array of shape {space.shape}"
        if row.shape != space.shape:
            return f"something of shape {row.shape}, and its space has {space.shape}"
        if row.dtype.kind not in "fiub":
            return f"{shown_briefly(str, observation)}, which are no numbers"
        if row.dtype.kind == "f" and not np.isfinite(row).all():
            entry = int(np.flatnonzero(~np.isfinite(row))[0])
            return f"{np.ravel(row)[entry]} as entry {entry}"
        return None
    if isinstance(space, gym.spaces.Dict | gym.spaces.Tuple):
        parts = space.spaces.items() if isinstance(space, gym.spaces.Dict) else enumerate(space.spaces)
        for name, part in parts:
            try:
                inner = observation[name]
            except (LookupError, TypeError):
                return f"nothing as part {name!r} of its {type(space).__name__}"
            if said := stranger(part, inner):
                return f"{said}, in part {name!r}"
        return None
    try:
        inside = observation in space
    except Exception:  # noqa: BLE001 (what a space makes of nonsense: numbers that are too large, text)
        inside = False
    return None if inside else f"{shown_briefly(str, observation)}, which is not in its {space}"
