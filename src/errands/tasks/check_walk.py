"""Random walks through an environment that is checked: recorded step by step, and repeated in a fresh environment."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import data_equivalence

from errands.errors import ErrandsError
from errands.machines import Stepper
from errands.tables import RUNNING, WorldTable
from errands.tasks.product import Features, read_features
from errands.tasks.task import Task
from errands.worlds.base import Observed
from errands.worlds.gymnasium.guard import STEP, close, guarded, number, parts_of, truth
from errands.worlds.saving import Restorable

EnvFactory = Callable[[], gym.Env[Any, Any]]
EPISODES = 5
STICKY = 0.8
REPEATED_EVERY = 10
MAX_PROBED = 10_000
Level = Literal["error", "warning"]


@dataclass(frozen=True)
class RecordedStep:
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
class RandomWalk:
    """One recorded episode; the first entry of `observations` and `features` belongs to the initial state."""

    seed: int
    start: Any
    start_features: set[str]
    steps: list[RecordedStep] = field(default_factory=list)

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
        self.name = f"the environment '{type(env.unwrapped).__name__}'"
        self.restorable = next((e for e in (env, env.unwrapped) if isinstance(e, Restorable)), None)

    def walk(self, steps: int) -> Iterator[RandomWalk]:
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

    def episode(self, seed: int, actions: Iterator[Any]) -> RandomWalk:
        """One episode from a seed with these actions, or until it ends."""
        observation, info = guarded(lambda: _begun(self.env.reset(seed=seed)), lambda: f"{self.name} at the start of an episode")
        episode = RandomWalk(seed, observation, read_features(self.features, None, None, observation, info))
        for i, action in enumerate(actions):
            repeat = self.features is None and self.restorable is not None and i % REPEATED_EVERY == 0
            where = f"{self.name} in step {i + 1:,} of an episode"
            seen, ended = guarded(partial(self._step, observation, action, repeat), where.__str__)
            episode.steps.append(seen)
            observation = seen.observation
            if ended:
                break
        return episode

    def _step(self, observation: Any, action: Any, repeat: bool) -> tuple[RecordedStep, bool]:
        first: set[str] | None = None
        if repeat and self.restorable is not None:
            # The same step twice from the same state: features must be a function of the transition.
            saved = self.restorable.save()
            following, *_, info = self.env.step(action)
            first = read_features(None, observation, action, following, info)
            self.restorable.restore(saved)
        following, reward, terminated, truncated, info = _stepped(self.env.step(action))
        true = read_features(self.features, observation, action, following, info)
        if self.features is not None:
            first = read_features(self.features, observation, action, following, info)
        inside = following in self.env.observation_space
        signals = info.get("signals", {})
        seen = RecordedStep(
            action, following, true, true if first is None else first, signals, reward, terminated, inside
        )
        return seen, terminated or truncated


def _begun(answer: Any) -> tuple[Any, Any]:
    observation, info = parts_of(answer, "observation, info")
    return observation, info


def _stepped(answer: Any) -> tuple[Any, float, bool, bool, Any]:
    observation, reward, terminated, truncated, info = parts_of(answer, STEP)
    return observation, number(reward, "reward"), truth(terminated, "terminated"), truth(truncated, "truncated"), info


def repeated(factory: EnvFactory, features: Features | None, episode: RandomWalk) -> RandomWalk:
    """The same seed and actions in a fresh environment."""
    env = factory()
    again = Recorder(env, features).episode(episode.seed, (seen.action for seen in episode.steps))
    close(env)
    return again


def same_observations(first: RandomWalk, second: RandomWalk) -> bool:
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


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, how bad it is, and the sentence that says what to change."""

    level: Level
    code: str
    sentence: str


def against_task(
    task: Task, env: gym.Env[Any, Any], features: Features | None, episodes: Sequence[RandomWalk]
) -> Iterator[Finding]:
    """Where an environment does not give what the task's machine looks at, or gives more than it looks at."""
    own = features is None and _is_own(task, env)
    try:
        known = _reported(task) if own else _probed(env.observation_space, features)
    except ErrandsError as fault:
        yield Finding("error", "table", str(fault))
        known = frozenset(task.world.features)
    yield from _names(task, episodes, known, own)
    yield from _signals(task, episodes)
    yield from _coinciding(task, episodes)
    yield from _ignored(task, episodes)


def _is_own(task: Task, env: gym.Env[Any, Any]) -> bool:
    """Whether an environment is that of the task's own world, whose rules errands knows."""
    own = task.world.env()
    same = type(env.unwrapped) is type(own.unwrapped) and env.observation_space == own.observation_space
    labelled = Observed.of(task.world) is None or isinstance(env, type(own))
    close(own)
    return same and labelled


