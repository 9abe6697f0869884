"""The rules by which claims are judged: each says what was measured, and whether that is as claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from errands.analysis.curve import NEAR
from errands.analysis.summary import improvement
from errands.machines.counting import size
from errands.paper.evidence import NEVER, Evidence, steps
from errands.paper.paper import METHODS
from errands.tasks.catalogue import load

MEMORY = 16 * 2**30
"""What the paper's machines had."""
SIMILAR = 1.5
"""Rates within this factor count as similar."""
PAPER = tuple(m.name for m in METHODS if not m.ours)


@dataclass(frozen=True)
class Check:
    """One thing looked at: whether it is as claimed (None: it could not be looked at) and what was found."""

    holds: bool | None
    said: str
    undecided: bool = False
    """Whether it was looked at and the numbers do not tell."""


Rule = Callable[[Evidence, str], list[Check]]


def both(*parts: Rule) -> Rule:
    """The checks of several rules."""
    return lambda e, preset: [check for part in parts for check in part(e, preset)]


def _each(tasks: Iterable[str], check: Callable[[Evidence, str, str], Check | None]) -> Rule:
    def rule(e: Evidence, preset: str) -> list[Check]:
        found = ((task, check(e, preset, task)) for task in tasks)
        return [Check(None, f"{task}: not run") if made is None else made for task, made in found]

    return rule


def reaches_optimum(method: str, tasks: Sequence[str]) -> Rule:
    """The median curve comes to the optimum and stays there."""

    def check(e: Evidence, preset: str, task: str) -> Check | None:
        at, curve = e.settled(task, method, preset, 0.0), e.curve(task, method, preset)
        if at is None or curve is None or curve.optimum is None:
            return None
        optimal = int(curve.within(0.0, curve.optimum)[:, -1].sum())
        said = f"the median stays at the optimum from step {steps(at)}; {optimal} of {curve.seeds} seeds end optimal"
        return Check(at < NEVER, f"{task}: {said}")

    return _each(tasks, check)


def never_settles(method: str, tasks: Sequence[str]) -> Rule:
    """The median curve does not stay within 10 % of the optimum."""

    def check(e: Evidence, preset: str, task: str) -> Check | None:
        at, last = e.settled(task, method, preset), e.final(task, method, preset)
        if at is None:
            return None
        said = f"{method} stays within 10 % from step {steps(at)}; final median {_length(last)}"
        return Check(at == NEVER, f"{task}: {said}")

    return _each(tasks, check)


def fails(method: str, tasks: Sequence[str]) -> Rule:
    """Half of the final policies or more do not succeed."""
    return _ending(method, tasks, lambda last, optimum: last == NEVER)


def succeeds(method: str, tasks: Sequence[str]) -> Rule:
    """More than half of the final policies succeed, however long they are."""
    return _ending(method, tasks, lambda last, optimum: last < NEVER)


def sub_optimal(method: str, tasks: Sequence[str]) -> Rule:
    """The final policies succeed, and their median is longer than the optimum."""
    return _ending(method, tasks, lambda last, optimum: optimum < last < NEVER)


def _ending(method: str, tasks: Sequence[str], wanted: Callable[[float, float], bool]) -> Rule:
    def check(e: Evidence, preset: str, task: str) -> Check | None:
        last, curve = e.final(task, method, preset), e.curve(task, method, preset)
        if last is None or curve is None or curve.optimum is None:
            return None
        said = f"{task}: {method} ends with median length {_length(last)}, optimum {curve.optimum:g}"
        return Check(wanted(last, curve.optimum), said)

    return _each(tasks, check)


def before(first: Sequence[str], second: Sequence[str], tasks: Sequence[str]) -> Rule:
    """The median of some methods stays near the optimum from an earlier step than that of any of the others."""

    def check(e: Evidence, preset: str, task: str) -> Check | None:
        ours, theirs = _settled(e, preset, task, first), _settled(e, preset, task, second)
        if not ours or not theirs:
            return None
        return Check(min(ours.values()) < min(theirs.values()), f"{task}: {_listed({**ours, **theirs})}")

    return _each(tasks, check)


def fastest(methods: Sequence[str], tasks: Sequence[str]) -> Rule:
    """No other method of the paper stays near the optimum from an earlier step."""

    def check(e: Evidence, preset: str, task: str) -> Check | None:
        found = _settled(e, preset, task, PAPER)
        ours = [at for name, at in found.items() if name in methods]
        if not ours or len(ours) == len(found):
            return None
        return Check(NEVER > min(ours) <= min(found.values()), f"{task}: {_listed(found)}")

    return _each(tasks, check)


def slowest(methods: Sequence[str], tasks: Sequence[str]) -> Rule:
    """No other method of the paper but DiRL stays near the optimum from a later step."""

    def check(e: Evidence, preset: str, task: str) -> Check | None:
        found = {name: at for name, at in _settled(e, preset, task, PAPER).items() if name != "dirl"}
        ours = [at for name, at in found.items() if name in methods]
        others = [at for name, at in found.items() if name not in methods]
        if not ours or not others:
            return None
        return Check(min(ours) >= max(others) and min(others) < NEVER, f"{task}: {_listed(found)}")

    return _each(tasks, check)


