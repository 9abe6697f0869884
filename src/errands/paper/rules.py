"""The rules by which claims are judged: each says what was measured, and whether that is as claimed.

Two kinds of rules compare methods. Where the optimum is known, a method has converged once the median of its seeds stays near it.
Where it is not, methods are compared with each other over the same steps, and over all maps that both were measured on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from errands.analysis.curve import NEAR, Curve
from errands.analysis.statistics import Interval, improvement_interval, spread
from errands.machines.counting import size
from errands.paper.evidence import NEVER, Evidence, in_steps
from errands.paper.panels import TABULAR, by_networks, task_and_map
from errands.tables import Floats
from errands.tasks.catalogue import load

MEMORY = 16 * 2**30
"""What the paper's machines had."""
SIMILAR = 1.5
"""Rates within this factor count as similar."""
LIMIT = 1_000_000
"""The paper's steps: a failure within fewer counts only where another method succeeds within as many."""
ENOUGH = LIMIT // 10
"""Networks are compared over no fewer steps than this: earlier, most have not found the task's end yet."""
FLAT = 1.25
"""A runtime that grows by less from the smallest to the largest task does not change much."""
PAPER = tuple(m.name for m in TABULAR if not m.ours)


@dataclass(frozen=True)
class Check:
    """One thing looked at: whether it is as claimed (None: it could not be looked at) and what was found."""

    holds: bool | None
    said: str
    undecided: bool = False
    """Whether it was looked at and the numbers do not tell."""
    needed: bool = True
    """Whether the claim rests on it: a further map or size that was not run takes nothing away from it."""


Rule = Callable[[Evidence, str], list[Check]]
Look = Callable[[Evidence, str, str], Check | None]
"""A look at one task under one preset; None where nothing was measured."""


def both(*parts: Rule) -> Rule:
    """The checks of several rules."""
    return lambda e, preset: [check for part in parts for check in part(e, preset)]


def where_run(part: Rule) -> Rule:
    """The checks of a rule on which the claim rests only as far as they could be made."""
    return lambda e, preset: [replace(check, needed=check.holds is not None or check.undecided) for check in part(e, preset)]


def each(what: str, tasks: Sequence[str], look: Look) -> Rule:
    """A check for every task on every map that was measured; one of the maps is needed."""

    def rule(e: Evidence, preset: str) -> list[Check]:
        checks = []
        for task in tasks:
            looks = {name: look(e, preset, name) for name in e.maps(task) or [task]}
            needed = not any(looks.values())
            checks += [check or Check(None, f"{name}, {what}: not run", needed=needed) for name, check in looks.items()]
        return checks

    return rule


# Rules that know the optimum.


def reaches_optimum(method: str, tasks: Sequence[str]) -> Rule:
    """The median curve comes to the optimum and stays there."""

    def optimum_reached(e: Evidence, preset: str, task: str) -> Check | None:
        at, curve = e.settled(task, method, preset, 0.0), e.curve(task, method, preset)
        if at is None or curve is None or curve.optimum is None:
            return None
        optimal = int(curve.within(0.0, curve.optimum)[:, -1].sum())
        said = f"the median stays at the optimum from step {in_steps(at)}; {optimal} of {curve.seeds} seeds end optimal"
        return Check(at < NEVER, f"{task}: {said}")

    return each(method, tasks, optimum_reached)


def never_settles(method: str, tasks: Sequence[str]) -> Rule:
    """The median curve does not stay within 10 % of the optimum."""

    def never_settled(e: Evidence, preset: str, task: str) -> Check | None:
        at, last = e.settled(task, method, preset), e.final(task, method, preset)
        if at is None:
            return None
        said = f"{method} stays within 10 % from step {in_steps(at)}; final median {_length(last)}"
        return Check(at == NEVER, f"{task}: {said}")

    return each(method, tasks, never_settled)


def before(first: Sequence[str], second: Sequence[str], tasks: Sequence[str]) -> Rule:
    """The median of some methods stays near the optimum from an earlier step than that of any of the others."""
    names = (*first, *second)
    return _settling(", ".join(names), first, names, tasks, lambda ours, others: min(ours) < min(others))


def fastest(methods: Sequence[str], tasks: Sequence[str]) -> Rule:
    """No other method of the paper stays near the optimum from an earlier step."""
    # A tie is enough to be fastest, but not one of methods that all never settle.
    return _settling(", ".join(methods), methods, PAPER, tasks, lambda ours, others: NEVER > min(ours) <= min(others))


