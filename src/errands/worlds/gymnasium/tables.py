"""Tables of a user's world: published by its environment (Gymnasium's `P`), or found by trying every action in every state.

Every number that is published is checked before compiled loops follow it. What is tried is tried on copies.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from errands.errors import ErrandsError, SpecError, words_of
from errands.tables import Floats, WorldTable
from errands.worlds.base import FiniteWorld, one_start
from errands.worlds.spaces import read_mask, unmasked

if TYPE_CHECKING:
    from errands.worlds.gymnasium.shell import StateNumbers
    from errands.worlds.gymnasium.world import GymnasiumWorld

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
    first_labels = np.array(first, np.int32)
    table = WorldTable(starts, start_cumulative, first_labels, reached, cumulative, label, ends, signal)
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


# Found by trying

MAX_TRIES = 50_000
"""Pairs of a state and an action that are tried; larger worlds are learnt in step by step."""
STARTS = 100
"""Episodes begun to see whether all start alike, every other one without a seed of its own."""
SEEDS = 4
"""Seeds that must start alike before anything is tried."""
STEPS, WALKS, PUBLISHED_STEPS = 5_000, 500, 1_000
"""Steps and walks that compare a table found by trying with the environment, and steps for a published one."""
HIDDEN = "has moves that depend on more than the state function tells, or on chance"


class Try(NamedTuple):
    """What one try gave."""

    state: int
    features: frozenset[str]
    ends: bool
    signals: tuple[float, ...]


class NoTable(Exception):
    """Why a world cannot be written down as a table."""


def enumerate_states(world: GymnasiumWorld, numbers: StateNumbers) -> FiniteWorld | None:
    """The whole world as tables; None where there is none, and then `numbers.untabled` says why.

    Every action is tried twice in every state, on copies with different random numbers and, where there are two, different
    pasts; then walks compare the table with the environment. Where anything differs (chance, several starts, a state that
    does not hold all that matters) there is no table, and learners step in the environment itself. Where nothing does,
    that is no proof: `FiniteWorld.tried` says how far it was looked.
    """
    env = world.numbered()
    try:
        start = _same_start(env)
        rows = _explore(world, env, start.state)
        finite = _table(world, len(numbers), start, rows)
        walks, steps = _confirm(env, finite, max(STEPS, finite.states * finite.actions))
    except NoTable as reason:
        numbers.untabled = str(reason)
        return None
    finally:
        env.close()
    tries = 2 * sum(map(len, rows.values())) + steps
    return replace(finite, tried=f"as far as {tries:,} tries, {SEEDS + STARTS + walks:,} starts and {walks:,} walks showed")


def contradicted(env: gym.Env[Any, Any], finite: FiniteWorld) -> bool:
    """Whether an environment soon does what its published table says it cannot, as where a subclass moves otherwise."""
    try:
        _confirm(env, finite, PUBLISHED_STEPS)
    except NoTable:
        return True
    finally:
        env.close()
    return False


def _same_start(env: gym.Env[Any, Any]) -> Try:
    starts = set()
    for seed in range(SEEDS):
        state, info = env.reset(seed=seed)
        starts.add(Try(int(state), frozenset(info["features"]), False, ()))
    if len(starts) > 1:
        raise NoTable("has episodes that start in different states")
    return starts.pop()


def _explore(world: GymnasiumWorld, env: gym.Env[Any, Any], start: int) -> dict[int, list[Try]]:
    """By state and action, what follows: breadth first from the start, each waiting state with a copy of its own."""
    actions = int(env.action_space.n)  # type: ignore[attr-defined]
    waiting, rows = deque([start]), dict[int, list[Try]]({start: []})
    # Of each waiting state the copy that found it, and the latest one that came another way.
    copies = {start: [_copied(env)]}
    while waiting:
        state = waiting.popleft()
        here, *others = copies.pop(state)
        for action in range(actions):
            if len(rows) * actions > MAX_TRIES:
                raise NoTable(f"has more than {MAX_TRIES:,} pairs of a state and an action")
            chance = 2 * (state * actions + action)  # other random numbers for every try
            outcome, there = _tried(world, here, action, chance)
            if others and _tried(world, others[0], action, chance)[0] != outcome:
                raise NoTable(HIDDEN)
            if not others and _tried(world, here, action, chance + 1)[0] != outcome:
                raise NoTable("has moves that depend on chance")
            rows[state].append(outcome)
            if outcome.ends:
                continue
            if outcome.state not in rows:
                rows[outcome.state] = []
                waiting.append(outcome.state)
                copies[outcome.state] = [there]
            elif outcome.state in copies:
                copies[outcome.state][1:] = [there]
    return rows


def _copied(env: gym.Env[Any, Any], chance: int | None = None) -> gym.Env[Any, Any]:
    """A copy, maybe with random numbers of its own, that shares what no step changes: numbers of states, spaces, its making."""
    numbers: Any = env
    shared = {id(numbers.numbers): numbers.numbers}
    layer: Any = env
    while layer is not None:
        shared |= {id(v): v for v in vars(layer).values() if isinstance(v, gym.Space | EnvSpec)}
        layer = layer.env if isinstance(layer, gym.Wrapper) else None
    try:
        copied = copy.deepcopy(env, shared)
        if chance is not None:
            copied.unwrapped.np_random = np.random.default_rng(chance)
        return copied
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # whatever an environment that cannot be copied raises
        raise NoTable(f"cannot be copied ({words_of(fault, 80)})") from fault


def _tried(world: GymnasiumWorld, here: gym.Env[Any, Any], action: int, chance: int) -> tuple[Try, gym.Env[Any, Any]]:
    env = _copied(here, chance)
    first = int(env.action_space.start)  # type: ignore[attr-defined]
    state, _, terminated, _, info = env.step(action + first)
    # The reward is left out where nothing asks for it by name: MiniGrid's depends on the time.
    signals = tuple(info["signals"][name] for name in world.reports)
    return Try(int(state), frozenset(info["features"]), bool(terminated), signals), env


def _confirm(env: gym.Env[Any, Any], finite: FiniteWorld, steps: int) -> tuple[int, int]:
    """Walk by actions that were taken least often, which must go where the table says: how many walks and steps it were."""
    rng, table = np.random.default_rng(0), finite.table
    starts = dict(zip(table.starts.tolist(), table.start_label.tolist(), strict=True))
    taken = [[0] * finite.actions for _ in range(finite.states)]
    first, walks, left = int(env.action_space.start), 0, steps  # type: ignore[attr-defined]
    for episode in range(STARTS + WALKS):
        if episode >= STARTS and not left:
            break
        seen, info = env.reset(seed=None if episode % 2 else episode)
        state = int(seen)
        if state not in starts or finite.labels[starts[state]] != info["features"]:
            raise NoTable("has episodes that start in different states")
        ended = episode < STARTS
        walks += not ended
        while not ended:
            least = min(taken[state])
            action = (rare := [a for a, times in enumerate(taken[state]) if times == least])[rng.integers(len(rare))]
            taken[state][action] += 1
            left -= 1
            seen, _, terminated, truncated, info = env.step(action + first)
            if not _possible(finite, state, action, int(seen), bool(terminated), info):
                raise NoTable(HIDDEN)
            state, ended = int(seen), bool(terminated or truncated) or not left
    return walks, steps - left


def _possible(finite: FiniteWorld, state: int, action: int, there: int, ends: bool, info: dict[str, Any]) -> bool:
    """Whether some outcome of a pair that has a probability is what was seen."""
    table, below = finite.table, 0.0
    for outcome, upto in enumerate(table.cumulative[state, action].tolist()):
        here = (state, action, outcome)
        alike = table.next[here] == there and table.ends[here] == ends and finite.labels[table.label[here]] == info["features"]
        if upto > below and alike and all(
            math.isclose(table.signal[(k, *here)], info["signals"][name], rel_tol=1e-9, abs_tol=1e-12)
            for k, name in enumerate(finite.signals)
        ):
            return True
        below = upto
    return False


def _table(world: GymnasiumWorld, states: int, start: Try, rows: dict[int, list[Try]]) -> FiniteWorld:
    actions = len(next(iter(rows.values())))
    labels = {frozenset[str](): 0, start.features: 1} if start.features else {frozenset[str](): 0}
    shape = (states, actions, 1)
    # States that were met but never left (after an end) stay where they are: no episode goes on there.
    reached = np.broadcast_to(np.arange(states, dtype=np.int32)[:, None, None], shape).copy()
    label, ends, signal = np.zeros(shape, np.int32), np.zeros(shape, np.bool_), np.zeros((len(world.reports), *shape))
    for state, outcomes in rows.items():
        for action, outcome in enumerate(outcomes):
            reached[state, action, 0] = outcome.state
            label[state, action, 0] = labels.setdefault(outcome.features, len(labels))
            ends[state, action, 0] = outcome.ends
            signal[:, state, action, 0] = outcome.signals
    table = one_start(start.state, reached, label, labels[start.features], ends=ends, signal=signal)
    return FiniteWorld(table, tuple(labels), tuple(world.reports))
