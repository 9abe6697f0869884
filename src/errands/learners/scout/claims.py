"""What Scout claims: the optimum with a proof, or bounds of it and why there is no more."""

from __future__ import annotations

import math
from collections.abc import Mapping

from errands.kernels.scout_search import EXIT, NONE
from errands.learners.scout.crowd import Crowd
from errands.learners.scout.guide import Guide
from errands.learners.scout.planner import Plan, Planner
from errands.machines.stepping import State
from errands.oracle.certificate import Claim


def proof(plan: Plan, step: int, certain: bool | None) -> Claim:
    """The claim of a plan that no untried action can beat."""
    reason = "no run succeeds" if plan.kind == NONE else "no untried action can shorten the plan"
    if certain is None:
        reason += ", as long as moves are certain, as all have been so far"
    return Claim(plan.cost, plan.cost, True, step, reason)


def bounds_so_far(guide: Guide | None, state: State, starts: Mapping[int, int], events: bool, step: int) -> Claim:
    """Bounds of the optimum, averaged over the starts met, and why they are not a proof."""
    if not starts:
        return Claim(0.0, math.inf, False, step, "nothing was tried yet")
    if guide is None:
        return Claim(0.0, math.inf, False, step, "moves are random, so the plan is as good as the model and not proved")
    both = [(_bounds(guide, state, s), n) for s, n in starts.items()]
    total = sum(starts.values())
    lower = sum(b[0] * n for b, n in both) / total
    upper = sum(b[1] * n for b, n in both) / total
    if events:
        why = "a cell showed different features at different times: features are events here, and an untried step could show any"
        return Claim(0.0, upper, False, step, why)
    if len(starts) > 1:
        why = f"episodes started in {len(starts)} cells so far, and there may be others; the bounds are their average"
        return Claim(lower, upper, False, step, why)
    if isinstance(guide, Planner):
        return Claim(lower, upper, False, step, "untried actions could still shorten the plan")
    if lower == upper:
        return Claim(lower, upper, True, step, "no order is shorter than the lightest tree that joins its items")
    return Claim(lower, upper, False, step, "too many agenda states for a proof; the order comes from a local search")


def _bounds(guide: Guide, state: State, cell: int) -> tuple[float, float]:
    """A lower bound, and the steps of the way known by now."""
    if isinstance(guide, Planner):
        x = guide.agenda.number(state)
        plan = guide.plan(x, cell)
        hope = guide.hope(x, cell, plan.cost)
        return min(plan.cost, hope.cost if hope.kind == EXIT else guide.lower(x, cell)), plan.cost
    walk = guide.walk(state, cell)
    upper = math.inf if walk is None else float(len(walk.actions))
    return (guide.floor(state, cell, upper) if isinstance(guide, Crowd) and walk else 0.0), upper