def slowest(methods: Sequence[str], tasks: Sequence[str]) -> Rule:
    """No other method of the paper but DiRL stays near the optimum from a later step."""
    names = [name for name in PAPER if name != "dirl"]
    return _settling(
        ", ".join(methods), methods, names, tasks, lambda ours, others: min(ours) >= max(others) and min(others) < NEVER
    )


def _settling(
    what: str, mine: Sequence[str], names: Sequence[str], tasks: Sequence[str], wanted: Callable[[list[float], list[float]], bool]
) -> Rule:
    """Compares the steps from which the medians of some methods, and of the others of these names, stay near the optimum."""

    def settling(e: Evidence, preset: str, task: str) -> Check | None:
        settled = {name: at for name in names if (at := e.settled(task, name, preset, NEAR)) is not None}
        ours = [at for name, at in settled.items() if name in mine]
        others = [at for name, at in settled.items() if name not in mine]
        if not ours or not others:
            return None
        said = ", ".join(f"{name} {in_steps(at)}" for name, at in sorted(settled.items(), key=lambda pair: pair[1]))
        return Check(wanted(ours, others), f"{task}: {said}")

    return each(what, tasks, settling)


def sooner(first: str, second: str, tasks: Sequence[str]) -> Rule:
    """The median seed of the first method comes within 10 % of the optimum before that of the second."""
    return _nearing(first, second, tasks, lambda a, b: a < b)


def similar(first: str, second: str, tasks: Sequence[str]) -> Rule:
    """The median seeds of both come within 10 % of the optimum within a factor of 1.5."""
    return _nearing(first, second, tasks, lambda a, b: max(a, b) <= SIMILAR * min(a, b))


def _nearing(first: str, second: str, tasks: Sequence[str], wanted: Callable[[float, float], bool]) -> Rule:
    def nearing(e: Evidence, preset: str, task: str) -> Check | None:
        a, b = e.near(task, first, preset), e.near(task, second, preset)
        if a is None or b is None:
            return None
        said = f"{task}: within 10 % after {in_steps(a)} ({first}) and {in_steps(b)} ({second})"
        return Check(None if a == b == NEVER else wanted(a, b), said)

    return each(f"{first} and {second}", tasks, nearing)


# Rules that compare methods with each other.


def ahead(first: str, others: Sequence[str], tasks: Sequence[str], within: int = LIMIT) -> Rule:
    """Over the steps that both took, `within` at most, seeds of the first do better on average than those of every other.

    A seed's success over some steps is the mean of (shortest length met / its length), 0 while it fails. The chance that a seed of
    the first does better is averaged over maps, and its interval is that of seeds drawn again within each map.
    """

    def ahead_on_maps(e: Evidence, preset: str, names: Sequence[str]) -> list[Check]:
        pairs = {name: _progresses(e, names, first, name, preset, within) for name in others}
        if not any(pairs.values()):
            return []
        known = {name: some for name, some in pairs.items() if any(x.any() or y.any() for _, x, y, _ in some)}
        if not known:
            return [Check(None, f"{', '.join(names)}: nothing was solved within these steps")]
        # A rival that came less far than others were judged by has no say beside them.
        judged = {name: some for name, some in known.items() if max(end for *_, end in some) >= ENOUGH} or known
        chances = {name: improvement_interval([x for _, x, _, _ in some], [y for _, _, y, _ in some])
                   for name, some in judged.items()}  # fmt: skip
        ends = {name: max(end for *_, end in some) for name, some in judged.items()}
        widest = max(judged, key=lambda name: (len(judged[name]), ends[name]))
        steps = {name: _steps(names, ((task, end) for task, *_, end in some)) for name, some in judged.items()}
        said = ", ".join(f"{name} {_chance(chance)}" + (f" ({steps[name]})" if steps[name] != steps[widest] else "")
                         for name, chance in chances.items())  # fmt: skip
        text = f"{_task(names)}, {steps[widest]}: chance that {first} is ahead of {said}"
        why = {name: "run for too few steps" if name in known else "nothing was solved" if pairs[name] else "not run"
               for name in others if name not in judged}  # fmt: skip
        silent = [Check(None, f"{_task(names)}, {first} and {name}: {reason}") for name, reason in why.items()]
        return [_judged(list(chances.values()), max(ends.values()), text), *silent]

    return _pooled(f"{first} and {', '.join(others)}", tasks, ahead_on_maps)


