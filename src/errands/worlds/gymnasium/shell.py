"""The shells around other people's environments: what they report, how they misbehave, and where they were."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import gymnasium as gym
import numpy as np

from errands.errors import TaskError, shown_briefly
from errands.worlds.gymnasium.guard import (
    STEP,
    Wrong,
    close,
    feature_set,
    guarded,
    number,
    parts_of,
    spaces_of,
    stranger,
    truth,
)
from errands.worlds.saving import Saved, is_plain, plain_attributes, restore_foreign, save_foreign
from errands.worlds.spaces import MASK, read_mask, unmasked

if TYPE_CHECKING:
    from errands.worlds.gymnasium.world import GymnasiumWorld

MAX_STATES = 65_536
"""States that are numbered as they are met; tables of tabular learners have room for so many."""
Info = dict[str, Any]
_LAYERS = frozenset({"env", "_saved_kwargs", "_cached_spec", "_action_space", "_observation_space", "_metadata"})
"""Attributes of Gymnasium's wrappers that do not change."""
_FUNCTIONS = {"features": "the features function", "signals": "the signals", "state": "the state function"}
T = TypeVar("T")


class StateNumbers:
    """Hashable states, numbered in the order in which they were met."""

    def __init__(self) -> None:
        self.number: dict[Hashable, int] = {}
        self.untabled = ""
        """Why the world could not be written down as a table, as the rest of a sentence."""

    def __len__(self) -> int:
        return len(self.number)

    def of(self, state: Hashable) -> int:
        """The number of a state; a new one gets the next."""
        try:
            known = self.number.get(state)
        except TypeError:
            raise Wrong(
                f"gave a {type(state).__name__}, which cannot be hashed; give numbers, text, bytes, or tuples of them (an "
                "array as array.tobytes())"
            ) from None
        if known is None:
            if len(self.number) == MAX_STATES:
                raise Wrong(
                    f"told more than {MAX_STATES:,} states apart; let it tell fewer apart, or leave it out and train a deep "
                    "learner"
                )
            known = self.number[state] = len(self.number)
        return known

    def save(self) -> list[Hashable]:
        """The states in order; a TaskError where they are not plain data."""
        states = list(self.number)
        if not all(map(is_plain, states)):
            odd = next(state for state in states if not is_plain(state))
            raise TaskError(f"the state {shown_briefly(str, odd)} is not plain data; give numbers, text, bytes or tuples of them")
        return states

    def restore(self, states: list[Hashable]) -> None:
        """Number states as they were when saved."""
        self.number.clear()
        self.number.update({state: i for i, state in enumerate(states)})


