"""Random walks through an environment that is checked: recorded step by step, and repeated in a fresh environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import data_equivalence

from errands.tasks.product import Features, read_features
from errands.worlds.saving import Restorable

EnvFactory = Callable[[], gym.Env[Any, Any]]
EPISODES = 5
STICKY = 0.8
REPEATED_EVERY = 10


@dataclass(frozen=True)
class Seen:
    """One step as it was observed."""

    action: Any
    observation: Any
    features: set[str]
    repeated: set[str]
    """The features of the same transition, asked for a second time."""
    signals: Mapping[str, float]
    reward: float
    terminated: bool
    inside: bool
    """Whether the observation lies in the observation space."""


@dataclass
class Episode:
    """One recorded episode; the first entry of `observations` and `features` belongs to the initial state."""

    seed: int
    start: Any
    start_features: set[str]
    steps: list[Seen] = field(default_factory=list)

    @property
    def features(self) -> list[set[str]]:
        """The features of the initial state and of every step."""
        return [self.start_features, *(seen.features for seen in self.steps)]

    @property
    def observations(self) -> list[Any]:
        """The initial observation and that of every step."""
        return [self.start, *(seen.observation for seen in self.steps)]


class Recorder:
    """Walks through one environment and writes down what it reports."""

    def __init__(self, env: gym.Env[Any, Any], features: Features | None) -> None:
        self.env = env
        self.features = features
        self.restorable = next((e for e in (env, env.unwrapped) if isinstance(e, Restorable)), None)

    def walk(self, steps: int) -> Iterator[Episode]:
        """Episodes of random actions, at least five, every other one with actions that go on for a while."""
        rng = np.random.default_rng(0)
        self.env.action_space.seed(0)
        longest = max(1, steps // EPISODES)
        seed = 0
        while steps > 0:
            actions = self._actions(rng, STICKY if seed % 2 else 0.0, min(longest, steps))
            episode = self.episode(seed, actions)
            yield episode
            steps -= max(1, len(episode.steps))
            seed += 1

    def _actions(self, rng: np.random.Generator, sticky: float, count: int) -> Iterator[Any]:
        action = self.env.action_space.sample()
        for _ in range(count):
            if rng.random() >= sticky:
                action = self.env.action_space.sample()
            yield action

    def episode(self, seed: int, actions: Iterator[Any]) -> Episode:
        """One episode from a seed with these actions, or until it ends."""
        observation, info = self.env.reset(seed=seed)
        episode = Episode(seed, observation, read_features(self.features, None, None, observation, info))
        for i, action in enumerate(actions):
            repeat = self.features is None and self.restorable is not None and i % REPEATED_EVERY == 0
            seen, ended = self._step(observation, action, repeat)
            episode.steps.append(seen)
            observation = seen.observation
            if ended:
                break
        return episode

    def _step(self, observation: Any, action: Any, repeat: bool) -> tuple[Seen, bool]:
        first: set[str] | None = None
        if repeat and self.restorable is not None:
            saved = self.restorable.save()
            following, *_, info = self.env.step(action)
            first = read_features(None, observation, action, following, info)
            self.restorable.restore(saved)
        following, reward, terminated, truncated, info = self.env.step(action)
        true = read_features(self.features, observation, action, following, info)
        if self.features is not None:
            first = read_features(self.features, observation, action, following, info)
        inside = following in self.env.observation_space
        signals = info.get("signals", {})
        seen = Seen(
            action, following, true, true if first is None else first, signals, float(reward), terminated, inside
        )
        return seen, bool(terminated or truncated)


def repeated(factory: EnvFactory, features: Features | None, episode: Episode) -> Episode:
    """The same seed and actions in a fresh environment."""
    env = factory()
    again = Recorder(env, features).episode(episode.seed, (seen.action for seen in episode.steps))
    env.close()
    return again


def same_observations(first: Episode, second: Episode) -> bool:
    """Whether two episodes looked the same to the agent."""
    return len(first.steps) == len(second.steps) and all(
        data_equivalence(a, b) for a, b in zip(first.observations, second.observations, strict=True)
    )


def numbers(observation: Any) -> Iterator[np.ndarray]:
    """Every array of numbers in an observation."""
    if isinstance(observation, Mapping):
        for part in observation.values():
            yield from numbers(part)
    elif isinstance(observation, tuple | list):
        for part in observation:
            yield from numbers(part)
    elif isinstance(observation, np.ndarray | np.generic | float):
        yield np.asarray(observation)
