"""Tables that environments publish (Gymnasium's `P`): every number checked before compiled loops follow it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import Any

import gymnasium as gym
import numpy as np

from errands.errors import ErrandsError, SpecError
from errands.tables import Floats, WorldTable
from errands.worlds.base import FiniteWorld
from errands.worlds.spaces import read_mask, unmasked

PASSIVE = frozenset({"OrderEnforcing", "PassiveEnvChecker", "TimeLimit", "RecordEpisodeStatistics"})
"""Gymnasium's wrappers that leave moves, starts and features as they are."""


def wrapper_around(env: gym.Env[Any, Any]) -> str | None:
    """The outermost wrapper that may change what an environment does, whose published table then is not that of the whole."""
    layer = env
    while isinstance(layer, gym.Wrapper):
        if not (type(layer).__module__.startswith("gymnasium.wrappers.") and type(layer).__name__ in PASSIVE):
            return type(layer).__name__
        layer = layer.env
    return None


class InfoNeeded(ErrandsError):
    """A features function wants to know what a table does not hold."""


class _NoInfo(dict[str, Any]):
    def __getitem__(self, key: object) -> Any:
        raise InfoNeeded

    def get(self, key: object, default: object = None) -> Any:
        """Refuse."""
        raise InfoNeeded

    def __contains__(self, key: object) -> bool:
        raise InfoNeeded


NO_INFO = _NoInfo()
Outcome = tuple[float, int, float, bool]
"""Probability, next state, reward, whether the episode ends."""
Published = Mapping[int, Mapping[int, Sequence[Outcome]]]
SUM_ERROR = 1e-6
"""How far from 1 the sum of published probabilities may be, which may have been rounded."""
MAX_OUTCOMES = 20_000_000
"""States x actions x outcomes of a published table: some hundred megabytes."""


class BadTable(SpecError):
    """What an environment publishes as `P` cannot be the table of a world."""


def _rows(name: str, rows: Any) -> list[Any]:
    """What a published table has under 0, 1, 2 and so on."""
    if not isinstance(rows, Mapping | list | tuple) or not rows:
        raise BadTable(f"{name} is {str(rows)[:40] or 'empty'} ({type(rows).__name__}); give a dict with the keys 0, 1, 2 ...")
    if isinstance(rows, Mapping) and (gone := next((i for i in range(len(rows)) if i not in rows), None)) is not None:
        raise BadTable(f"{name} has {len(rows)} keys, and {gone} is none of them; they must be 0 to {len(rows) - 1}")
    return [rows[i] for i in range(len(rows))]


def _flag(value: Any) -> bool:
    """Whether an outcome ends the episode: a bool of Python's or numpy's, or a whole number."""
    return bool(value) if isinstance(value, np.bool_) else bool(index(value))


def _outcomes(name: str, row: Any, states: int) -> list[Outcome]:
    try:
        outcomes = [(float(chance), index(there), float(reward), _flag(ends)) for chance, there, reward, ends in row]
    except (TypeError, ValueError, OverflowError):
        wanted = "(probability, next state, reward, terminated)"
        raise BadTable(f"{name} is {' '.join(str(row).split())[:80]}; give a list of {wanted}, the state a whole number") from None
    _checked_chances(name, [outcome[0] for outcome in outcomes], len(outcomes))
    for _, there, reward, _ in outcomes:
        if not 0 <= there < states:
            raise BadTable(f"{name} leads to state {there}; states are 0 to {states - 1}")
        if not math.isfinite(reward):
            raise BadTable(f"{name} pays {reward}; rewards must be finite")
    return outcomes


def _checked_chances(name: str, chances: Any, count: int) -> Floats:
    """Probabilities of `count` things, from 0 to 1 and 1 in all."""
    try:
        given = np.asarray(chances, np.float64)
    except (TypeError, ValueError):
        raise BadTable(f"{name} is {str(chances)[:60]}; give {count} probabilities") from None
    if given.shape != (count,) or not count:
        raise BadTable(f"{name} has probabilities of the shape {given.shape}; give {count or 'at least one'}")
    if not (given >= 0).all() or not abs(given.sum() - 1) <= SUM_ERROR:  # nan fails, too
        worst = f"{given.min():g} to {given.max():g}, {given.sum():.9g} in all"
        raise BadTable(f"{name} has probabilities of {worst}; they must be from 0 to 1, and 1 in all")
    return given


