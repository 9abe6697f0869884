"""What a stored step teaches each head, as tables by label: the one form that QRM, CRM, HRM and QCoRM share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from errands.learners.deep.config import DeepConfig, DeepHRMConfig, DeepQCoRMConfig
from errands.learners.deep.machine import Listed
from errands.tables import FAILURE, Flags, Floats, Ints


@dataclass(frozen=True, eq=False)
class Rule:
    """Target of head h for a step with label l: reward + pay * signals + gamma * goes_on * value of `follow`."""

    reward: Floats
    """[L, H]."""
    pay: Floats
    """[L, H, signals] the factor of each signal."""
    goes_on: Flags
    """[L, H] whether the value of the next observation counts."""
    follow: Ints
    """[L, H] the head whose value counts."""
    counts: Flags
    """[L, H] whether the head learns from such a step at all."""
    alive: Flags
    """[U, H] whether it learns from steps taken in machine state u."""

    @property
    def heads(self) -> int:
        """How many policies are learnt."""
        return int(self.reward.shape[1])

    @property
    def stays(self) -> bool:
        """Whether every head bootstraps from itself."""
        return bool((self.follow == np.arange(self.heads)).all())


def _pay(factor: Floats, signal: Ints, count: int) -> tuple[Floats, Floats]:
    """Constant rewards, and the factor of each signal."""
    pay = np.where(signal[..., None] == np.arange(count), factor[..., None], 0.0)
    return np.where(signal < 0, factor, 0.0), pay


def by_state(machine: Listed, config: DeepConfig, counterfactual: bool) -> Rule:
    """QRM and CRM: a head per machine state; only the one it is in learns, or all that can still be reached."""
    table = machine.table
    reward, pay = _pay(table.reward.T * config.reward_scale, table.signal.T, len(machine.task.world.signals))
    running = machine.running
    alive = np.eye(len(running), dtype=np.bool_)
    if counterfactual:
        alive = machine.reachable if machine.task.vanishing else np.ones_like(alive)
    follow = table.next.T.astype(np.int32)
    return Rule(reward, pay, running[follow], follow, np.broadcast_to(running, follow.shape), alive & running)


def options_of(machine: Listed) -> tuple[Ints, Ints]:
    """Every move between two machine states that does not fail: where it starts and where it ends."""
    table = machine.table
    source = np.repeat(np.arange(len(machine.rm)), table.next.shape[1])
    pairs = np.unique(np.stack([source, table.next.ravel()], axis=1), axis=0)
    keep = (pairs[:, 0] != pairs[:, 1]) & machine.running[pairs[:, 0]] & (table.status[pairs[:, 1]] != FAILURE)
    return pairs[keep, 0].astype(np.int32), pairs[keep, 1].astype(np.int32)


def by_option(machine: Listed, config: DeepHRMConfig) -> Rule:
    """HRM: a head per option, paid for its own transition and what the machine pays on the way, ended by any other move."""
    source, target = options_of(machine)
    table = machine.table
    reached = table.next[source].T
    factor, pay = _pay(table.reward[source].T * config.reward_scale, table.signal[source].T, len(machine.task.world.signals))
    stays = reached == source
    reward = np.where(reached == target, config.full_reward, np.where(stays, factor, 0.0))
    alive = machine.reachable[:, source] if machine.task.vanishing else np.ones((len(machine.rm), len(source)), np.bool_)
    follow = np.broadcast_to(np.arange(len(source), dtype=np.int32), stays.shape)
    counts = np.ones(stays.shape, np.bool_)
    return Rule(reward, pay * stays[..., None], stays, follow, counts, alive & machine.running[:, None])


def by_objective(machine: Listed, config: DeepQCoRMConfig) -> Rule:
    """QCoRM: a head per objective, judged in a machine state in which it is open; its completion may be left out."""
    table = machine.table
    home = np.array([_home(machine, k) for k in range(len(machine.objectives))])
    reached = table.next[home].T
    done = (machine.completed[home] == np.arange(len(home))[:, None, None]).any(axis=-1).T
    failed = table.status[reached] == FAILURE
    factor, pay = _pay(table.reward[home].T * config.reward_scale, table.signal[home].T, len(machine.task.world.signals))
    stays = (reached == home) & ~done
    reward = np.where(done, config.full_reward, np.where(stays, factor, 0.0))
    if config.relabel:
        later = machine.reachable.astype(np.float32) @ machine.open.astype(np.float32) > 0
        alive = later if machine.task.vanishing else np.ones_like(machine.open)
    else:
        alive = machine.open
    follow = np.broadcast_to(np.arange(len(home), dtype=np.int32), done.shape)
    counts = ~done if config.dedicated else np.ones_like(done)
    return Rule(reward, pay * stays[..., None], ~done & ~failed, follow, counts, alive)


def _home(machine: Listed, k: int) -> int:
    """A state in which objective k is open, with as little else remaining as possible."""
    states = np.flatnonzero(machine.open[:, k])
    remaining = [int(machine.masks[i]).bit_count() for i in states]
    return int(states[int(np.argmin(remaining))])