def _reported(task: Task) -> frozenset[str]:
    """The features that the task's own world is known to report: exactly where it is finite."""
    finite = task.finite
    if finite is None:
        return frozenset(task.world.features) if Observed.of(task.world) is None else frozenset()
    return frozenset(name for label in _reachable_labels(finite.table) for name in finite.labels[label])


def _probed(space: gym.Space[Any], features: Features | None) -> frozenset[str]:
    """The features that a function reports for some observation of a small Discrete space, reached or not."""
    if features is None or not isinstance(space, gym.spaces.Discrete) or space.n > MAX_PROBED:
        return frozenset()
    try:
        return frozenset(n for s in range(int(space.n)) for n in features(None, None, int(space.start) + s, {}))
    except Exception:  # noqa: BLE001 (a function may need more than a made-up initial state has)
        return frozenset()


def _reachable_labels(table: WorldTable) -> set[int]:
    reached = np.zeros(len(table.next), np.bool_)
    front = np.unique(table.starts)
    while len(front):
        reached[front] = True
        # The label of a step that ends the episode counts; the state after it is never stepped from.
        going_on = table.next[front][~table.ends[front]]
        front = np.unique(going_on[~reached[going_on]])
    return set(np.unique(table.label[reached]).tolist()) | set(table.start_label.tolist())


def _names(task: Task, episodes: Sequence[RandomWalk], known: frozenset[str], own: bool) -> Iterator[Finding]:
    steps = sum(len(e.steps) for e in episodes)
    seen = {name for e in episodes for true in e.features for name in true}
    extra = sorted(seen - set(task.machine.features))
    lower = {name.lower(): name for name in extra}
    for name in task.machine.features:
        if name not in seen | known:
            near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
            hint = f"the features report '{lower[near[0]]}': spell both alike" if near else "check its condition"
            yield Finding(
                "warning",
                "never-true",
                f"'{name}' is named in the task and was never true in {steps:,} random steps; {hint}, "
                "or walk longer with --steps if it is merely rare",
            )
    if not own and extra:
        listed = ", ".join(f"'{name}'" for name in extra)
        yield Finding(
            "warning", "not-in-task", f"the task never looks at the features {listed}; name them in it or drop them"
        )


def _signals(task: Task, episodes: Sequence[RandomWalk]) -> Iterator[Finding]:
    reported = [{*seen.signals, "reward"} for e in episodes for seen in e.steps]
    for name in task.machine.signals:
        if not all(name in names for names in reported):
            yield Finding(
                "error",
                "signals",
                f"a reward of the task is the signal '{name}', which steps do not report; put it into info['signals']",
            )


def _coinciding(task: Task, episodes: Sequence[RandomWalk]) -> Iterator[Finding]:
    """The paper assumes that one step completes at most one subtask of a numeric feature."""
    stepper = Stepper(task.machine)
    for episode in episodes:
        state = stepper.start
        for i, seen in enumerate(episode.steps):
            if stepper.status[state[0]] != RUNNING:
                break
            # Features of removed subtasks are gone once these no longer remain, as in the product.
            true = set(seen.features) - (set(task.vanishing) - set(_left(stepper, state[1])))
            open_ = [_left(stepper, stepper.open(state) & bits) for bits in stepper.variable_bits]
            both = max(([n for n in names if n in true] for names in open_), key=len, default=[])
            if len(both) > 1:
                yield Finding(
                    "warning",
                    "two-subtasks",
                    f"{' and '.join(both)} became true in one step (step {i + 1} of seed {episode.seed}), both open; "
                    f"only {both[0]}, first in declared order, counts: make them exclude each other or accept that",
                )
                return
            state = stepper.step(state, true).state


def _left(stepper: Stepper, mask: int) -> list[str]:
    return list(dict.fromkeys(stepper.named(mask)))


def _ignored(task: Task, episodes: Sequence[RandomWalk]) -> Iterator[Finding]:
    paid = sorted({seen.reward for e in episodes for seen in e.steps if seen.reward})
    if paid and "reward" not in task.machine.signals:
        yield Finding(
            "warning",
            "reward-ignored",
            f"the environment pays rewards of its own (such as {paid[-1]:g}), which the machine ignores; "
            "use the signal 'reward' as a reward of the machine, or accept that only the machine pays",
        )
    stepper = Stepper(task.machine)
    for episode in episodes:
        state = stepper.start
        for seen in episode.steps:
            if stepper.status[state[0]] == RUNNING:
                state = stepper.step(state, seen.features).state
        if episode.steps and episode.steps[-1].terminated and stepper.status[state[0]] == RUNNING:
            yield Finding(
                "warning",
                "termination-ignored",
                f"the environment ended an episode (seed {episode.seed}) while the machine went on; "
                "report a feature where it ends and give the machine a failure transition on it",
            )
            return
