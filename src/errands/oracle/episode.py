"""One greedy episode of a policy: in a finite world's tables, or in a Gymnasium environment without any."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from errands.machines.stepping import Stepper
from errands.oracle.policy import Policy
from errands.oracle.stepping import Pair
from errands.tables import RUNNING, SUCCESS, Floats
from errands.tasks.task import Task


@dataclass(frozen=True)
class Walk:
    """One episode, cut off at the world's limit."""

    order: tuple[str, ...]
    """The subtasks and Boolean objectives as they were completed."""
    path: tuple[int, ...]
    """World states, the start first."""
    actions: tuple[int, ...]
    rewards: tuple[float, ...]
    success: bool
    completed_at: tuple[int, ...] = ()
    """After how many steps each entry of `order` was completed."""

    @property
    def length(self) -> int:
        """The number of steps."""
        return len(self.actions)


def walk(policy: Policy, task: Task, seed: int = 0) -> Walk:
    """Let the policy act for one episode; where moves are random, their outcomes are drawn from the seed."""
    pair = Pair(task)
    table, rng = pair.table, np.random.Generator(np.random.PCG64(seed))
    s, state = int(table.starts[_draw(table.start_cumulative, rng)]), pair.stepper.start
    memory: Hashable = None
    order, path, actions, rewards, times = list[str](), [s], list[int](), list[float](), list[int]()
    status = RUNNING
    while status == RUNNING and len(actions) < task.world.limit:
        action, memory = policy.act(s, state, memory)
        s, state, reward, status, completed = pair.step(s, state, action, _draw(table.cumulative[s, action], rng))
        path.append(s)
        actions.append(action)
        rewards.append(reward)
        order.extend(completed)
        times.extend([len(actions)] * len(completed))
    return Walk(tuple(order), tuple(path), tuple(actions), tuple(rewards), status == SUCCESS, tuple(times))


def play(policy: Policy, task: Task, seed: int) -> tuple[int, float, bool]:
    """Length, total reward and success of one episode of a policy in a fresh environment with Discrete spaces."""
    env, stepper = task.world.env(), Stepper(task.machine)
    observation, _ = env.reset(seed=seed)
    base, first = int(env.observation_space.start), int(env.action_space.start)  # type: ignore[attr-defined]
    state, total = stepper.start, 0.0
    memory: Hashable = None
    length, status = 0, RUNNING
    while status == RUNNING and length < task.world.limit:
        action, memory = policy.act(int(observation) - base, state, memory)
        observation, _, terminated, truncated, info = env.step(action + first)
        step = stepper.step(state, info.get("features", frozenset()))
        total += step.transition.reward.paid(info.get("signals")) if step.transition else 0.0
        state, length = step.state, length + 1
        status = stepper.status[state[0]]
        if terminated or truncated:
            break
    env.close()
    return length, total, status == SUCCESS


def _draw(cumulative: Floats, rng: np.random.Generator) -> int:
    """Which outcome happens; draws a number only where there is more than one."""
    return 0 if len(cumulative) == 1 else int(np.searchsorted(cumulative[:-1], rng.random(), side="right"))