def sooner(first: str, second: str, tasks: Sequence[str]) -> Rule:
    """The median seed of the first method comes within 10 % of the optimum before that of the second."""
    return _nearing(first, second, tasks, lambda a, b: a < b)


def similar(first: str, second: str, tasks: Sequence[str]) -> Rule:
    """The median seeds of both come within 10 % of the optimum within a factor of 1.5."""
    return _nearing(first, second, tasks, lambda a, b: max(a, b) <= SIMILAR * min(a, b))


def _nearing(first: str, second: str, tasks: Sequence[str], wanted: Callable[[float, float], bool]) -> Rule:
    def check(e: Evidence, preset: str, task: str) -> Check | None:
        a, b = e.near(task, first, preset), e.near(task, second, preset)
        if a is None or b is None:
            return None
        said = f"{task}: within 10 % after {steps(a)} ({first}) and {steps(b)} ({second})"
        return Check(None if a == b == NEVER else wanted(a, b), said)

    return _each(tasks, check)


def improves(first: str, second: str, tasks: Sequence[str]) -> Rule:
    """The chance that a seed of the first ends shorter than one of the second is above a half, interval and all."""

    def check(e: Evidence, preset: str, task: str) -> Check | None:
        a, b = e.curve(task, first, preset), e.curve(task, second, preset)
        chance = improvement([a], [b]) if a is not None and b is not None else None
        if chance is None:
            return None
        lengths = f"final medians {_length(e.final(task, first, preset))} and {_length(e.final(task, second, preset))}"
        said = f"P({first} ends shorter than {second}) = {chance.value:.2f} [{chance.low:.2f}, {chance.high:.2f}]"
        return Check(chance.low > 0.5, f"{task}: {said}; {lengths}")

    return _each(tasks, check)


def grows(methods: Sequence[str], kind: str) -> Rule:
    """Over Delivery and over Office the runtime grows by this law."""

    def rule(e: Evidence, preset: str) -> list[Check]:
        checks = []
        for family in ("delivery", "office"):
            for method in methods:
                found = e.growth(family, method, preset)
                if found is None:
                    checks.append(Check(None, f"{family}, {method}: not run"))
                else:
                    law, sizes = found
                    said = f"{family} {sizes[0]}-{sizes[-1]}, {method}: {law.words}"
                    checks.append(Check(law.kind == kind, said))
        return checks

    return rule


def exceeds_hours(methods: Sequence[str], hours: float) -> Rule:
    """A million steps with eight boxes take longer; where that was not run, in proportion to the states."""

    def rule(e: Evidence, preset: str) -> list[Check]:
        checks = []
        for method in methods:
            largest = max((n for n in range(2, 9) if (f"delivery-{n}", method, preset) in e.seconds), default=None)
            if largest is None:
                checks.append(Check(None, f"{method}: not run"))
                continue
            states = [size(load(f"delivery-{n}").machine).boolean for n in (largest, 8)]
            took = e.seconds[(f"delivery-{largest}", method, preset)] * states[1] / states[0] / 3600
            how = "measured" if largest == 8 else f"from {largest} boxes, in proportion to the states"
            checks.append(Check(took > hours, f"delivery-8, {method}: {took:.2g} hours ({how})"))
        return checks

    return rule


def boolean_memory(boxes: Sequence[int]) -> Rule:
    """A table of float64 over states, cells and actions of the Boolean machine is larger than 16 GiB."""

    def rule(e: Evidence, preset: str) -> list[Check]:
        checks = []
        for n in boxes:
            task = load(f"delivery-{n}")
            states = size(task.machine).boolean
            world = task.finite
            needed = states * 8 * (world.states * world.actions if world else 0)
            ran = any(key[:2] == (f"delivery-{n}", "crm boolean") for key in e.curves)
            said = f"delivery-{n}: {states:,} states, {needed / 2**20:,.0f} MiB"
            checks.append(Check(needed > MEMORY, said + ("; Boolean CRM was run" if ran else "")))
        return checks

    return rule


def one_policy_is_optimal(tasks: Sequence[str]) -> Rule:
    """The best that one policy per subtask can do is the optimum; one task where it is not refutes the claim."""

    def rule(e: Evidence, preset: str) -> list[Check]:
        known = [(task, e.exact[task]) for task in tasks if task in e.exact]
        if not known:
            return [Check(None, "not computed")]
        said = [f"{task}: optimum {x.optimum:g}, one policy per subtask {_length(x.one_policy)}" for task, x in known]
        return [Check(all(x.one_policy == x.optimum for _, x in known), "; ".join(said))]

    return rule


def _settled(e: Evidence, preset: str, task: str, methods: Iterable[str]) -> dict[str, float]:
    found = {name: e.settled(task, name, preset, NEAR) for name in methods}
    return {name: at for name, at in found.items() if at is not None}


def _listed(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {steps(at)}" for name, at in sorted(found.items(), key=lambda pair: pair[1]))


def _length(value: float | None) -> str:
    return "none" if value is None else "failure" if value == NEVER else f"{value:g}"