def shorter(first: str, second: str, tasks: Sequence[str]) -> Rule:
    """Seeds of the first end shorter than those of the second, at the last step that both took, averaged over maps."""

    def shorter_on_maps(e: Evidence, preset: str, names: Sequence[str]) -> list[Check]:
        curves = [(task, e.curve(task, first, preset), e.curve(task, second, preset)) for task in names]
        pairs = [(task, *_ends(a, b)) for task, a, b in curves if a is not None and b is not None]
        if not pairs:
            return []
        end = max(end for *_, end in pairs)
        if all(np.isinf(x).all() and np.isinf(y).all() for _, x, y, _ in pairs):
            return [Check(None, f"{_task(names)}: neither succeeds within {end:,} steps")]
        chance = improvement_interval([-x for _, x, _, _ in pairs], [-y for _, _, y, _ in pairs])
        medians = "; ".join(f"{first} {_spread(x)}, {second} {_spread(y)}" for _, x, y, _ in pairs)
        steps = _steps(names, ((task, end) for task, *_, end in pairs))
        text = f"{_task(names)}, {steps}: {medians}; chance of shorter {_chance(chance)}"
        if chance.low == chance.high == 0.5:  # every seed of both ends with the same length
            return [Check(False, text)]
        # Where the optimum is known, a difference in length is one after any number of steps; networks need theirs.
        known = all(a.optimum is not None for _, a, _ in curves if a is not None) and not any(map(by_networks, names))
        return [_judged([chance], LIMIT if known else end, text)]

    return _pooled(f"{first} and {second}", tasks, shorter_on_maps)


def _pooled(what: str, tasks: Sequence[str], look: Callable[[Evidence, str, Sequence[str]], list[Check]]) -> Rule:
    """The checks of every task, over all its maps at once."""

    def rule(e: Evidence, preset: str) -> list[Check]:
        looks = [look(e, preset, e.maps(task)) or [Check(None, f"{task}, {what}: not run")] for task in tasks]
        return [check for some in looks for check in some]

    return rule


def _steps(names: Sequence[str], reached: Iterable[tuple[str, int]]) -> str:
    """Which of a task's maps were run, if it has several, and to which step; one for each map where they differ."""
    some = list(reached)
    maps, ends = [str(task_and_map(name)[1]) for name, _ in some], [f"{end:,}" for _, end in some]
    to = f"to {ends[0] if len(set(ends)) == 1 else ' / '.join(ends)}"
    return to if names == [_task(names)] else f"map{'s' if len(some) > 1 else ''} {', '.join(maps)}, {to}"


def _task(names: Sequence[str]) -> str:
    """The task that these are on several maps."""
    return task_and_map(names[0])[0]


def sub_optimal(method: str, tasks: Sequence[str]) -> Rule:
    """The method succeeds, and is longer than the optimum; where that is not known, some other ends shorter."""

    def longer_than_optimum(e: Evidence, preset: str, task: str) -> Check | None:
        one = e.curve(task, method, preset)
        if one is None:
            return None
        if one.optimum is not None:
            last = float(spread(one.final).median)
            said = f"{task}: {method} ends with median length {_length(last)}, optimum {one.optimum:g}"
            if by_networks(task) and not _succeeds(one):
                return Check(False if one.ends_last >= LIMIT else None, said)
            if by_networks(task) and one.ends_last < ENOUGH:
                return Check(None, f"{said} (fewer than {ENOUGH:,} steps decide nothing)")
            return Check(one.optimum < last < NEVER, said)
        rivals = [(key[1], key[2], curve) for key, curve in e.curves.items() if key[0] == task and key[1] != method]
        return _longer(one, rivals) if rivals else None

    return each(method, tasks, longer_than_optimum)