class FeatureWrapper(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """The base environment with `info["features"]` and `info["signals"]`, truncated at the world's limit.

    A foreign environment may raise, hang, give numbers that are none or observations of another shape: each is told in
    one sentence with the environment and the step. Its prints go to standard error.
    """

    def __init__(self, env: gym.Env[Any, Any], world: GymnasiumWorld) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, world=world)
        gym.Wrapper.__init__(self, env)
        self.world = world
        self.steps = 0
        # As they were at first; looking them up goes through every wrapper.
        self.observation_space, self.action_space = spaces_of(world.id, env, world.numbers is not None)
        self.observed: Any = None
        """The newest observation of the base environment."""
        self._mask: Any = None
        self._numbers: dict[str, Any] = {}
        self._part = "reset"
        self._replays: bool | None = None  # whether its state can only be reached again by the same actions
        self._stream = np.random.default_rng()
        self._episode: dict[str, Any] = {}
        # Numbers of `info` that were asked for and not yet seen; looked for in the first episode.
        self._unseen = {name for name in world.reports.values() if isinstance(name, str) and name != "reward"}

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """A new episode; the initial state is labelled too."""
        if seed is not None:
            self._stream = np.random.Generator(np.random.PCG64(seed))
        elif self._replays:
            # An own seed for every episode: with it and the actions the state can be reached again.
            seed = int(self._stream.integers(2**31))
        self.steps = 0
        # Seed and actions are all that is kept of an environment whose state cannot be stored.
        self._episode = {"seed": seed, "options": options, "actions": []}
        observation, info = self.guarded("reset", lambda: self._begun(seed, options))
        self.observed = observation
        return observation, info

    def _begun(self, seed: int | None, options: Info | None) -> tuple[Any, Info]:
        answer = self.env.reset(seed=seed, options=options)
        observation, info = parts_of(answer, "observation, info")
        self._check(observation, info)
        if self._replays is None:
            self._replays = not _can_save(self.env)
        return observation, self._report(None, None, observation, info, 0.0)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """One step of the base environment; the limit truncates and never terminates."""
        if self._replays:
            self._episode["actions"].append(np.copy(action) if isinstance(action, np.ndarray) else action)
        self.steps += 1
        if self._mask is not None:  # a forbidden action stands for an allowed one, for every learner and everywhere the same
            first: int = self.action_space.start  # type: ignore[attr-defined]
            action = first + unmasked(self._mask, int(action) - first)
        observation, reward, over, cut, info = self.guarded("step", lambda: self._stepped(action))
        self.observed = observation
        cut = cut or self.steps >= self.world.limit
        if self._unseen:
            self._miss(info, over or cut)
        return observation, reward, over, cut, info

    def _stepped(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        observation, reward, terminated, truncated, info = parts_of(self.env.step(action), STEP)
        pay = number(reward, "reward")
        self._check(observation, info)
        over, cut = truth(terminated, "terminated"), truth(truncated, "truncated")
        return observation, reward, over, cut, self._report(self.observed, action, observation, info, pay)

    def _miss(self, info: Info, last: bool) -> None:
        """Say of signals that no step of the first episode had what they count as."""
        self._unseen -= info.keys()
        if last and self._unseen:
            names = ", ".join(f"'{name}'" for name in sorted(self._unseen))
            warnings.warn(
                f"signals ask for {names}, which info had in no step of an episode of '{self.world.id}': they count as 0 where "
                "they are missing; check their names",
                stacklevel=2,
            )
            self._unseen = set()

    def guarded(self, part: str, call: Callable[[], T]) -> T:
        """What a call into the environment gives, or its part of the user's code does; a TaskError names it and the step."""
        self._part = part
        return guarded(call, self._place, "fix the environment, then resume the run", self.world.step_seconds)

    def _place(self) -> str:
        when = f"in step {self.steps:,} of an episode" if self.steps else "at the start of an episode"
        if self._part in _FUNCTIONS:
            return f"{when} {_FUNCTIONS[self._part]} of '{self.world.id}'"
        return f"the environment '{self.world.id}' {when}"

    def _check(self, observation: Any, info: Any) -> None:
        """Refuse what would poison tables and networks: numbers that are none, and observations of another shape."""
        if said := stranger(self.observation_space, observation):
            raise Wrong(f"observed {said}; fix it")
        if not isinstance(info, dict):
            raise Wrong(f"gave a {type(info).__name__} as info; give a dict")
        self._mask = None
        if isinstance(self.action_space, gym.spaces.Discrete) and (mask := info.get(MASK)) is not None:
            try:
                self._mask = read_mask(mask, int(self.action_space.n))
            except ValueError as fault:
                raise Wrong(f"gave {fault}") from None

    def _report(self, before: Any, action: Any, observation: Any, info: Info, reward: float) -> Info:
        told = self._told(before, action, observation, info) if self.world.told else {}
        self._part = "features"
        true = feature_set(self.world.features_of(observation, before, action, info, self.env))
        self._part = "signals"
        declared = self.world.signals_of(before, action, observation, info, reward)
        given = info.get("signals")
        theirs = given if isinstance(given, dict) else {} if given is None else {"signals": given}
        signals = {"reward": reward, **theirs, **declared}
        if theirs:
            number(signals["reward"], "reward")
        return {**info, "features": true, "signals": signals, **told}

    def _told(self, before: Any, action: Any, observation: Any, info: Info) -> Info:
        """The numbers of a step, which must not rise in an episode."""
        self._part = "numbers"
        numbers = self.world.numbers_of(before, action, observation, info)
        for name, value in numbers.items():
            if action is not None and value > (least := self._numbers.get(name, value)):
                raise Wrong(f"let the number '{name}' rise from {least} to {value}; gauges only fall: tell the least so far")
        self._numbers = numbers
        given = info.get("numbers")
        return {"numbers": {**(given if isinstance(given, dict) else {}), **numbers}}

    def render(self) -> Any:
        """The environment's own picture or text."""
        return self.guarded("render", self.env.render)

    def close(self) -> None:
        """Close the environment; one that raises or hangs then has done its work already."""
        close(self.env)

    def save(self) -> Saved:
        """The full state as plain data; or the episode's seed and actions, where the state itself cannot be stored."""
        saved: Saved = {"steps": self.steps, "stream": dict(self._stream.bit_generator.state), "before": self.observed}
        if self._mask is not None:
            saved[MASK] = self._mask
        if self._numbers:
            saved["numbers"] = self._numbers
        if self._replays:
            episode = {**self._episode, "actions": list(self._episode["actions"])} if self._episode else {}
            return {**saved, "episode": episode}
        return {
            **saved,
            "layers": [plain_attributes(layer, _LAYERS) for layer in _layers(self.env)],
            **save_foreign(self.env.unwrapped),
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state; a TaskError where the same actions lead somewhere else."""
        self._replays, self._numbers = "episode" in saved, dict(saved.get("numbers", {}))
        if "stream" in saved:
            bits = np.random.PCG64()
            bits.state = saved["stream"]
            self._stream = np.random.Generator(bits)
        if not self._replays:
            for layer, values in zip(_layers(self.env), saved.get("layers", ()), strict=False):
                known = {name: value for name, value in values.items() if name in vars(layer) and name not in _LAYERS}
                vars(layer).update({name: value for name, value in known.items() if is_plain(vars(layer)[name])})
            restore_foreign(self.env.unwrapped, saved)
            self.observed, self.steps, self._mask = saved.get("before"), saved["steps"], saved.get(MASK)
            return
        self._replay(saved)

    def _replay(self, saved: Saved) -> None:
        episode = saved["episode"]
        if not episode:  # saved before its first episode
            return
        # The reset below would start the stream of episode seeds again; it has to go on where it was saved.
        stream = self._stream.bit_generator.state
        observation, _ = self.reset(seed=episode["seed"], options=episode["options"])
        for action in episode["actions"]:
            observation, *_ = self.step(action)
        self._stream.bit_generator.state = stream
        if not _equal(observation, saved["before"]):
            raise TaskError(
                f"the environment '{self.world.id}' went elsewhere when the same actions were taken again, so it cannot be "
                "put back to where it was; let reset(seed=...) seed all of its randomness"
            )


class NumberedEnv(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """A world with a state function as tabular learners see it: the observation is the number of the state."""

    def __init__(self, env: FeatureWrapper, numbers: StateNumbers) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        self.shell, self.numbers = env, numbers
        self.observation_space = gym.spaces.Discrete(MAX_STATES)

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[int, Info]:
        """A new episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._number(observation, info), info

    def step(self, action: Any) -> tuple[int, Any, bool, bool, Info]:
        """One step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._number(observation, info), reward, terminated, truncated, info

    def _number(self, observation: Any, info: Info) -> int:
        shell = self.shell
        return shell.guarded("state", lambda: shell.world.number_of(self.env, observation, info))

    def save(self) -> Saved:
        """The environment's state, and the states that have numbers."""
        return {"inner": self.shell.save(), "states": self.numbers.save()}

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state."""
        self.numbers.restore(saved["states"])
        self.shell.restore(saved["inner"])


def _layers(env: gym.Env[Any, Any]) -> Iterator[gym.Env[Any, Any]]:
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env


def _can_save(env: gym.Env[Any, Any]) -> bool:
    try:
        for layer in _layers(env):
            plain_attributes(layer, _LAYERS)
        save_foreign(env.unwrapped)
    except Exception:  # noqa: BLE001 (a property of a user's that raises)
        return False
    return True


def _equal(first: Any, second: Any) -> bool:
    """Whether observations are the same in all that was saved of them, which is not the kind of dictionary."""
    if isinstance(first, Mapping):
        return isinstance(second, Mapping) and first.keys() == second.keys() and all(_equal(first[k], second[k]) for k in first)
    if isinstance(first, tuple):
        return isinstance(second, tuple) and len(first) == len(second) and all(map(_equal, first, second))
    return bool(np.array_equal(first, second))
