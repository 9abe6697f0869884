"""The rules by which claims about the continuous domains are judged: all comparisons are made over the same steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from errands.analysis.curve import Curve
from errands.analysis.growth import growth
from errands.analysis.statistics import Interval, improvement_interval, spread
from errands.paper.claim_rules import Check, Rule
from errands.paper.continuous import METHODS, task_of
from errands.paper.evidence import NEVER, Evidence
from errands.tables import Floats

PAPER = tuple(method.name for method in METHODS if not method.ours)
LIMIT = 1_000_000
"""The paper's steps: a failure within fewer counts only where another method succeeds within as many."""
ENOUGH = LIMIT // 10
"""Methods are compared over no fewer steps than this: earlier, most have not found the task's end yet."""
FLAT = 1.25
"""A runtime that grows by less from the smallest to the largest task does not change much."""
Made = Callable[[Evidence, str, str], Check | None]


def each(what: str, tasks: Sequence[str], made: Made) -> Rule:
    """A check for every task; a name that ends in '*' stands for all measured tasks that begin so."""

    def rule(e: Evidence, preset: str) -> list[Check]:
        checks = []
        for task in _expanded(e, tasks):
            found = made(e, preset, task)
            checks.append(Check(None, f"{task}, {what}: not measured") if found is None else found)
        return checks

    return rule


def _expanded(e: Evidence, tasks: Iterable[str]) -> list[str]:
    known = sorted({key[0] for key in e.curves})
    found = [[t for t in known if t.startswith(task[:-1])] if task.endswith("*") else [task] for task in tasks]
    return list(dict.fromkeys(t for some in found for t in some))


def ahead(first: str, others: Sequence[str], tasks: Sequence[str], within: int = LIMIT) -> Rule:
    """Over the steps that both took, `within` at most, seeds of the first do better on average than those of every other.

    A seed's success over some steps is the mean of (shortest length met / its length), 0 while it fails.
    """

    def made(e: Evidence, preset: str, task: str) -> Check | None:
        one = e.curve(task, first, preset)
        rivals = {name: curve for name in others if (curve := e.curve(task, name, preset)) is not None}
        if one is None or not rivals:
            return None
        chances = {name: _ahead(e, one, curve, within) for name, curve in rivals.items()}
        known = {name: chance for name, chance in chances.items() if chance is not None}
        if not known:
            return Check(None, f"{task}: nothing was solved within these steps")
        said = ", ".join(f"{name} {_chance(chance)}" for name, chance in known.items())
        end = min(within, *(curve.ends_last for curve in (one, *rivals.values())))
        text = f"{task}: chance that {first} is ahead over the common steps (to {end:,} at least): of {said}"
        return _judged(list(known.values()), end, text)

    return each(f"{first} and {', '.join(others)}", tasks, made)


def shorter(first: str, second: str, tasks: Sequence[str]) -> Rule:
    """Seeds of the first end shorter than those of the second, at the last step that both took."""

    def made(e: Evidence, preset: str, task: str) -> Check | None:
        a, b = e.curve(task, first, preset), e.curve(task, second, preset)
        if a is None or b is None:
            return None
        x, y, end = _ends(a, b)
        if np.isinf(x).all() and np.isinf(y).all():
            return Check(None, f"{task}: neither succeeds within {end:,} steps")
        chance = improvement_interval([-x], [-y])
        text = f"{task}, at {end:,}: {first} {_spread(x)}, {second} {_spread(y)}; chance of shorter {_chance(chance)}"
        return _judged([chance], end, text)

    return each(f"{first} and {second}", tasks, made)


def sub_optimal(method: str, tasks: Sequence[str]) -> Rule:
    """The method succeeds, and some other one ends shorter at the last step that both took."""

    def made(e: Evidence, preset: str, task: str) -> Check | None:
        one = e.curve(task, method, preset)
        rivals = [(key[1], key[2], curve) for key, curve in e.curves.items() if key[0] == task and key[1] != method]
        if one is None or not rivals:
            return None
        chances = [(improvement_interval([-x], [-y]), *rival[:2], x, y, end) for rival in rivals
                   for x, y, end in [_ends(rival[2], one)]]  # fmt: skip
        best, rival, chosen, x, y, end = max(chances, key=lambda each: (each[0].low, each[0].value))
        against = f"{rival} ({chosen}) {_spread(x)} against {_spread(y)} at {end:,}; chance of shorter {_chance(best)}"
        text = f"{task}: {method} {_solved(one)}; the best other: {against}"
        if not _succeeds(one):
            return Check(False if one.ends_last >= LIMIT else None, text)
        return _judged([best], one.ends_last, text)

    return each(method, tasks, made)


def succeeds(method: str, tasks: Sequence[str]) -> Rule:
    """More than half of the seeds end with success."""

    def made(e: Evidence, preset: str, task: str) -> Check | None:
        curve = e.curve(task, method, preset)
        if curve is None:
            return None
        good = _succeeds(curve)
        text = f"{task}: {method} {_solved(curve)}"
        # Too few steps show nothing against a method that had no time.
        return Check(good if good or curve.ends_last >= LIMIT else None, text)

    return each(method, tasks, made)


