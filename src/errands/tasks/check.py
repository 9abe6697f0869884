"""Check: does an environment with its features keep what reward machines need, and what Gymnasium asks for."""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env

from errands.errors import SpecError, TaskError, UnknownName, shown_briefly, words_of
from errands.features import reading
from errands.tasks.catalogue import load, load_file
from errands.tasks.check_walk import (
    EnvFactory,
    Finding,
    RandomWalk,
    Recorder,
    against_task,
    numbers,
    repeated,
    same_observations,
)
from errands.tasks.product import Features
from errands.tasks.task import Task
from errands.worlds.base import Observed
from errands.worlds.gymnasium.guard import close, guarded

_HARMLESS = ("infinity", "different from the unwrapped version")
"""Remarks of Gymnasium's checker on observations without bounds and on wrappers, which are no faults here."""
MAX_STEPS = 1_000_000
"""The longest walk: every step of it is kept, some 600 bytes where observations are small, and looked at again."""


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
            findings += list(against_task(task, env, features, episodes))
        close(env)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # noqa: BLE001 (the code under check may raise anything)
        findings.append(Finding("error", *_crash(fault)))
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


def _crash(fault: BaseException) -> tuple[str, str]:
    if isinstance(fault, TaskError):
        return "features" if fault.__cause__ is None else "crash", str(fault)
    return "crash", f"the environment or the features function raised {words_of(fault)}; it must survive random actions"


def _observations(episodes: Sequence[RandomWalk]) -> Iterator[Finding]:
    if any(np.isnan(part).any() for e in episodes for o in e.observations for part in numbers(o)):
        yield Finding("error", "nan", "an observation contains NaN; bound what it is computed from, or end the episode")
    elif not all(seen.inside for e in episodes for seen in e.steps):
        outside = next(seen for e in episodes for seen in e.steps if not seen.inside)
        sentence = f"the observation {str(outside.observation)[:80]} is not in the observation space; widen the space"
        yield Finding("error", "outside", sentence)


def _repetition(factory: EnvFactory, features: Features | None, episodes: Sequence[RandomWalk]) -> Iterator[Finding]:
    """The same transition, the same seed, and an episode after others must give the same again."""
    for episode in episodes:
        for i, seen in enumerate(episode.steps):
            if seen.features != seen.repeated:
                first, second = _names(seen.features), _names(seen.repeated)
                yield Finding(
                    "error",
                    "not-deterministic",
                    f"the same transition (step {i + 1} of seed {episode.seed}) has features {first}, then {second}; "
                    "compute them from the transition alone, without chance or memory",
                )
                return
    # Every seed before any leak: what draws from nowhere may agree with itself by chance once.
    fresh_ones = [repeated(factory, features, episode) for episode in episodes[:5]]
    for episode, fresh in zip(episodes, fresh_ones, strict=False):
        if not same_observations(fresh, repeated(factory, features, episode)):
            yield Finding(
                "error",
                "seed-ignored",
                f"two fresh environments with seed {episode.seed} and the same actions differ; "
                "call super().reset(seed=seed) and draw random numbers from self.np_random only",
            )
            return
    for episode, fresh in zip(episodes, fresh_ones, strict=False):
        if not same_observations(fresh, episode) or fresh.features != episode.features:
            what = "features" if same_observations(fresh, episode) else "observations"
            yield Finding(
                "error",
                "leak",
                f"an episode with seed {episode.seed} has other {what} after earlier ones than in a fresh environment; "
                "set every attribute in reset(), and keep no memory in the features function",
            )
            return


def _constant(episodes: Sequence[RandomWalk]) -> Iterator[Finding]:
    labels = [seen.features for e in episodes for seen in e.steps]
    for name in sorted(n for n in set.intersection(*labels) if reading(n) is None) if labels else ():
        yield Finding(
            "warning",
            "always-true",
            f"'{name}' was true in all {len(labels):,} steps, so it tells the machine nothing; check its condition",
        )


def _names(features: set[str]) -> str:
    return "{" + ", ".join(sorted(features)) + "}"


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
    """The same environments, reporting what the rules of a task file tell of them."""
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
    """A maker of environments whose faults are told in a sentence."""
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
