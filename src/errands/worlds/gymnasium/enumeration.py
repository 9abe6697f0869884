"""Tables of a world whose states are numbered by a function: every action tried in every state, on copies."""

from __future__ import annotations

import copy
import math
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from errands.errors import words_of
from errands.worlds.base import FiniteWorld, one_start

if TYPE_CHECKING:
    from errands.worlds.gymnasium.shell import StateNumbers
    from errands.worlds.gymnasium.world import GymnasiumWorld

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
            action = int(rng.choice([a for a, times in enumerate(taken[state]) if times == least]))
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
