"""An episode recorded: for every step what the world did, where the machine stood and which transition it took."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from errands.machines.stepping import State, Step, Stepper
from errands.oracle.episode import Pair, Policy
from errands.tables import FAILURE, RUNNING, SUCCESS
from errands.tasks.task import Task
from errands.viewer.scene import action_name, cell_of, posture

MOST_FRAMES = 1_200


@dataclass(frozen=True)
class Moment:
    """One frame: the state after a step, and the step that led there."""

    at: Any
    """The cell, or what scene.posture gives."""
    state: State
    status: int
    action: str | None = None
    features: tuple[str, ...] = ()
    completed: int = 0
    """The mask of the subtasks completed by the step."""
    objectives: tuple[str, ...] = ()
    """The subtasks and Boolean objective that the step completed (Stepper.completed)."""
    guard: str | None = None
    """The guard of the numeric transition taken; None where none fired."""
    reward: float = 0.0


@dataclass(frozen=True)
class Recording:
    """One greedy episode."""

    moments: tuple[Moment, ...]
    """The start, then one moment for each step."""
    success: bool
    cut: bool = False
    """Whether the episode goes on after the last moment shown."""
    length: int = 0

    @property
    def order(self) -> tuple[str, ...]:
        """The objectives as they were completed."""
        return tuple(name for moment in self.moments for name in moment.objectives)


def record(task: Task, policy: Policy, seed: int = 0, most: int = MOST_FRAMES) -> Recording:
    """One episode of a policy; at most `most` steps of it are kept."""
    steps = _in_tables(task, policy, seed) if task.finite is not None else _in_env(task, policy, seed)
    moments: list[Moment] = []
    length, last = -1, RUNNING
    for moment in steps:
        length, last = length + 1, moment.status
        if len(moments) <= most:
            moments.append(moment)
    return Recording(tuple(moments), last == SUCCESS, length + 1 > len(moments), length)


def _in_tables(task: Task, policy: Policy, seed: int) -> Iterator[Moment]:
    """The same walk as oracle.walk takes, with the machine's transitions."""
    pair = Pair(task)
    table, stepper = pair.table, pair.stepper
    rng = np.random.Generator(np.random.PCG64(seed))
    s, state, memory = int(table.starts[_draw(table.start_cumulative, rng)]), stepper.start, None
    held: Hashable = memory
    yield Moment(cell_of(task, s), state, RUNNING)
    for _ in range(task.world.limit):
        action, held = policy.act(s, state, held)
        o = _draw(table.cumulative[s, action], rng)
        features = pair.world.labels[int(table.label[s, action, o])]
        step = stepper.step(state, features)
        landing = pair.step(s, state, action, o)
        s, state = landing.world_state, landing.machine_state
        yield Moment(
            cell_of(task, s), state, landing.status, action_name(task, action), tuple(sorted(features)),
            step.completed, landing.completed, guard_of(step), landing.reward,
        )  # fmt: skip
        if landing.status != RUNNING:
            return


def _in_env(task: Task, policy: Policy, seed: int) -> Iterator[Moment]:
    """The same episode as learners evaluate in an environment without tables."""
    env, stepper = task.world.env(), Stepper(task.machine)
    seen, info = env.reset(seed=seed)
    state = stepper.start
    held: Hashable = None
    yield Moment(posture(env), state, RUNNING, features=_features(info))
    for _ in range(task.world.limit):
        action, held = policy.act(seen - _first(env.observation_space), state, held)
        seen, _, ended, truncated, info = env.step(action + _first(env.action_space))
        step = stepper.step(state, info.get("features", frozenset()))
        names, guard = stepper.completed(state, step), guard_of(step)
        reward = step.transition.reward.paid(info.get("signals")) if step.transition else 0.0
        state = step.state
        status = stepper.status[state[0]]
        status = FAILURE if ended and status == RUNNING else status
        yield Moment(
            posture(env), state, status, action_name(task, action), _features(info),
            step.completed, names, guard, reward,
        )  # fmt: skip
        if status != RUNNING or truncated:
            break
    env.close()


def guard_of(step: Step) -> str | None:
    """The guard of the transition taken; None where none fired."""
    return None if step.transition is None else str(step.transition.guard)


def _features(info: dict[str, Any]) -> tuple[str, ...]:
    return tuple(sorted(info.get("features", ())))


def _first(space: Any) -> int:
    """The number of the first element of a Discrete space; policies count from 0."""
    return int(space.start) if hasattr(space, "start") and hasattr(space, "n") else 0


def _draw(cumulative: np.ndarray, rng: np.random.Generator) -> int:
    return 0 if len(cumulative) == 1 else int(np.searchsorted(cumulative[:-1], rng.random(), side="right"))
