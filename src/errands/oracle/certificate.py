"""The certificate of a policy: its exact length and success, and the gap to the optimum; nothing is sampled."""

from __future__ import annotations

from dataclasses import dataclass

from errands.errors import TaskError
from errands.oracle.chain import Solved, build, solve
from errands.oracle.optimum import Optimum, optimum
from errands.oracle.policy import Policy
from errands.oracle.values import check_discount
from errands.oracle.walk import Walk, walk
from errands.tasks.task import Task

__all__ = ["Certificate", "Claim", "Walk", "certificate", "walk"]


@dataclass(frozen=True)
class Claim:
    """What a learner proved by itself while training: bounds of the optimum, and the step at which it had them."""

    lower: float
    upper: float
    proved: bool
    step: int
    reason: str = ""


@dataclass(frozen=True)
class Certificate:
    """Exact values of a policy from the start of an episode; the world's time limit is left out of account."""

    length: float
    """Expected steps until the episode ends, in success or failure; infinite where it may never end."""
    success: float
    discounted: float
    optimum: float | None
    gap: float | None
    """length - optimum; None where the policy does not succeed surely or the optimum is not known."""
    words: str
    claim: Claim | None = None


def certificate(
    policy: Policy, task: Task, gamma: float = 0.99, best: Optimum | None = None, claim: Claim | None = None
) -> Certificate:
    """Evaluate a tabular policy exactly and compare it with the optimum (`best`, or computed where it can be)."""
    check_discount(gamma)
    solved = solve(build(policy, task), gamma)
    if best is None:
        try:
            best = optimum(task, gamma, orders=False)
        except TaskError as refusal:
            best = Optimum(None, reason=str(refusal))
    sure = solved.failure == 0.0 and solved.never == 0.0
    certain = task.finite is not None and task.finite.certain
    length = float(round(solved.length)) if sure and certain else solved.length
    gap = length - best.length if sure and best.length is not None else None
    success = 1.0 if sure else solved.success
    unit = "steps" if certain else "expected steps"
    words = _compared(f"{_shown(length)} {unit}", length, gap, best, task.world.limit) if sure else _uncertain(solved)
    return Certificate(length, success, solved.discounted, best.length, gap, words, claim)


def _uncertain(solved: Solved) -> str:
    ways = [(solved.failure, "fails"), (solved.never, "never ends"), (solved.success, "succeeds")]
    return ", ".join(how if p == 1.0 else f"{how} with probability {_shown(p)}" for p, how in ways if p > 0.0)


def _compared(steps: str, length: float, gap: float | None, best: Optimum, limit: int) -> str:
    late = f" (an episode ends after {limit})" if length > limit else ""
    if gap is None:
        return f"{steps}{late}; the optimum is not known: {best.reason}"
    return f"{steps}{late}, {_shown(0.0 if abs(gap) < 1e-6 * length else gap)} more than the optimum"


def _shown(number: float) -> str:
    return f"{number:.6g}"
