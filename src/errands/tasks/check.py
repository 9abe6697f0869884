"""Check: does an environment with its features keep what reward machines need, and what Gymnasium asks for.

Gymnasium's own checker comes first, then random walks, recorded step by step and repeated in a fresh environment.
"""

from __future__ import annotations

import difflib
import importlib
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env, data_equivalence

from errands.errors import ErrandsError, SpecError, TaskError, UnknownName, shown_briefly, words_of
from errands.features import reading
from errands.machines import Stepper
from errands.tables import RUNNING, WorldTable
from errands.tasks.catalogue import load, load_file
from errands.tasks.product import Features, read_features
from errands.tasks.task import Task
from errands.worlds.base import Observed
from errands.worlds.gymnasium.guard import STEP, close, guarded, number, parts_of, truth
from errands.worlds.saving import Restorable

EnvFactory = Callable[[], gym.Env[Any, Any]]
EPISODES, STICKY, REPEATED_EVERY, MAX_PROBED = 5, 0.8, 10, 10_000
MAX_STEPS = 1_000_000
"""The longest walk: every step of it is kept, some 600 bytes where observations are small, and looked at again."""
_HARMLESS = ("infinity", "different from the unwrapped version")
"""Remarks of Gymnasium's checker on observations without bounds and on wrappers, which are no faults here."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, how bad it is, and the sentence that says what to change."""

    level: Literal["error", "warning"]
    code: str
    sentence: str


@dataclass(frozen=True)
class CheckReport:
    """What was found, and on how much evidence."""

    findings: tuple[Finding, ...]
    steps: int
    episodes: int
    seen: Mapping[str, int]
    """In how many steps each feature was true."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; warnings do not count."""
        return all(finding.level != "error" for finding in self.findings)


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


def check(
    env_factory: EnvFactory, features: Features | None = None, task: Task | None = None, steps: int = 1000
) -> CheckReport:
    """Gymnasium's own checker, then random walks and their repetition in fresh environments."""
    findings = list(_gymnasium(env_factory))
    episodes: list[RandomWalk] = []
    try:
        env = env_factory()
        episodes += Recorder(env, features).walk(steps)
        findings += [*_observations(episodes), *_repetition(env_factory, features, episodes), *_constant(episodes)]
        if task is not None:
            findings += against_task(task, env, features, episodes)
        close(env)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # noqa: BLE001 (the code under check may raise anything)
        said = f"the environment or the features function raised {words_of(fault)}; it must survive random actions"
        own = isinstance(fault, TaskError)
        code = "features" if own and fault.__cause__ is None else "crash"
        findings.append(Finding("error", code, str(fault) if own else said))
    count = Counter(name for e in episodes for true in e.features for name in true)
    return CheckReport(tuple(findings), sum(len(e.steps) for e in episodes), len(episodes), dict(count.most_common()))


def _gymnasium(factory: EnvFactory) -> Iterator[Finding]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            env = factory()
            check_env(env, skip_render_check=True)
            close(env)
        except KeyboardInterrupt:
            raise
        except BaseException as fault:  # noqa: BLE001 (the code under check may raise anything)
            sentence = _plain(shown_briefly(str, fault, 1000)) or type(fault).__name__
            yield Finding("error", "gymnasium", f"Gymnasium's own checker refuses the environment: {sentence}")
    for text in dict.fromkeys(_plain(str(warning.message)) for warning in caught):
        if not any(harmless in text for harmless in _HARMLESS):
            yield Finding("warning", "gymnasium", f"Gymnasium's own checker warns: {text}")


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text).removeprefix("WARN: ").strip()


# Walks


