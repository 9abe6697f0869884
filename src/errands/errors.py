"""What can go wrong, by kind: every error says what came, what was wanted and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any

MAX_NAMES = 24
SOME_NAMES = 8


class ErrandsError(Exception):
    """Any mistake that errands explains in a sentence; the command turns it into exit code 2."""


def install(extra: str = "") -> str:
    """What to type so that an extra's packages are there: from an index, and from a checkout of errands.

    >>> install("deep")
    "pip install 'errands[deep]' (in a checkout of errands: pip install -e '.[deep]')"
    """
    named = f"[{extra}]" if extra else ""
    return f"pip install 'errands{named}' (in a checkout of errands: pip install -e '.{named}')"


def words_of(fault: BaseException, most: int = 200) -> str:
    """What somebody else's fault says, on one line: its kind, and the beginning of its own words."""
    return f"{type(fault).__name__}: {shown_briefly(str, fault, most)}"


def shown_briefly(show: Callable[[Any], str], value: Any, most: int = 60) -> str:
    """The beginning of what somebody else's object says of itself (`str` or `repr`), on one line; it may fail at that."""
    try:
        return " ".join(show(value).split())[:most]
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # noqa: BLE001 (an exception whose words raise, a number of too many digits)
        return f"(its words raise {type(fault).__name__})"


class SpecError(ErrandsError):
    """A machine, guard, phrase or task file is not well formed; `problems` lists every fault found."""

    def __init__(self, message: str, problems: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.problems: tuple[str, ...] = tuple(problems) or (message,)


class TaskError(ErrandsError):
    """A task cannot be run as asked: world and machine do not fit, or it is too large."""


class RunFailed(TaskError):
    """Training stopped at a fault of the task's world: not the input is wrong, but the run failed (exit code 1)."""


class ConfigError(ErrandsError):
    """A learner was given settings that it cannot use."""


class StoreError(ErrandsError):
    """A run folder cannot be read or written."""


class UnknownName(ErrandsError):
    """A name that is not in a closed list; the message proposes the nearest one that is."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(str(name).lower(), lowered := {n.lower(): n for n in names}, n=1, cutoff=0.6)
        shown = names if len(names) <= MAX_NAMES else [*names[:SOME_NAMES], f"and {len(names) - SOME_NAMES} more"]
        hint = f"did you mean '{lowered[near[0]]}'?" if near else f"choose from {', '.join(shown)}"
        super().__init__(f"no {kind} is called '{name}'; {hint}")
