"""How good a policy is: exactly where the world has tables, over episodes elsewhere; and how far from the optimum."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errands.errors import TaskError
from errands.oracle.chain import MAX_NODES, PASSES, ROUNDING, Expectation, build, solve
from errands.oracle.episode import Policy, Sample, episode, sampled, strayed, walk
from errands.oracle.optimum import Optimum, check_discount, optimum, probability_text
from errands.tables import FAILURE, RUNNING, SUCCESS
from errands.tasks.task import Task
from errands.worlds.base import numbered

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
