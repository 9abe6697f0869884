"""A greedy episode in a Gymnasium environment that has no tables."""

from __future__ import annotations

from collections.abc import Hashable

from errands.machines.stepping import Stepper
from errands.oracle.policy import Policy
from errands.tables import RUNNING, SUCCESS
from errands.tasks.task import Task


def host_episode(policy: Policy, task: Task, seed: int) -> tuple[int, float, bool]:
    """Length, total reward and success of one episode of a policy in a fresh environment."""
    length, total, success, _ = host_walk(policy, task, seed)
    return length, total, success


def host_walk(policy: Policy, task: Task, seed: int) -> tuple[int, float, bool, tuple[str, ...]]:
    """The same, with the objectives in the order in which they were completed."""
    env, stepper = task.world.env(), Stepper(task.machine)
    observation, _ = env.reset(seed=seed)
    state, memory, total = stepper.start, None, 0.0
    base, first = int(env.observation_space.start), int(env.action_space.start)  # type: ignore[attr-defined]
    carried: Hashable = memory
    order: list[str] = []
    for t in range(task.world.limit):
        action, carried = policy.act(int(observation) - base, state, carried)
        observation, _, terminated, truncated, info = env.step(action + first)
        step = stepper.step(state, info.get("features", frozenset()))
        total += step.transition.reward.paid(info.get("signals")) if step.transition else 0.0
        order += stepper.completed(state, step)
        state = step.state
        if stepper.status[state[0]] != RUNNING or terminated or truncated:
            env.close()
            return t + 1, total, stepper.status[state[0]] == SUCCESS, tuple(order)
    env.close()
    return task.world.limit, total, False, tuple(order)