def _longer(one: Curve, rivals: Sequence[tuple[str, str, Curve]]) -> Check:
    """Whether some rival ends shorter than a method that succeeds, at the last step that both took."""
    chances = [(improvement_interval([-x], [-y]), name, under, x, y, end)
               for name, under, curve in rivals for x, y, end in [_ends(curve, one)]]  # fmt: skip
    best, rival, under, x, y, end = max(chances, key=lambda each: (each[0].low, each[0].value))
    against = f"{rival} ({under}) {_spread(x)} against {_spread(y)} at {end:,}; chance of shorter {_chance(best)}"
    text = f"{one.task}: {one.name} {_solved(one)}; the best other: {against}"
    if not _succeeds(one):
        return Check(False if one.ends_last >= LIMIT else None, text)
    return _judged([best], one.ends_last, text)


def succeeds(method: str, tasks: Sequence[str]) -> Rule:
    """More than half of the seeds end with success."""

    def succeeded(e: Evidence, preset: str, task: str) -> Check | None:
        curve = e.curve(task, method, preset)
        if curve is None:
            return None
        good = _succeeds(curve)
        # Too few steps show nothing against a method that had no time.
        return Check(good if good or curve.ends_last >= LIMIT else None, f"{task}: {method} {_solved(curve)}")

    return each(method, tasks, succeeded)


def fails(method: str, tasks: Sequence[str]) -> Rule:
    """Half of the seeds or more end without success, after the paper's steps or where another method succeeds."""

    def failed(e: Evidence, preset: str, task: str) -> Check | None:
        curve = e.curve(task, method, preset)
        if curve is None:
            return None
        text = f"{task}: {method} {_solved(curve)}"
        if _succeeds(curve):
            return Check(False, text)
        end = curve.ends_last
        others = [other for key, other in e.curves.items() if key[0] == task and key[1] != method]
        solved = any(_succeeds(_until(other, end)) for other in others if other.steps[0] <= end)
        return Check(True if solved or end >= LIMIT else None, text + ("" if solved else "; no other succeeds either"))

    return each(method, tasks, failed)


def only(method: str, others: Sequence[str], tasks: Sequence[str]) -> Rule:
    """More than half of the seeds of one method end with success, and of no other: one that does is enough against it."""

    def succeeded_alone(e: Evidence, preset: str, task: str) -> Check | None:
        one = e.curve(task, method, preset)
        rivals = {name: curve for name in others if (curve := e.curve(task, name, preset)) is not None}
        if one is None and not rivals:
            return None
        shown = {**({} if one is None else {method: one}), **rivals}
        text = f"{task}: " + ", ".join(f"{name} {_solved(curve)}" for name, curve in shown.items())
        if any(_succeeds(curve) for curve in rivals.values()):
            return Check(False, text)
        complete = len(rivals) == len(others) and min(curve.ends_last for curve in rivals.values()) >= LIMIT
        if one is None or not complete:
            return Check(None, f"{text}; too little was run to tell")
        return Check(_succeeds(one), text)

    return each(method, tasks, succeeded_alone)


# Rules about time, memory and exact computations.


def grows(methods: Sequence[str], kind: str, families: Sequence[str]) -> Rule:
    """The seconds per million steps grow by this law (flat, linear or exponential) with the number of subtasks."""

    def rule(e: Evidence, under: str) -> list[Check]:
        return [_growth(e, family, method, under, kind) for family in families for method in methods]

    return rule


def _growth(e: Evidence, family: str, method: str, under: str, kind: str) -> Check:
    sizes, seconds = e.runtimes(family, method, under)
    law, wanted = e.growth(family, method, under), 2 if kind == "flat" else 4
    if len(sizes) < wanted:
        return Check(None, f"{family}, {method}: not measured on {wanted} sizes")
    times = ", ".join(f"{n}: {t:,.0f}" if t >= 100 else f"{n}: {t:.3g}" for n, t in zip(sizes, seconds, strict=True))
    if kind == "flat":
        ratio = seconds[-1] / seconds[0]
        return Check(ratio <= FLAT, f"{family}, {method}: {ratio:.2f} times from {sizes[0]} to {sizes[-1]} ({times})")
    said = f"{family}, {method}: {law[0].words if law else ''} ({times})"
    return Check(law is not None and law[0].kind == kind, said)


