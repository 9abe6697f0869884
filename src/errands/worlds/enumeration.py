"""Tables of a world whose states are numbered by a function: every action tried in every state, on copies."""

from __future__ import annotations

import copy
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from errands.errors import words_of
from errands.worlds.base import FiniteWorld, one_start

if TYPE_CHECKING:
    from errands.worlds.foreign_env import StateNumbers
    from errands.worlds.gymnasium_world import GymnasiumWorld

MOST_TRIES = 50_000
"""Pairs of a state and an action that are tried; larger worlds are learnt in step by step."""
STARTS, WALKS, LONGEST = 4, 4, 250
"""Episodes begun to see whether all start alike, and random walks with their longest length that check the table."""
TWICE = 25
"""States in which every action is tried twice: so many first ones, and one in so many later."""


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

    Actions are tried in each state, in some of them again with other random numbers, and random walks compare the table
    with the environment. Where anything differs (chance, several starts, a state that does not hold all that matters)
    there is no table, and learners step in the environment itself.
    """
    env = world.numbered()
    try:
        start = _same_start(env)
        rows = _explore(world, env, start.state)
        _confirm(world, env, rows)
    except NoTable as reason:
        numbers.untabled = str(reason)
        return None
    finally:
        env.close()
    return _table(world, len(numbers), start, rows)


def _same_start(env: gym.Env[Any, Any]) -> Try:
    starts = set()
    for seed in range(STARTS):
        state, info = env.reset(seed=seed)
        starts.add(Try(int(state), frozenset(info["features"]), False, ()))
    if len(starts) > 1:
        raise NoTable("has episodes that start in different states")
    return starts.pop()


def _explore(world: GymnasiumWorld, env: gym.Env[Any, Any], start: int) -> dict[int, list[Try]]:
    """By state and action, what follows: breadth first from the start, each waiting state with a copy of its own."""
    actions = int(env.action_space.n)  # type: ignore[attr-defined]
    waiting = deque([(start, _copied(env))])
    rows: dict[int, list[Try]] = {start: []}
    while waiting:
        state, here = waiting.popleft()
        for action in range(actions):
            if len(rows) * actions > MOST_TRIES:
                raise NoTable(f"has more than {MOST_TRIES:,} pairs of a state and an action")
            chance = 2 * (state * actions + action)  # other random numbers for every try
            outcome, there = _tried(world, here, action, chance)
            twice = len(rows) <= TWICE or state % TWICE == 0
            if twice and _tried(world, here, action, chance + 1)[0] != outcome:
                raise NoTable("has moves that depend on chance")
            rows[state].append(outcome)
            if not outcome.ends and outcome.state not in rows:
                rows[outcome.state] = []
                waiting.append((outcome.state, there))
    return rows


def _copied(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """A copy that shares what no step changes: the numbers of states, spaces, and what it was made of."""
    numbers: Any = env
    shared = {id(numbers.numbers): numbers.numbers}
    layer: Any = env
    while layer is not None:
        shared |= {id(v): v for v in vars(layer).values() if isinstance(v, gym.Space | EnvSpec)}
        layer = layer.env if isinstance(layer, gym.Wrapper) else None
    try:
        return copy.deepcopy(env, shared)
    except Exception as fault:  # whatever an environment that cannot be copied raises
        raise NoTable(f"cannot be copied ({words_of(fault, 80)})") from fault


def _tried(world: GymnasiumWorld, here: gym.Env[Any, Any], action: int, chance: int) -> tuple[Try, gym.Env[Any, Any]]:
    """One action on a copy with random numbers of its own."""
    env = _copied(here)
    env.unwrapped.np_random = np.random.default_rng(chance)
    return _stepped(world, env, action), env


def _stepped(world: GymnasiumWorld, env: gym.Env[Any, Any], action: int) -> Try:
    first = int(env.action_space.start)  # type: ignore[attr-defined]
    state, _, terminated, _, info = env.step(action + first)
    # The reward is left out where nothing asks for it by name: MiniGrid's depends on the time.
    signals = tuple(info["signals"][name] for name in world.reports)
    return Try(int(state), frozenset(info["features"]), bool(terminated), signals)


def _confirm(world: GymnasiumWorld, env: gym.Env[Any, Any], rows: dict[int, list[Try]]) -> None:
    """Take random walks, which must go where the table says."""
    rng = np.random.default_rng(0)
    for walk in range(WALKS):
        state = int(env.reset(seed=walk)[0])
        for _ in range(min(LONGEST, world.limit - 1)):
            action = int(rng.integers(len(rows[state])))
            outcome = _stepped(world, env, action)
            if outcome != rows[state][action]:
                raise NoTable("has moves that depend on more than the state function tells, or on chance")
            if outcome.ends:
                break
            state = outcome.state


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
