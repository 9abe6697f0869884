"""What recorded episodes say about a task: names that do not fit, subtasks that coincide, what the machine ignores."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import gymnasium as gym
import numpy as np

from errands.errors import TaskError
from errands.machines import Stepper
from errands.tables import RUNNING, WorldTable
from errands.tasks.check_walk import Episode
from errands.tasks.product import Features
from errands.tasks.task import Task

MOST_PROBED = 10_000
Level = Literal["error", "warning"]


class Found(NamedTuple):
    """How bad, which kind, and the sentence that says what to change."""

    level: Level
    code: str
    sentence: str


def against_task(
    task: Task, env: gym.Env[Any, Any], features: Features | None, episodes: Sequence[Episode]
) -> Iterator[Found]:
    """Where an environment does not give what the task's machine looks at, or gives more than it looks at."""
    own = features is None and _is_own(task, env)
    yield from _names(task, episodes, _reported(task) if own else _probed(env.observation_space, features), own)
    yield from _signals(task, episodes)
    yield from _coinciding(task, episodes)
    yield from _ignored(task, episodes)


def _is_own(task: Task, env: gym.Env[Any, Any]) -> bool:
    """Whether an environment is that of the task's own world, whose rules errands knows."""
    own = task.world.env()
    same = type(env.unwrapped) is type(own.unwrapped) and env.observation_space == own.observation_space
    kept = task.world.kind != "gymnasium" or isinstance(env, type(own))
    own.close()
    return same and kept


def _reported(task: Task) -> frozenset[str]:
    """The features that the task's own world is known to report: exactly where it is finite."""
    try:
        finite = task.finite
    except TaskError:
        return frozenset(task.world.features)
    if finite is None:
        return frozenset() if task.world.kind == "gymnasium" else frozenset(task.world.features)
    return frozenset(name for label in _reachable_labels(finite.table) for name in finite.labels[label])


def _probed(space: gym.Space[Any], features: Features | None) -> frozenset[str]:
    """The features that a function reports for some observation of a small Discrete space, reached or not."""
    if features is None or not isinstance(space, gym.spaces.Discrete) or space.n > MOST_PROBED:
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
        going_on = table.next[front][~table.ends[front]]
        front = np.unique(going_on[~reached[going_on]])
    return set(np.unique(table.label[reached]).tolist()) | set(table.start_label.tolist())


def _names(task: Task, episodes: Sequence[Episode], known: frozenset[str], own: bool) -> Iterator[Found]:
    steps = sum(len(e.steps) for e in episodes)
    seen = {name for e in episodes for true in e.features for name in true}
    extra = sorted(seen - set(task.machine.features))
    lower = {name.lower(): name for name in extra}
    for name in task.machine.features:
        if name not in seen | known:
            near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
            hint = f"the features report '{lower[near[0]]}': spell both alike" if near else "check its condition"
            yield Found(
                "warning",
                "never-true",
                f"'{name}' is named in the task and was never true in {steps:,} random steps; {hint}, "
                "or walk longer with --steps if it is merely rare",
            )
    if not own and extra:
        listed = ", ".join(f"'{name}'" for name in extra)
        yield Found(
            "warning", "not-in-task", f"the task never looks at the features {listed}; name them in it or drop them"
        )


def _signals(task: Task, episodes: Sequence[Episode]) -> Iterator[Found]:
    reported = [{*seen.signals, "reward"} for e in episodes for seen in e.steps]
    for name in task.machine.signals:
        if not all(name in names for names in reported):
            yield Found(
                "error",
                "signals",
                f"a reward of the task is the signal '{name}', which steps do not report; put it into info['signals']",
            )


def _coinciding(task: Task, episodes: Sequence[Episode]) -> Iterator[Found]:
    """The paper assumes that one step completes at most one subtask."""
    stepper = Stepper(task.machine)
    for episode in episodes:
        state = stepper.start
        for i, seen in enumerate(episode.steps):
            if stepper.status[state[0]] != RUNNING:
                break
            true = set(seen.features) - (set(task.removed) - set(_left(stepper, state[1])))
            both = [n for n in _left(stepper, state[1] & stepper.active[state[0]]) if n in true]
            if len(both) > 1:
                yield Found(
                    "warning",
                    "two-subtasks",
                    f"{' and '.join(both)} became true in one step (step {i + 1} of seed {episode.seed}), both open; "
                    f"only {both[0]}, first in declared order, counts: make them exclude each other or accept that",
                )
                return
            state = stepper.step(state, true).state


def _left(stepper: Stepper, mask: int) -> list[str]:
    return list(dict.fromkeys(stepper.named(mask)))


def _ignored(task: Task, episodes: Sequence[Episode]) -> Iterator[Found]:
    paid = sorted({seen.reward for e in episodes for seen in e.steps if seen.reward})
    if paid and "reward" not in task.machine.signals:
        yield Found(
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
            yield Found(
                "warning",
                "termination-ignored",
                f"the environment ended an episode (seed {episode.seed}) while the machine went on; "
                "report a feature where it ends and give the machine a failure transition on it",
            )
            return