def exceeds_hours(methods: Sequence[str], hours: float) -> Rule:
    """A million steps with eight boxes take longer; where that was not run, in proportion to the states."""

    def rule(e: Evidence, preset: str) -> list[Check]:
        checks = []
        for method in methods:
            measured = {n: t for n in range(2, 9) if (t := e.runtime(f"delivery-{n}", method, preset)) is not None}
            if not measured:
                checks.append(Check(None, f"{method}: not run"))
                continue
            largest = max(measured)
            states = [size(load(f"delivery-{n}").machine).boolean for n in (largest, 8)]
            # The Boolean learners update every machine state in each step, so a step's time grows with the states.
            took = measured[largest] * states[1] / states[0] / 3600
            how = "measured" if largest == 8 else f"from {largest} boxes, in proportion to the states"
            checks.append(Check(took > hours, f"delivery-8, {method}: {took:.2g} hours a seed ({how})"))
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
        said = [f"{task}: optimum {x.optimum:g}, one policy per subtask {_length(x.length)}" for task, x in known]
        return [Check(all(x.length == x.optimum for _, x in known), "; ".join(said))]

    return rule


# What the rules share.


def progress(curve: Curve, reference: float, until: float) -> Floats:
    """[K] the mean success of each seed over the steps up to `until`; every evaluation counts for the steps before it."""
    inside = curve.steps <= until
    if not inside.any():
        return np.zeros(curve.seeds)
    # Steps between evaluations as shares of all: often evaluated stretches do not count more than others.
    weights = np.diff(np.concatenate([[0], curve.steps[inside]])) / curve.steps[inside][-1]
    mean: Floats = (reference / curve.lengths[:, inside]) @ weights
    return mean


def _progresses(
    e: Evidence, names: Sequence[str], first: str, second: str, preset: str, within: int
) -> list[tuple[str, Floats, Floats, int]]:
    """For each map that both were run on, long enough to tell: the progress of both and the last step that counts.

    Where no map has enough common steps, the longest one is given, so that the reader learns how far it came.
    """
    pairs = []
    for task in names:
        a, b, shortest = e.curve(task, first, preset), e.curve(task, second, preset), e.shortest(task)
        if a is not None and b is not None:
            end = min(within, a.ends_last, b.ends_last)
            reference = shortest if shortest < NEVER else 1.0
            pairs.append((task, progress(a, reference, end), progress(b, reference, end), end))
    return [pair for pair in pairs if pair[3] >= ENOUGH] or sorted(pairs, key=lambda pair: -pair[3])[:1]


def _judged(chances: Sequence[Interval], end: int, text: str) -> Check:
    """Whether all chances are above a half, interval and all; undecided where none is below it either."""
    if end < ENOUGH:
        return Check(None, f"{text} (fewer than {ENOUGH:,} steps decide nothing)")
    if all(chance.low > 0.5 for chance in chances):
        return Check(True, text)
    return Check(False, text) if any(chance.high < 0.5 for chance in chances) else Check(None, text, undecided=True)


def _until(curve: Curve, end: int) -> Curve:
    inside = curve.steps <= end
    return replace(
        curve, steps=curve.steps[inside], lengths=curve.lengths[:, inside], ends=tuple(min(e, end) for e in curve.ends)
    )


def _ends(a: Curve, b: Curve) -> tuple[Floats, Floats, int]:
    """The lengths of both at the last step that both took, and that step.

    A method that is evaluated at its end only may have had no run so short: then its shortest run counts, to its advantage.
    """
    end = min(a.ends_last, b.ends_last)
    x, y = (_at(curve, end) for curve in (a, b))
    return x, y, end


def _at(curve: Curve, end: int) -> Floats:
    index = int(np.searchsorted(curve.steps, end, side="right")) - 1
    if index < 0 and not curve.evaluated_at_end:
        return np.full(curve.seeds, np.inf)
    lengths: Floats = curve.lengths[:, max(index, 0)]
    return lengths


def _succeeds(curve: Curve) -> bool:
    """Whether more than half of the seeds end with success."""
    return bool(np.isfinite(spread(curve.final).median))


def _chance(chance: Interval) -> str:
    return f"{chance.value:.2f} [{chance.low:.2f}, {chance.high:.2f}]"


def _spread(lengths: Floats) -> str:
    good = int(np.isfinite(lengths).sum())
    return f"{_length(float(spread(lengths).median))} ({good} of {len(lengths)} solved)"


def _solved(curve: Curve) -> str:
    return f"{_spread(curve.final)} at {curve.ends_last:,}"


def _length(value: float | None) -> str:
    return "none" if value is None else "failure" if value == NEVER else f"{value:g}"
