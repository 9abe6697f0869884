"""How good a policy is: exactly where the world has tables, over episodes elsewhere; and how far from the optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from errands.errors import TaskError
from errands.oracle.chain import MOST_NODES, build, solve
from errands.oracle.episode import Estimate, Policy, Sample, Walk, sampled, walk
from errands.oracle.optimum import Optimum, check_discount, optimum
from errands.tasks.task import Task, card

__all__ = [
    "Bounds",
    "Certificate",
    "Estimate",
    "Expectation",
    "Sample",
    "Walk",
    "certificate",
    "expected",
    "sampled",
    "walk",
]

ROUNDING = 1e-9
"""Relative differences below this are rounding: the optimum of a random world has an error of 1e-10."""


@dataclass(frozen=True)
class Bounds:
    """What a learner proved by itself while training: bounds of the optimum, and the step at which it had them."""

    lower: float
    upper: float
    proved: bool
    step: int
    reason: str = ""


@dataclass(frozen=True)
class Expectation:
    """What a policy comes to from the start of an episode, over all starts and outcomes; the time limit is left out."""

    length: float
    """Expected steps until the episode ends, in success or failure; infinite where it may never end."""
    success: float
    """Probability of success."""
    failure: float
    never: float
    """Probability that the episode never ends."""
    discounted: float
    """Expected discounted return."""
    error: float = 0.0
    """Proved bound of the relative error of `length` and of the error of the other numbers; 0 means rounding only."""

    @property
    def sure(self) -> bool:
        """Whether every episode succeeds."""
        return self.failure == 0.0 and self.never == 0.0

    def gap(self, best: float | None) -> float | None:
        """Expected steps above an optimum (of sure success); None where success is not sure or no optimum is known."""
        if best is None or not self.sure:
            return None
        gap = self.length - best
        return 0.0 if abs(gap) <= (ROUNDING + self.error) * self.length else gap

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
    """Expected steps until the episode ends, in success or failure; infinite where it may never end; None where nobody looked."""
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
    error: float = 0.0
    """Proved bound of the relative error of `length`; 0 means rounding only."""

    def _repr_html_(self) -> str:
        proved = self.claim and f"{self.claim.lower} to {self.claim.upper} steps"
        rows: dict[str, object] = {"summary": self.summary, "steps": self.length, "success": self.success}
        rows |= {"optimum": self.optimum, "gap": self.gap, "proved by the learner": proved}
        return card("Certificate", {name: value for name, value in rows.items() if value is not None})


def expected(policy: Policy, task: Task, gamma: float = 0.99, most: int = MOST_NODES) -> Expectation:
    """The exact expectation of a tabular policy on a finite task; a TaskError beyond `most` situations.

    Takes about ten microseconds for every situation (world state, machine state, memory) that the policy gets into.
    """
    check_discount(gamma)
    solved = solve(build(policy, task, most), gamma)
    sure = solved.failure == 0.0 and solved.never == 0.0
    # Steps of a certain world are whole; only rounding could say otherwise.
    length = float(round(solved.length)) if sure and task.certain else solved.length
    success = 1.0 if sure else solved.success
    return Expectation(length, success, solved.failure, solved.never, solved.discounted, solved.error)


def certificate(
    policy: Policy, task: Task, gamma: float = 0.99, best: Optimum | None = None, claim: Bounds | None = None
) -> Certificate:
    """Evaluate a tabular policy exactly and compare it with the optimum (`best`, or computed where it can be).

    Where the chain of the policy is too large to be solved, its numbers are means of 1,000 episodes, and say so.

    Parameters:
        policy: what is evaluated: an action for each pair of world state and machine state.
        task: the task it is evaluated on; its world must have tables.
        gamma: the discount factor of `discounted`.
        best: the optimum, where it is known already.
        claim: what the learner itself proved, to be kept beside it.

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
        value = expected(policy, task, gamma)
    except TaskError as refusal:
        return _by_episodes(policy, task, gamma, best, claim, str(refusal))
    gap = value.gap(best.length)
    unit = "steps" if task.certain else "expected steps"
    steps = f"{_shown(value.length)} {unit}"
    words = _compared(steps, value.length, gap, best, task.world.limit) if value.sure else _uncertain(value) + _most(value, best)
    if value.error:
        words += f" (relative error at most {value.error:.1g})"
    return Certificate(value.length, value.success, value.discounted, best.length, gap, words, claim, error=value.error)


def _by_episodes(
    policy: Policy, task: Task, gamma: float, best: Optimum, claim: Bounds | None, refusal: str
) -> Certificate:
    returns = []

    def play(seed: int) -> tuple[int, float, bool]:
        walked = walk(policy, task, seed)
        returns.append(sum(reward * gamma**t for t, reward in enumerate(walked.rewards)))
        return walked.length, sum(walked.rewards), walked.success

    sample = sampled(play)
    why = refusal.removesuffix("; evaluate it by episodes")
    words = f"{sample.length} steps and success {sample.success} over {sample.episodes:,} episodes, as {why}"
    discounted = float(np.mean(returns))
    return Certificate(sample.length.mean, sample.success.mean, discounted, best.length, None, words, claim, sample)


def _uncertain(value: Expectation) -> str:
    ways = [(value.failure, "fails"), (value.never, "never ends"), (value.success, "succeeds")]
    return ", ".join(how if p == 1.0 else f"{how} with probability {_chance(p)}" for p, how in ways if p > 0.0)


def _most(value: Expectation, best: Optimum) -> str:
    """What the best policy comes to where none succeeds surely, without which a failure cannot be judged."""
    if best.length is not None or best.success is None:
        return ""
    if best.success == 0.0:
        return f"; {best.reason}"
    if best.success - value.success <= ROUNDING + value.error:
        return ", as often as any policy can"
    return f"; the best policy succeeds with probability {_chance(best.success)}"


def _chance(probability: float) -> str:
    """A probability that is not 1 never reads as 1."""
    shown = _shown(probability)
    return "more than 0.999999" if shown == "1" else shown


def _compared(steps: str, length: float, gap: float | None, best: Optimum, limit: int) -> str:
    late = f" (an episode ends after {limit})" if length > limit else ""
    if gap is None:
        return f"{steps}{late}; the optimum is not known: {best.reason}"
    return f"{steps}{late}, {_shown(0.0 if abs(gap) < 1e-6 * length else gap)} more than the optimum"


def _shown(number: float) -> str:
    return f"{number:.6g}"