def finite_from_p(
    p: Published,
    initial: Sequence[float] | Floats,
    label_of: Callable[..., Collection[str]],
    signals: Mapping[str, Any] | None = None,
) -> FiniteWorld:
    """The world behind P[state][action], started as `initial` says.

    A step's features are `label_of` its last state, or `label_of` (state, action, next state) where it takes three. The
    outcomes keep their order; the published rewards become the signal `reward`, before those that are functions.
    """
    published = [_rows(f"P[{s}]", rows) for s, rows in enumerate(_rows("P", p))]
    states, actions = len(published), len(published[0])
    if odd := next((s for s, rows in enumerate(published) if len(rows) != actions), None):
        raise BadTable(f"P[{odd}] has {len(published[odd])} actions, and P[0] has {actions}; every state needs the same ones")
    pairs = [[_outcomes(f"P[{s}][{a}]", row, states) for a, row in enumerate(rows)] for s, rows in enumerate(published)]
    width = max(len(row) for rows in pairs for row in rows)
    if states * actions * width > MAX_OUTCOMES:
        raise BadTable(f"P has {states:,} states x {actions:,} actions x {width:,} outcomes; tables hold {MAX_OUTCOMES:,}")
    chances = _checked_chances("the initial distribution", initial, states)
    of_step = len(inspect.signature(label_of).parameters) == 3
    functions = {name: value for name, value in (signals or {}).items() if callable(value)}
    labels: dict[frozenset[str], int] = {frozenset[str](): 0}
    last_state = [] if of_step else [labels.setdefault(frozenset(label_of(s)), len(labels)) for s in range(states)]
    shape = (states, actions, width)
    reached, cumulative = np.zeros(shape, np.int32), np.ones(shape)
    label, ends = np.zeros(shape, np.int32), np.zeros(shape, np.bool_)
    signal = np.zeros((1 + len(functions), *shape))
    for s, rows in enumerate(pairs):
        for a, row in enumerate(rows):
            last = len(row) - 1
            # Shorter rows repeat their last outcome; cumulative is 1 from there on, so repetitions have no chance.
            cumulative[s, a, :last] = np.minimum(np.cumsum([outcome[0] for outcome in row])[:last], 1.0)
            for o in range(width):
                _, there, signal[0, s, a, o], ends[s, a, o] = row[min(o, last)]
                reached[s, a, o] = there
                if of_step:
                    label[s, a, o] = labels.setdefault(frozenset(label_of(s, a, there)), len(labels))
                for k, function in enumerate(functions.values(), 1):
                    signal[k, s, a, o] = function(s, a, there)
    starts = np.flatnonzero(chances).astype(np.int32)
    start_cumulative = np.cumsum(chances[starts])
    # Sums of chances can end just below 1, or above.
    start_cumulative = np.minimum(start_cumulative, 1.0)
    start_cumulative[-1] = 1.0
    if of_step:
        first = [labels.setdefault(frozenset(label_of(None, None, int(s))), len(labels)) for s in starts]
    else:
        first, label = [last_state[s] for s in starts], np.array(last_state, np.int32)[reached]
    table = WorldTable(
        starts=starts,
        start_cumulative=start_cumulative,
        start_label=np.array(first, np.int32),
        next=reached,
        cumulative=cumulative,
        label=label,
        ends=ends,
        signal=signal,
    )
    return FiniteWorld(table, tuple(labels), ("reward", *functions))


def masked(finite: FiniteWorld, mask: Callable[[int], Any]) -> FiniteWorld:
    """The same world, a forbidden action having the row of the allowed one that it stands for."""
    table, rows_of = finite.table, []
    for s in range(finite.states):
        given = mask(s)
        try:
            allowed = None if given is None else read_mask(given, finite.actions)
        except ValueError as fault:
            raise BadTable(f"state {s} has {fault}") from None
        rows_of.append([unmasked(allowed, a) for a in range(finite.actions)])
    real = np.array(rows_of)
    rows = {name: getattr(table, name)[np.arange(finite.states)[:, None], real] for name in ("next", "cumulative", "label", "ends")}
    return replace(finite, table=table._replace(signal=table.signal[:, np.arange(finite.states)[:, None], real], **rows))
