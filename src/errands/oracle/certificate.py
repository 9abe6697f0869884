"""How good a policy is: exactly where the world has tables, over episodes elsewhere; and how far from the optimum."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errands.errors import TaskError
from errands.kernels.absorption import absorb
from errands.machines.numeric import Transition
from errands.machines.stepping import State
from errands.oracle.episode import Policy, Sample, TaskStepper, episode, sampled, strayed, walk
from errands.oracle.optimum import TOLERANCE, Optimum, check_discount, optimum, probability_text
from errands.oracle.product import DUST
from errands.tables import FAILURE, ROUNDING, RUNNING, SUCCESS, Floats, Ints
from errands.tasks.task import Task
from errands.worlds.base import numbered

MAX_NODES = 2_000_000
PASSES = 5_000
"""How often each situation may be passed on the average, before an exact evaluation is given up."""
DONE, FAILED = -1, -2
LATE = 1e-3
"""What successes after the time limit may be worth, that it is taken off a claim instead of being said."""
AS_SEEN = "as long as moves are certain and episodes start alike, as all have so far"
"""What every bound stands under where a world was only stepped."""


@dataclass(frozen=True)
class Bounds:
    """What a learner proved by itself while training: bounds of the optimum, and the step at which it had them."""

    lower: float
    upper: float
    proved: bool
    step: int
    reason: str = ""
    delta: float | None = None
    """The probability that they are wrong; None where they are certain."""
    conditional_on: str = ""
    """What they stand under, besides chance."""
    gamma: float | None = None
    """Where there is chance: the optimum is the greatest discounted chance of success, E[gamma^(T-1)]; None: steps."""

    @property
    def epsilon(self) -> float:
        """How far from the optimum the policy can be at most."""
        return self.upper - self.lower if self.lower < self.upper else 0.0

    @property
    def sentence(self) -> str:
        """The claim in words, where there is chance."""
        sure = f"with probability {1.0 - (self.delta or 0.0):.4g} the discounted chance of success (gamma {self.gamma:g})"
        return f"{sure} is at least {self.lower:.4g} by this policy and at most {self.upper:.4g} by any, if {self.conditional_on}"

    @property
    def says_something(self) -> bool:
        """Whether they are more than that the optimum is some number of steps."""
        return self.gamma is None and (self.proved or self.lower > 0 or math.isfinite(self.upper))

    def within(self, limit: int) -> Bounds:
        """The same where an episode from one start ends after `limit` steps: a success that takes longer is none."""
        if self.gamma is not None:
            late = self.gamma**limit  # what a success after the limit is worth at most
            if late <= LATE:
                return replace(self, lower=max(self.lower - late, 0.0))
            return replace(self, conditional_on=f"{self.conditional_on}, and episodes go on after the limit of {limit:,} steps")
        if math.isinf(self.lower) or self.upper <= limit:
            return self
        if self.lower <= limit:
            return replace(self, upper=math.inf)
        reason = f"the shortest success takes {self.lower:g} steps at least, more than the limit of {limit:,}"
        return replace(self, lower=math.inf, upper=math.inf, reason=reason)

    @property
    def as_claim(self) -> dict[str, Any] | None:
        """The claim as plain values where there is chance and it leaves anything out; else None."""
        if self.gamma is None or self.epsilon >= 1.0:
            return None
        return {name: getattr(self, name) for name in ("lower", "upper", "delta", "gamma", "conditional_on", "sentence")}

    def as_json(self) -> dict[str, Any]:
        """As plain values: whole numbers without a point, and null for what is infinite."""
        ends = {"lower": self.lower, "upper": self.upper}
        plain = {name: None if math.isinf(x) else int(x) if float(x).is_integer() else float(x) for name, x in ends.items()}
        return {**plain, "proved": self.proved, "delta": self.delta}


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
        return self.failure == 0.0 and self.cut <= TOLERANCE

    def gap(self, best: float | None) -> float | None:
        """Expected steps above an optimum (of sure success); None where success is not sure or no optimum is known."""
        if best is None or not self.sure:
            return None
        gap = self.length - best
        return 0.0 if abs(gap) <= ROUNDING * self.length else gap

    def optimal(self, best: float | None) -> bool:
        """Whether the policy reaches that optimum: it succeeds surely and needs no more steps, but for rounding."""
        return self.gap(best) == 0.0


@dataclass(frozen=True)
class Certificate:
    """How good a policy is from the start of an episode, and how far from the optimum.

    >>> import errands
    >>> run = errands.train("figure-1", "scout", steps=500)
    >>> run.certificate.length, run.certificate.success, run.certificate.gap
    (10.0, 1.0, 0.0)
    """

    length: float | None
    """Expected steps until the episode ends, in success or failure, or is cut off by the time limit; None where nobody looked."""
    success: float | None
    discounted: float | None
    """None in worlds without tables."""
    optimum: float | None
    gap: float | None
    """length - optimum; None where the policy does not succeed surely or the optimum is not known."""
    summary: str
    claim: Bounds | None = None
    sample: Sample | None = None
    """The episodes behind these numbers where they are means, not exact; None where they are exact."""


def expected(policy: Policy, task: Task, gamma: float = 0.99, most: int = MAX_NODES) -> Expectation:
    """The exact expectation of a tabular policy on a finite task; a TaskError beyond `most` situations.

    Takes about ten microseconds for every situation (world state, machine state, memory) that the policy gets into.
    """
    check_discount(gamma)
    if task.certain:
        _, *steps = episode(policy, task)
        success, failure, cut = (float(steps[-1].status == end) for end in (SUCCESS, FAILURE, RUNNING))
        return Expectation(float(len(steps)), success, failure, cut, sum(step.reward * gamma**t for t, step in enumerate(steps)))
    value = solve(build(policy, task, most), gamma, task.world.limit, PASSES * most)
    return replace(value, success=1.0) if value.sure else value


def certificate(
    policy: Policy,
    task: Task,
    gamma: float = 0.99,
    best: Optimum | None = None,
    claim: Bounds | None = None,
    most: int = MAX_NODES,
) -> Certificate:
    """Evaluate a tabular policy exactly and compare it with the optimum (`best`, or computed where it can be).

    Where the chain of the policy is too large to be followed, its numbers are means of 1,000 episodes, and say so.

    Parameters:
        policy: what is evaluated: an action for each pair of world state and machine state.
        task: the task it is evaluated on; its world must have tables.
        gamma: the discount factor of `discounted`.
        best: the optimum, where it is known already.
        claim: what the learner itself proved, to be kept beside it.
        most: situations of the policy beyond which episodes are played instead.

    >>> import errands
    >>> task = errands.load("corridor")
    >>> certificate(errands.optimum(task).policy, task).summary
    '20 steps, 0 more than the optimum'
    """
    check_discount(gamma)
    if task.finite is None:
        raise TaskError(f"the world of '{task.name}' {task.untabled}; exact evaluation needs tables")
    if best is None:
        try:
            best = optimum(task, gamma, orders=False)
        except TaskError as refusal:
            best = Optimum(None, reason=str(refusal))
    try:
        value = expected(policy, task, gamma, most)
    except TaskError as refusal:
        return _by_episodes(policy, task, gamma, best, claim, str(refusal))
    if astray := strayed(policy, task):
        claim = claim and Bounds(0.0, math.inf, False, claim.step, astray)
        return _by_episodes(policy, task, gamma, Optimum(None, reason=astray), claim, astray)
    known = claim.upper if best.length is None and claim is not None and claim.proved else best.length
    gap = value.gap(known)
    if value.sure:
        steps = f"{_number_text(value.length)} {'steps' if task.certain else 'expected steps'}"
        more = 0.0 if gap is None or gap < 1e-6 * value.length else gap
        words = f"{steps}; {_unknown(best, claim)}" if gap is None else f"{steps}, {_number_text(more)} more than the optimum"
    else:
        words = _uncertain(value, task.world.limit) + _most(value, best)
    if task.tried not in words:
        words += f", {task.tried}"
    if claim is not None and claim.as_claim:
        words += f"; {claim.sentence}"
    return Certificate(value.length, value.success, value.discounted, known, gap, words, claim)


def _by_episodes(
    policy: Policy, task: Task, gamma: float, best: Optimum, claim: Bounds | None, refusal: str
) -> Certificate:
    returns = []
    env = numbered(task.world) if task.tried else None

    def play(seed: int) -> tuple[int, float, bool]:
        walked = walk(policy, task, seed, env)
        returns.append(sum(reward * gamma**t for t, reward in enumerate(walked.rewards)))
        return walked.length, sum(walked.rewards), walked.success

    sample = sampled(play)
    if env is not None:
        env.close()
    why = refusal.removesuffix("; evaluate it by episodes")
    words = f"{sample.length} steps and success {sample.success} over {sample.episodes:,} episodes, as {why}"
    discounted = float(np.mean(returns))
    return Certificate(sample.length.mean, sample.success.mean, discounted, best.length, None, words, claim, sample)


def _uncertain(value: Expectation, limit: int) -> str:
    late = f"runs into the limit of {limit:,} steps"
    ways = [(value.failure, "fails"), (value.cut, late), (value.success, "succeeds")]
    return ", ".join(how if p == 1.0 else f"{how} with probability {probability_text(p)}" for p, how in ways if p > 0.0)


def _most(value: Expectation, best: Optimum) -> str:
    """What the best policy comes to where none succeeds surely, without which a failure cannot be judged."""
    if best.length is not None or best.success is None:
        return ""
    if best.success == 0.0:
        return f"; {best.reason}"
    if best.success - value.success <= ROUNDING:
        return ", as often as any policy can"
    return f"; the best policy succeeds with probability {probability_text(best.success)}"


def _unknown(best: Optimum, claim: Bounds | None) -> str:
    if claim is None or claim.gamma is not None or not math.isfinite(claim.upper):
        return f"the optimum is not known: {best.reason}"
    lower, upper = _number_text(claim.lower), _number_text(claim.upper)
    return f"the optimum lies between {lower} and {upper} by the learner's bounds: {claim.reason}"


def _number_text(number: float) -> str:
    return f"{number:.6g}"


# The chain of a policy


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
