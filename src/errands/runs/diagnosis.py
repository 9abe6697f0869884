"""A run that seldom succeeds: what is known of why, and the one or two things to try."""

from __future__ import annotations

from typing import TYPE_CHECKING

from errands.learners import LEARNERS
from errands.learners.base import listed
from errands.learners.diary import CUT, ENDED, FAILED, SUCCEEDED, total
from errands.learners.method import Facts
from errands.learners.presets import as_document
from errands.learners.schedule import Schedule
from errands.machines.counting import objectives
from errands.runs.documents import DiagnosisDocument

if TYPE_CHECKING:
    from errands.runs.run import Run

SELDOM = 0.5
"""A best success below this is diagnosed."""
EXPLORING = 0.3
"""Random actions at the end of a run from which on it is said to be exploring still."""
MOST = 2
"""Pieces of advice."""


def diagnosis(run: Run) -> DiagnosisDocument | None:
    """What is known of a run none of whose evaluations succeeds half of the time; None for others."""
    if not run.evaluations or max(e.success for e in run.evaluations) >= SELDOM:
        return None
    diaries = run.trained.diaries if run.trained is not None else ()
    features, completed, ends, furthest = (total(diaries, name) for name in ("features", "completed", "ends", "furthest"))
    known = DiagnosisDocument(
        features={name: features[name] for name in run.task.machine.features} if diaries else {},
        completed={name: completed[name] for name in objectives(run.task.machine)} if diaries else {},
        ends=dict(ends),
        furthest=max(map(int, furthest), default=len(run.order)),
        greedy=list(run.order),
        exploration=_exploration(run, sum(ends.values())),
        says=[],
        advice=[],
    )
    return known.model_copy(update={"says": _said(run, known), "advice": _advice(run, known)[:MOST]})


def _exploration(run: Run, episodes: int) -> float | None:
    """The share of random actions at the end; None where the method has no such thing."""
    known = as_document(run.config)
    names = [name for name in ("random_actions", "epsilon") if name in known]
    if not names or (names[0] == "random_actions" and Facts(run.task).numbers):
        return known.get("random_actions")
    schedule = Schedule.of(known["epsilon"], "epsilon", ("steps", "episodes"))
    return round(float(schedule.at(episodes if schedule.unit == "episodes" else run.steps)), 4)


def _said(run: Run, known: DiagnosisDocument) -> list[str]:
    """What is known, in sentences."""
    best = max(e.success for e in run.evaluations)
    lines = [f"no evaluation succeeded in more than {best:.0%} of its episodes" if best else "no evaluation succeeded"]
    if known.features:
        unseen = [name for name, steps in known.features.items() if not steps]
        seen = [f"{name} {steps:,}" for name, steps in known.features.items() if steps]
        lines.append(f"in {run.steps:,} steps of training these were true, in so many steps: {', '.join(seen) or 'none'}")
        lines += [f"never true: {', '.join(unseen)}"] if unseen else []
        lines.append(f"completed: {', '.join(f'{name} {times:,} times' for name, times in known.completed.items())}")
    if known.ends:
        told = ", ".join(f"{times:,} {how}" for how, times in sorted(known.ends.items(), key=lambda pair: -pair[1]))
        far = f"the best of them completed {known.furthest}"
        lines.append(f"{sum(known.ends.values()):,} episodes of training: {told}; {far}")
    lines.append(f"the greedy policy completes {' '.join(known.greedy) or 'nothing'}")
    if known.exploration is not None:
        lines.append(f"{known.exploration:.0%} of its actions were still random at the end")
    return lines


def _advice(run: Run, known: DiagnosisDocument) -> list[str]:
    """What to try, the likeliest first."""
    ends, limit = known.ends, run.task.world.limit
    episodes, unseen = sum(ends.values()), [name for name, steps in known.features.items() if not steps]
    if unseen and len(unseen) == len(known.features):
        return [f"no feature was ever true: look at the rules of {listed(unseen)} (errands check), or begin nearer to them"]
    advice = [f"look at the rule of {listed(unseen)} (errands check), or raise the limit of {limit} steps"] if unseen else []
    lost, cut = (ends.get(FAILED, 0) + ends.get(ENDED, 0)) / (episodes or 1), ends.get(CUT, 0) / (episodes or 1)
    further = f"train further, to {2 * run.steps:,} steps: errands resume, with --steps {2 * run.steps}"
    if known.exploration is not None and known.exploration > EXPLORING:
        advice.append(f"{further}; it was exploring still")
    elif ends.get(SUCCEEDED, 0):
        advice.append(further)
    elif lost > SELDOM:
        advice.append(f"{lost:.0%} of the episodes were lost: let observations show the danger, or --set gamma=0.999")
    elif cut > SELDOM and not unseen:
        advice.append(f"{cut:.0%} of the episodes were cut off: raise the limit of {limit} steps")
    else:
        advice.append(further)
    # The default where networks learn, or one that learns in every machine state at once.
    others = [name for name, m in LEARNERS.items() if m.default_for == "networks"] + [n for n, m in LEARNERS.items() if m.per_state]
    return [*advice, f"another learner: {next(name for name in others if name != run.learner)}"]
