"""The Markov chain that a policy makes of a finite task, followed exactly until its episodes end or are cut off."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from errands.errors import TaskError
from errands.kernels.absorption import absorb
from errands.machines.numeric import Transition
from errands.machines.stepping import State
from errands.oracle.episode import Policy, TaskStepper
from errands.oracle.product import DUST
from errands.tables import FAILURE, RUNNING, SUCCESS, Floats, Ints
from errands.tasks.task import Task

MAX_NODES = 2_000_000
PASSES = 5_000
"""How often each situation may be passed on the average, before an exact evaluation is given up."""
DONE, FAILED = -1, -2
UNLIKELY = 1e-10
ROUNDING = 1e-9
"""Relative differences below this are rounding: the optimum of a random world has an error of 1e-10."""


@dataclass(frozen=True)
class Chain:
    """All situations that a policy can get into, with the ways on from each as flat arrays."""

    starts: tuple[tuple[int, float], ...]
    first: Ints
    """[nodes + 1] the edges of node i are first[i] to first[i + 1] - 1."""
    target: Ints
    chance: Floats
    reward: Floats

    def __len__(self) -> int:
        return len(self.first) - 1


@dataclass(frozen=True)
class Expectation:
    """What a policy comes to from the start of an episode, over all starts and outcomes, with the world's time limit."""

    length: float
    """Expected steps until the episode ends, in success or failure, or is cut off by the limit."""
    success: float
    """Probability of success within the limit."""
    failure: float
    cut: float
    """Probability that the limit cuts the episode off."""
    discounted: float
    """Expected discounted return."""

    @property
    def sure(self) -> bool:
        """Whether every episode succeeds, but for one in 10,000,000,000 that the limit cuts off."""
        return self.failure == 0.0 and self.cut <= UNLIKELY

    def gap(self, best: float | None) -> float | None:
        """Expected steps above an optimum (of sure success); None where success is not sure or no optimum is known."""
        if best is None or not self.sure:
            return None
        gap = self.length - best
        return 0.0 if abs(gap) <= ROUNDING * self.length else gap

    def optimal(self, best: float | None) -> bool:
        """Whether the policy reaches that optimum: it succeeds surely and needs no more steps, but for rounding."""
        return self.gap(best) == 0.0


def build(policy: Policy, task: Task, most: int = MAX_NODES) -> Chain:
    """Follow the policy through every outcome; a node is a world state with a context (machine state, memory)."""
    task_stepper = TaskStepper(task)
    table, stepper, names = task_stepper.table, task_stepper.stepper, task_stepper.world.signals
    states, labels = task_stepper.world.states, task_stepper.world.labels
    # A context is a machine state with the policy's memory; 0 is that of the start, so start nodes are world states.
    contexts: dict[tuple[State, Hashable], int] = {(stepper.start, None): 0}
    listed: dict[int, tuple[State, Hashable]] = {0: (stepper.start, None)}
    machine: dict[tuple[State, int], tuple[State, int, Transition | None]] = {}
    shares = np.diff(table.start_cumulative, prepend=0.0)
    nodes = [int(s) for s, p in zip(table.starts, shares, strict=True) if p > DUST]  # context * states + world state
    number = {node: i for i, node in enumerate(nodes)}
    starts = tuple((number[int(s)], float(p)) for s, p in zip(table.starts, shares, strict=True) if p > DUST)
    first, target, chance, reward = [0], list[int](), list[float](), list[float]()
    for node in nodes:  # grows while it is gone through
        context, s = divmod(node, states)
        state, memory = listed[context]
        action, memory = policy.act(s, state, memory)
        where, before = (s, action), 0.0
        ends = table.ends[where].tolist()
        rows = zip(
            table.next[where].tolist(), table.label[where].tolist(), table.cumulative[where].tolist(), strict=True
        )
        for o, (there, label, cumulated) in enumerate(rows):
            share, before = cumulated - before, cumulated
            if share <= DUST:
                continue
            known = machine.get((state, label))
            if known is None:
                step = stepper.step(state, labels[label])
                known = machine[state, label] = (step.state, stepper.status[step.state[0]], step.transition)
            after, status, transition = known
            # The world ended while the machine still runs: nothing can be completed any more.
            if status == RUNNING and ends[o]:
                status = FAILURE
            paid = 0.0
            if transition is not None:
                paid, signal = transition.reward.lowered(names, stepper.machine.compounds)
                if signal >= 0:
                    paid *= float(table.signal[(signal, *where, o)])
            if status == RUNNING:
                ahead = contexts.setdefault((after, memory), len(contexts))
                listed.setdefault(ahead, (after, memory))
                there += states * ahead
                if there not in number:
                    if len(nodes) == most:
                        raise TaskError(f"the policy gets into more than {most:,} situations; evaluate it by episodes")
                    number[there] = len(nodes)
                    nodes.append(there)
                target.append(number[there])
            else:
                target.append(DONE if status == SUCCESS else FAILED)
            chance.append(share)
            reward.append(paid)
        first.append(len(target))
    arrays = (np.array(first, np.int32), np.array(target, np.int32), np.array(chance), np.array(reward))
    return Chain(starts, *arrays)


def solve(chain: Chain, gamma: float, limit: int, work: int = PASSES * MAX_NODES) -> Expectation:
    """Pass the probability of the starts on for at most `limit` steps: nothing is sampled, and only rounding errs."""
    mass = np.zeros(len(chain))
    for node, share in chain.starts:
        mass[node] += share
    done, totals = absorb(chain.first, chain.target, chain.chance, chain.reward, mass, limit, gamma, work)
    if not done:
        raise TaskError(
            f"the policy goes to and fro between {len(chain):,} situations for too long to be followed exactly; "
            "evaluate it by episodes"
        )
    success, failure, cut, length, discounted = map(float, totals)
    return Expectation(length, success, failure, cut, discounted)