class Recorder:
    """Walks through one environment and writes down what it reports."""

    def __init__(self, env: gym.Env[Any, Any], features: Features | None) -> None:
        self.env, self.features = env, features
        self.name = f"the environment '{type(env.unwrapped).__name__}'"
        self.restorable = next((e for e in (env, env.unwrapped) if isinstance(e, Restorable)), None)

    def walk(self, steps: int) -> Iterator[RandomWalk]:
        """Episodes of random actions, at least five, every other one with actions that go on for a while."""
        rng, longest, seed = np.random.default_rng(0), max(1, steps // EPISODES), 0
        self.env.action_space.seed(0)
        while steps > 0:
            episode = self.episode(seed, self._actions(rng, STICKY if seed % 2 else 0.0, min(longest, steps)))
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
        begun = lambda: parts_of(self.env.reset(seed=seed), "observation, info")  # noqa: E731
        observation, info = guarded(begun, lambda: f"{self.name} at the start of an episode")
        episode = RandomWalk(seed, observation, read_features(self.features, None, None, observation, info))
        for i, action in enumerate(actions):
            repeat = self.features is None and i % REPEATED_EVERY == 0
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
        following, reward, terminated, truncated, info = parts_of(self.env.step(action), STEP)
        reward, ends = number(reward, "reward"), truth(terminated, "terminated")
        over = truth(truncated, "truncated") or ends
        true = read_features(self.features, observation, action, following, info)
        if self.features is not None:
            first = read_features(self.features, observation, action, following, info)
        inside = following in self.env.observation_space
        again = true if first is None else first
        return RecordedStep(action, following, true, again, info.get("signals", {}), reward, ends, inside), over


def repeated(factory: EnvFactory, features: Features | None, episode: RandomWalk) -> RandomWalk:
    """The same seed and actions in a fresh environment."""
    env = factory()
    again = Recorder(env, features).episode(episode.seed, (seen.action for seen in episode.steps))
    close(env)
    return again


def same_observations(first: RandomWalk, second: RandomWalk) -> bool:
    """Whether two episodes looked the same to the agent."""
    pairs = zip(first.observations, second.observations, strict=False)
    return len(first.steps) == len(second.steps) and all(data_equivalence(a, b) for a, b in pairs)


def numbers(observation: Any) -> Iterator[np.ndarray]:
    """Every array of numbers in an observation."""
    if isinstance(observation, Mapping | tuple | list):
        for part in observation.values() if isinstance(observation, Mapping) else observation:
            yield from numbers(part)
    elif isinstance(observation, np.ndarray | np.generic | float):
        yield np.asarray(observation)


def _observations(episodes: Sequence[RandomWalk]) -> Iterator[Finding]:
    outside = [seen.observation for e in episodes for seen in e.steps if not seen.inside]
    if any(np.isnan(part).any() for e in episodes for o in e.observations for part in numbers(o)):
        yield Finding("error", "nan", "an observation contains NaN; bound what it is computed from, or end the episode")
    elif outside:
        sentence = f"the observation {str(outside[0])[:80]} is not in the observation space; widen the space"
        yield Finding("error", "outside", sentence)


def _repetition(factory: EnvFactory, features: Features | None, episodes: Sequence[RandomWalk]) -> Iterator[Finding]:
    """The same transition, the same seed, and an episode after others must give the same again: the first fault is told."""
    for episode in episodes:
        for i, seen in enumerate(episode.steps):
            if seen.features != seen.repeated:
                first, second = ("{" + ", ".join(sorted(names)) + "}" for names in (seen.features, seen.repeated))
                said = f"the same transition (step {i + 1} of seed {episode.seed}) has features {first}, then {second}"
                advice = "compute them from the transition alone, without chance or memory"
                yield Finding("error", "not-deterministic", f"{said}; {advice}")
                return
    # Every seed before any leak: what draws from nowhere may agree with itself by chance once.
    fresh_ones = [(episode, repeated(factory, features, episode)) for episode in episodes[:5]]
    for episode, fresh in fresh_ones:
        if not same_observations(fresh, repeated(factory, features, episode)):
            said = f"two fresh environments with seed {episode.seed} and the same actions differ"
            advice = "call super().reset(seed=seed) and draw random numbers from self.np_random only"
            yield Finding("error", "seed-ignored", f"{said}; {advice}")
            return
    for episode, fresh in fresh_ones:
        same = same_observations(fresh, episode)
        if not same or fresh.features != episode.features:
            other = f"has other {'features' if same else 'observations'} after earlier ones than in a fresh environment"
            advice = "set every attribute in reset(), and keep no memory in the features function"
            yield Finding("error", "leak", f"an episode with seed {episode.seed} {other}; {advice}")
            return


def _constant(episodes: Sequence[RandomWalk]) -> Iterator[Finding]:
    labels = [seen.features for e in episodes for seen in e.steps]
    for name in sorted(n for n in set.intersection(*labels) if reading(n) is None) if labels else ():
        said = f"'{name}' was true in all {len(labels):,} steps, so it tells the machine nothing; check its condition"
        yield Finding("warning", "always-true", said)


# Beside a task


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
    for name in task.machine.signals:
        if not all(name in {*seen.signals, "reward"} for e in episodes for seen in e.steps):
            said = f"a reward of the task is the signal '{name}', which steps do not report; put it into info['signals']"
            yield Finding("error", "signals", said)
    paid = sorted({seen.reward for e in episodes for seen in e.steps if seen.reward})
    if paid and "reward" not in task.machine.signals:
        said = f"the environment pays rewards of its own (such as {paid[-1]:g}), which the machine ignores"
        advice = "use the signal 'reward' as a reward of the machine, or accept that only the machine pays"
        yield Finding("warning", "reward-ignored", f"{said}; {advice}")
    told: dict[str, Finding] = {}
    for episode in episodes:
        for finding in _walked(task, episode):
            told.setdefault(finding.code, finding)
    yield from told.values()


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
            said = f"'{name}' is named in the task and was never true in {steps:,} random steps; {hint}"
            yield Finding("warning", "never-true", f"{said}, or walk longer with --steps if it is merely rare")
    if not own and extra:
        listed = ", ".join(f"'{name}'" for name in extra)
        yield Finding("warning", "not-in-task", f"the task never looks at the features {listed}; name them in it or drop them")


def _walked(task: Task, episode: RandomWalk) -> Iterator[Finding]:
    """What an episode brings that the machine does not: two subtasks in one step, and an end while it goes on."""
    stepper = Stepper(task.machine)
    state = stepper.start
    for i, seen in enumerate(episode.steps):
        if stepper.status[state[0]] != RUNNING:
            return
        # Features of removed subtasks are gone once these no longer remain, as in the product.
        true = set(seen.features) - (set(task.vanishing) - set(stepper.named(state[1])))
        open_ = [dict.fromkeys(stepper.named(stepper.open(state) & bits)) for bits in stepper.variable_bits]
        both = max(([n for n in names if n in true] for names in open_), key=len, default=[])
        # The paper assumes that one step completes at most one subtask of a numeric feature.
        if len(both) > 1:
            said = f"{' and '.join(both)} became true in one step (step {i + 1} of seed {episode.seed}), both open"
            advice = f"only {both[0]}, first in declared order, counts: make them exclude each other or accept that"
            yield Finding("warning", "two-subtasks", f"{said}; {advice}")
        state = stepper.step(state, true).state
    if episode.steps and episode.steps[-1].terminated and stepper.status[state[0]] == RUNNING:
        said = f"the environment ended an episode (seed {episode.seed}) while the machine went on"
        advice = "report a feature where it ends and give the machine a failure transition on it"
        yield Finding("warning", "termination-ignored", f"{said}; {advice}")


# What a name stands for


def run_check(spec: str, features: str | None = None, task: Path | None = None, steps: int = 1000) -> CheckReport:
    """The report on what a name stands for; a task's own world is checked against that task unless another is given."""
    if not 1 <= steps <= MAX_STEPS:
        raise SpecError(f"steps is {steps:,}; a check keeps every step that it walks: give from 1 to {MAX_STEPS:,}")
    factory, own = _resolve(spec)
    given = load_file(task) if task is not None else None
    function = None if features is None else import_attribute(features)
    if function is not None and not callable(function):
        raise SpecError(
            f"'{features}' is a {type(function).__name__}, not a function of (observation, action, next, info)"
        )
    if function is None and given is not None and Observed.of(given.world) is not None:
        factory = _labelled(factory, given)
    return check(factory, function, given or own, steps)


def _labelled(factory: EnvFactory, task: Task) -> EnvFactory:
    from errands.worlds.gymnasium.shell import FeatureWrapper

    return lambda: FeatureWrapper(factory(), task.world)  # type: ignore[arg-type]


def _resolve(spec: str) -> tuple[EnvFactory, Task | None]:
    if spec in gym.registry:
        return lambda: gym.make(spec, disable_env_checker=True), None
    if ":" in spec:
        maker = import_attribute(spec)
        return _checked(spec, maker), None
    try:
        task = load(spec)
    except UnknownName as fault:
        versions = [name for name in gym.registry if name.rpartition("-v")[0] == spec]
        near = f" (did you mean '{versions[-1]}'?)" if versions else ""
        raise SpecError(f"'{spec}' is no MODULE:ENV, no Gymnasium id{near}, and {fault}") from None
    return task.world.env, task


def _checked(spec: str, maker: Any) -> EnvFactory:
    if isinstance(maker, gym.Env):
        raise SpecError(f"'{spec}' is one environment; name its class or a function, so that fresh ones can be made")
    if not callable(maker):
        raise SpecError(f"'{spec}' is a {type(maker).__name__}; name a class or a function that makes an environment")

    def make() -> gym.Env[Any, Any]:
        env = maker()
        if not isinstance(env, gym.Env):
            raise SpecError(f"'{spec}' made a {type(env).__name__}, not a gymnasium.Env; return an environment")
        return env

    close(guarded(make, lambda: f"'{spec}' cannot be made without arguments:", error=SpecError, raised=""))
    return make


def import_attribute(path: str) -> Any:
    """What MODULE:NAME stands for; modules of the current directory are found too."""
    if not re.fullmatch(r"[^\W\d][\w.]*:[^\W\d][\w.]*", path):
        raise SpecError(f"'{path}' is not of the form MODULE:NAME, such as my_env:MyEnv")
    module_name, _, names = path.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    target: Any = guarded(
        lambda: importlib.import_module(module_name),
        lambda: f"the module '{module_name}' cannot be imported:",
        error=SpecError,
        raised="",
    )
    for name in names.split("."):
        if not hasattr(target, name):
            known = [n for n in vars(target) if not n.startswith("_")] if hasattr(target, "__dict__") else []
            raise UnknownName(f"attribute of '{module_name}'", name, known)
        target = getattr(target, name)
    return target
