"""Any Gymnasium environment as a world: features by rules, its reward as a signal, tables where it publishes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from errands.errors import SpecError
from errands.tables import Floats, WorldTable
from errands.worlds.base import FiniteWorld
from errands.worlds.grid import positive
from errands.worlds.observed import Rule, read_rule
from errands.worlds.saving import Saved, choose_gl, restore_foreign, save_foreign

_DEFAULT_LIMIT = 1000


@dataclass(frozen=True, init=False)
class GymnasiumWorld:
    """A Gymnasium id with its settings, and a rule for each feature; `limit` is the id's own where none is given."""

    id: str
    features: tuple[str, ...]
    rules: tuple[Rule, ...]
    kwargs: Mapping[str, Any] = field(hash=False)
    limit: int

    def __init__(
        self,
        id: str,  # noqa: A002 (Gymnasium's own word)
        features: Mapping[str, Any],
        kwargs: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> None:
        settings = dict(kwargs or {})
        base = _make(id, settings)
        if not features:
            raise SpecError(f"the world '{id}' names no feature; give at least one, for example goal = [15]")
        rules = tuple(read_rule(name, spec, base.observation_space) for name, spec in features.items())
        own = gym.spec(id).max_episode_steps or _DEFAULT_LIMIT
        values = (id, tuple(features), rules, settings, positive("limit", own if limit is None else limit))
        for name, value in zip(("id", "features", "rules", "kwargs", "limit"), values, strict=True):
            object.__setattr__(self, name, value)
        spaces = (base.observation_space, base.action_space)
        object.__setattr__(self, "discrete", all(isinstance(space, gym.spaces.Discrete) for space in spaces))
        base.close()

    @property
    def kind(self) -> str:
        """The word of task files: gymnasium."""
        return "gymnasium"

    @property
    def signals(self) -> tuple[str, ...]:
        """The reward of the base environment."""
        return ("reward",)

    def features_of(self, observation: Any) -> set[str]:
        """The features that hold in an observation."""
        return {name for name, rule in zip(self.features, self.rules, strict=True) if rule.holds(observation)}

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh environment of that id, which reports features and signals besides what it always did."""
        return FeatureWrapper(_make(self.id, self.kwargs, render_mode), self)

    def finite(self) -> FiniteWorld | None:
        """The world as flat tables where the environment publishes P and where its episodes start."""
        base = _make(self.id, self.kwargs)
        inner = base.unwrapped
        published, initial = getattr(inner, "P", None), getattr(inner, "initial_state_distrib", None)
        # A fickle passenger of Taxi changes his mind outside of P, so P is not the whole truth then.
        whole = not getattr(inner, "fickle_passenger", False)
        discrete = isinstance(inner.observation_space, gym.spaces.Discrete) and inner.observation_space.start == 0
        base.close()
        if published is None or initial is None or not whole or not discrete:
            return None
        return finite_from_p(published, np.asarray(initial), self.features_of)


class FeatureWrapper(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """The base environment with `info["features"]` and `info["signals"]`, truncated at the world's limit."""

    def __init__(self, env: gym.Env[Any, Any], world: GymnasiumWorld) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, world=world)
        gym.Wrapper.__init__(self, env)
        self.world = world
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A new episode; the initial state is labelled too."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.steps = 0
        return observation, self._report(observation, info, 0.0)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step of the base environment; the limit truncates and never terminates."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.steps += 1
        info = self._report(observation, info, float(reward))
        return observation, reward, terminated, bool(truncated) or self.steps >= self.world.limit, info

    def _report(self, observation: Any, info: dict[str, Any], reward: float) -> dict[str, Any]:
        return {**info, "features": self.world.features_of(observation), "signals": {"reward": reward}}

    def save(self) -> Saved:
        """The full state as plain data, for environments that keep theirs in plain attributes or in MuJoCo."""
        return {"steps": self.steps, **save_foreign(self.env.unwrapped)}

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state."""
        self.steps = saved["steps"]
        restore_foreign(self.env.unwrapped, saved)


def _make(name: str, kwargs: Mapping[str, Any], render_mode: str | None = None) -> gym.Env[Any, Any]:
    if ":" in name:
        raise SpecError(
            f"the id '{name}' asks to import a module; register the environment first and give its id alone"
        )
    try:
        spec = gym.spec(name)
        if render_mode == "rgb_array" and ".mujoco" in str(spec.entry_point):
            choose_gl()
        shown = {} if render_mode is None else {"render_mode": render_mode}
        env: gym.Env[Any, Any] = gym.make(spec, max_episode_steps=-1, disable_env_checker=True, **shown, **kwargs)
    except Exception as error:  # a constructor of someone else's may raise anything
        given = f" with {dict(kwargs)}" if kwargs else ""
        said = f"{error}" if isinstance(error, gym.error.Error | ImportError) else f"{type(error).__name__}: {error}"
        raise SpecError(f"gymnasium cannot make '{name}'{given}: {said}") from error
    return env


Outcome = tuple[float, int, float, bool]
"""Probability, next state, reward, whether the episode ends."""
Published = Mapping[int, Mapping[int, Sequence[Outcome]]]


def finite_from_p(
    p: Published, initial: Sequence[float] | Floats, label_of: Callable[[int], Collection[str]]
) -> FiniteWorld:
    """The world behind P[state][action], started as `initial` says; a step's features are `label_of` its last state.

    Outcomes keep their order, and the published rewards become the signal `reward`.
    """
    states, actions = len(p), len(p[0])
    width = max(len(p[s][a]) for s in range(states) for a in range(actions))
    sets = [frozenset(label_of(state)) for state in range(states)]
    labels = tuple(dict.fromkeys([frozenset[str](), *sets]))
    number = {features: i for i, features in enumerate(labels)}
    label = np.array([number[features] for features in sets], np.int32)
    shape = (states, actions, width)
    reached, cumulative = np.zeros(shape, np.int32), np.ones(shape)
    reward, ends = np.zeros(shape), np.zeros(shape, np.bool_)
    for s in range(states):
        for a in range(actions):
            row = list(p[s][a])
            last = len(row) - 1
            shares = np.cumsum([outcome[0] for outcome in row])
            cumulative[s, a, :last] = shares[:last]
            for o in range(width):
                _, reached[s, a, o], reward[s, a, o], ends[s, a, o] = row[min(o, last)]
    chances = np.asarray(initial, np.float64)
    starts = np.flatnonzero(chances).astype(np.int32)
    start_cumulative = np.cumsum(chances[starts])
    start_cumulative[-1] = 1.0
    table = WorldTable(starts, start_cumulative, label[starts], reached, cumulative, label[reached], ends, reward[None])
    return FiniteWorld(table, labels, ("reward",))