def fails(methods: Sequence[str], tasks: Sequence[str]) -> Rule:
    """Half of the seeds or more end without success, after the paper's steps or where another method succeeds."""

    def made(e: Evidence, preset: str, task: str) -> Check | None:
        found = {name: curve for name in methods if (curve := e.curve(task, name, preset)) is not None}
        if not found:
            return None
        text = f"{task}: " + ", ".join(f"{name} {_solved(curve)}" for name, curve in found.items())
        if any(map(_succeeds, found.values())):
            return Check(False, text)
        end = min(curve.ends_last for curve in found.values())
        others = [curve for key, curve in e.curves.items() if key[0] == task and key[1] not in methods]
        solved = any(_succeeds(_until(curve, end)) for curve in others if curve.steps[0] <= end)
        return Check(True if solved or end >= LIMIT else None, text + ("" if solved else "; no other succeeds either"))

    return each(", ".join(methods), tasks, made)


def grows(methods: Sequence[str], kind: str, families: Sequence[str] = ("water", "cheetah")) -> Rule:
    """The seconds per million steps grow by this law (flat, linear or exponential) with the number of subtasks."""

    def rule(e: Evidence, network: str) -> list[Check]:
        return [_growth(e, family, method, network, kind) for family in families for method in methods]

    return rule


def _growth(e: Evidence, family: str, method: str, network: str, kind: str) -> Check:
    keys = [(len(task_of(task).machine.subtasks), seconds) for (task, name, net), seconds in e.seconds.items()
            if task.startswith(f"{family}-") and (name, net) == (method, network)]  # fmt: skip
    if len(keys) < (2 if kind == "flat" else 4):
        return Check(None, f"{family}, {method}: not measured on {2 if kind == 'flat' else 4} sizes")
    sizes, seconds = zip(*sorted(keys), strict=True)
    ratio = seconds[-1] / seconds[0]
    times = ", ".join(f"{n}: {t:,.0f}" for n, t in zip(sizes, seconds, strict=True))
    if kind == "flat":
        return Check(ratio <= FLAT, f"{family}, {method}: {ratio:.2f} times from {sizes[0]} to {sizes[-1]} ({times})")
    law = growth(sizes, seconds)
    return Check(law.kind == kind, f"{family}, {method}: {law.words} ({times})")


def _judged(chances: Sequence[Interval], end: int, text: str) -> Check:
    """Whether all chances are above a half, interval and all; undecided where none is below it either."""
    if end < ENOUGH:
        return Check(None, f"{text} (fewer than {ENOUGH:,} steps decide nothing)")
    if all(chance.low > 0.5 for chance in chances):
        return Check(True, text)
    return Check(False, text) if any(chance.high < 0.5 for chance in chances) else Check(None, text, undecided=True)


def progress(curve: Curve, reference: float, until: float) -> Floats:
    """[K] the mean success of each seed over the steps up to `until`; every evaluation counts for the steps before it."""
    kept = curve.steps <= until
    if not kept.any():
        return np.zeros(curve.seeds)
    weights = np.diff(np.concatenate([[0], curve.steps[kept]])) / curve.steps[kept][-1]
    mean: Floats = (reference / curve.lengths[:, kept]) @ weights
    return mean


def _ahead(e: Evidence, one: Curve, other: Curve, within: int) -> Interval | None:
    shortest, end = e.shortest(one.task), min(within, one.ends_last, other.ends_last)
    if shortest == NEVER:
        return None
    x, y = progress(one, shortest, end), progress(other, shortest, end)
    return improvement_interval([x], [y]) if x.any() or y.any() else None


def _until(curve: Curve, end: int) -> Curve:
    kept = curve.steps <= end
    ends = tuple(min(stop, end) for stop in curve.ends)
    return Curve(curve.name, curve.task, curve.steps[kept], curve.lengths[:, kept], ends, curve.optimum)


def _ends(a: Curve, b: Curve) -> tuple[Floats, Floats, int]:
    """The lengths of both at the last step that both took, and that step."""
    end = min(a.ends_last, b.ends_last)
    at = [int(np.searchsorted(c.steps, end, side="right")) - 1 for c in (a, b)]
    x, y = (c.lengths[:, i] if i >= 0 else np.full(c.seeds, np.inf) for c, i in zip((a, b), at, strict=True))
    return x, y, end


def _succeeds(curve: Curve) -> bool:
    """Whether more than half of the seeds end with success."""
    return bool(np.isfinite(spread(curve.final).median))


def _chance(chance: Interval) -> str:
    return f"{chance.value:.2f} [{chance.low:.2f}, {chance.high:.2f}]"


def _spread(lengths: Floats) -> str:
    middle = spread(lengths).median
    good = int(np.isfinite(lengths).sum())
    return f"{'failure' if np.isinf(middle) else f'{middle:g}'} ({good} of {len(lengths)} solved)"


def _solved(curve: Curve) -> str:
    return f"{_spread(curve.final)} at {curve.ends_last:,}"
