"""The shells around other people's environments: what they report, how they misbehave, and where they were."""

from __future__ import annotations

import contextlib
import math
import queue
import sys
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from errands.errors import ErrandsError, TaskError, words_of
from errands.worlds.saving import Saved, is_plain, restore_foreign, save_foreign

if TYPE_CHECKING:
    from errands.worlds.gymnasium_world import GymnasiumWorld

MOST_STATES = 65_536
"""States that are numbered as they are met; tables of tabular learners have room for so many."""
Info = dict[str, Any]
_LAYERS = frozenset({"env", "_saved_kwargs", "_cached_spec", "_action_space", "_observation_space", "_metadata"})
"""Attributes of Gymnasium's wrappers that do not change."""


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
            number = self.number.get(state)
        except TypeError:
            raise TaskError(
                f"the state function gave a {type(state).__name__}, which cannot be hashed; give numbers, text, bytes, or "
                "tuples of them (an array as array.tobytes())"
            ) from None
        if number is None:
            if len(self.number) == MOST_STATES:
                raise TaskError(
                    f"more than {MOST_STATES:,} states were met; let the state function tell fewer apart, or leave it out "
                    "and train a deep learner"
                )
            number = self.number[state] = len(self.number)
        return number

    def save(self) -> list[Hashable]:
        """The states in order; a TaskError where they are not plain data."""
        states = list(self.number)
        if not all(map(is_plain, states)):
            odd = next(state for state in states if not is_plain(state))
            raise TaskError(f"the state {str(odd)[:60]} is not plain data; give numbers, text, bytes or tuples of them")
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
        self._space = env.observation_space  # as it was at first; looking it up goes through every wrapper
        self._before: Any = None
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
        answer = self._asked(lambda: self.env.reset(seed=seed, options=options), "reset")
        self.steps = 0
        try:
            observation, info = answer
        except (TypeError, ValueError):
            raise self._odd(answer, "reset", "observation, info") from None
        self._check(observation, 0.0, info)
        # Seed and actions are all that is kept of an environment whose state cannot be stored.
        self._episode = {"seed": seed, "options": options, "actions": []}
        if self._replays is None:
            self._replays = not _can_save(self.env)
        info = self._report(None, None, observation, info, 0.0)
        self._before = observation
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """One step of the base environment; the limit truncates and never terminates."""
        if self._replays:
            self._episode["actions"].append(np.copy(action) if isinstance(action, np.ndarray) else action)
        self.steps += 1
        answer = self._asked(lambda: self.env.step(action), "step")
        try:
            observation, reward, terminated, truncated, info = answer
            pay, over, cut = float(reward), bool(terminated), bool(truncated)
        except (TypeError, ValueError):
            raise self._odd(answer, "step", "observation, reward, terminated, truncated, info") from None
        self._check(observation, pay, info)
        info = self._report(self._before, action, observation, info, pay)
        self._before = observation
        cut = cut or self.steps >= self.world.limit
        if self._unseen:
            self._miss(info, over or cut)
        return observation, reward, over, cut, info

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

    def _asked(self, call: Callable[[], Any], verb: str) -> Any:
        out, sys.stdout = sys.stdout, sys.stderr  # by hand: a context manager costs as much as many a step
        try:
            return call() if self.world.step_seconds is None else in_time(call, self.world.step_seconds)
        except ErrandsError:
            raise
        except TooLong:
            raise TaskError(
                f"{self._place(verb)} took longer than {self.world.step_seconds:g} seconds; mend the environment, or allow "
                "more with step_seconds, then resume the run"
            ) from None
        except (Exception, SystemExit) as fault:  # one that exits would take the run's last words with it
            raise TaskError(f"{self._place(verb)} raised {words_of(fault)}; mend the environment, then resume the run") from fault
        finally:
            sys.stdout = out

    def _odd(self, answer: Any, verb: str, wanted: str) -> TaskError:
        shown = ", ".join(f"{type(part).__name__} {part!s:.40}" for part in answer) if isinstance(answer, tuple) else repr(answer)
        return TaskError(f"{self._place(verb)} answered ({' '.join(shown.split())[:200]}); give ({wanted})")

    def _place(self, verb: str) -> str:
        where = "at the start of an episode" if verb == "reset" else f"in step {self.steps:,} of an episode"
        return f"the environment '{self.world.id}' {where}"

    def _check(self, observation: Any, reward: float, info: Any) -> None:
        """Refuse what would poison tables and networks: numbers that are none, and observations of another shape."""
        verb = "step" if self.steps else "reset"
        if said := _stranger(self._space, observation):
            raise TaskError(f"{self._place(verb)} observed {said}; mend it")
        if not math.isfinite(reward):
            raise TaskError(f"{self._place(verb)} paid {reward}; mend its reward")
        if not isinstance(info, dict):
            raise TaskError(f"{self._place(verb)} gave a {type(info).__name__} as info; give a dict")

    def _report(self, before: Any, action: Any, observation: Any, info: Info, reward: float) -> Info:
        try:
            true = self.world.features_of(observation, before, action, info, self.env)
            declared = self.world.signals_of(before, action, observation, info, reward)
        except ErrandsError:
            raise
        except Exception as fault:
            where = self._place("step" if self.steps else "reset")
            raise TaskError(f"{where}: its features or signals raised {words_of(fault)}") from fault
        given = info.get("signals")
        theirs = given if isinstance(given, dict) else {} if given is None else {"signals": given}
        return {**info, "features": true, "signals": {"reward": reward, **theirs, **declared}}

    def close(self) -> None:
        """Close the environment; one that raises then has done its work already."""
        close(self.env)

    def save(self) -> Saved:
        """The full state as plain data; or the episode's seed and actions, where the state itself cannot be stored."""
        saved: Saved = {"steps": self.steps, "stream": dict(self._stream.bit_generator.state), "before": self._before}
        if self._replays:
            return {**saved, "episode": self._episode}
        return {
            **saved,
            "layers": [_save_layer(layer) for layer in _layers(self.env)],
            **save_foreign(self.env.unwrapped),
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state; a TaskError where the same actions lead somewhere else."""
        self._replays = "episode" in saved
        if "stream" in saved:
            bits = np.random.PCG64()
            bits.state = saved["stream"]
            self._stream = np.random.Generator(bits)
        if not self._replays:
            for layer, values in zip(_layers(self.env), saved.get("layers", ()), strict=False):
                known = {name: value for name, value in values.items() if name in vars(layer) and name not in _LAYERS}
                vars(layer).update({name: value for name, value in known.items() if is_plain(vars(layer)[name])})
            restore_foreign(self.env.unwrapped, saved)
            self._before, self.steps = saved.get("before"), saved["steps"]
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


def _stranger(space: gym.Space[Any], observation: Any) -> str | None:
    """What is wrong with an observation of a space, as the rest of a sentence; bounds of a Box are not looked at."""
    if isinstance(space, gym.spaces.Box):
        row = np.asarray(observation)
        if row.shape != space.shape:
            return f"something of shape {row.shape}, and its space has {space.shape}"
        if row.dtype.kind not in "fiub":
            return f"{str(observation)[:60]}, which are no numbers"
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
            if said := _stranger(part, inner):
                return f"{said}, in part {name!r}"
        return None
    return None if observation in space else f"{str(observation)[:60]}, which is not in its {space}"


class NumberedEnv(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """A world with a state function as tabular learners see it: the observation is the number of the state."""

    def __init__(self, env: FeatureWrapper, numbers: StateNumbers) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        self.shell, self.numbers = env, numbers
        self.observation_space = gym.spaces.Discrete(MOST_STATES)

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[int, Info]:
        """A new episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._number(observation, info), info

    def step(self, action: Any) -> tuple[int, Any, bool, bool, Info]:
        """One step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._number(observation, info), reward, terminated, truncated, info

    def _number(self, observation: Any, info: Info) -> int:
        return self.numbers.of(self.shell.world.state_of(self.env, observation, info))

    def save(self) -> Saved:
        """The environment's state, and the states that have numbers."""
        return {"inner": self.shell.save(), "states": self.numbers.save()}

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state."""
        self.numbers.restore(saved["states"])
        self.shell.restore(saved["inner"])


def close(env: gym.Env[Any, Any]) -> None:
    """Close an environment; what it raises is told as a warning, for nothing is lost by it."""
    try:
        env.close()
    except Exception as fault:  # noqa: BLE001 (whatever it is, the work is done)
        warnings.warn(f"{env} raised {type(fault).__name__} when it was closed: {str(fault)[:200]}", stacklevel=2)


def frame(env: gym.Env[Any, Any]) -> NDArray[np.uint8] | None:
    """The environment's own picture [height, width, 3] where it was made with render_mode="rgb_array"; else None."""
    if env.render_mode != "rgb_array":
        return None
    try:
        with contextlib.redirect_stdout(sys.stderr):
            picture = np.asarray(env.render())
    except Exception as fault:
        raise TaskError(f"{env} cannot be drawn: {words_of(fault)}") from fault
    good = picture.ndim == 3 and picture.shape[2] in (3, 4) and picture.size > 0
    return np.ascontiguousarray(picture[:, :, :3], np.uint8) if good else None


class TooLong(Exception):
    """A call was not answered in time."""


def in_time(call: Callable[[], Any], seconds: float) -> Any:
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
    return value


def _layers(env: gym.Env[Any, Any]) -> Iterator[gym.Env[Any, Any]]:
    """The wrappers around the innermost environment, from outside."""
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env


def _save_layer(layer: gym.Env[Any, Any]) -> Saved:
    attributes = {}
    for name, value in vars(layer).items():
        if name in _LAYERS or callable(value):
            continue
        if not is_plain(value):
            raise TaskError(
                f"{type(layer).__name__} cannot be saved: its attribute '{name}' is a {type(value).__name__}"
            )
        attributes[name] = value
    return attributes


def _can_save(env: gym.Env[Any, Any]) -> bool:
    try:
        for layer in _layers(env):
            _save_layer(layer)
        save_foreign(env.unwrapped)
    except (TaskError, AttributeError):
        return False
    return True


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, dict):
        return (
            isinstance(second, dict)
            and first.keys() == second.keys()
            and all(_equal(first[k], second[k]) for k in first)
        )
    if isinstance(first, tuple):
        return isinstance(second, tuple) and len(first) == len(second) and all(map(_equal, first, second))
    return bool(np.array_equal(first, second))
