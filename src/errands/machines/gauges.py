"""Gauges: numeric variables that are no list of subtasks, but "any discrete numeric information, such as distance to a goal
or resource usage" (Section 4). The world reports their values, or they count steps; like all numeric variables they only fall.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from errands.errors import SpecError
from errands.features import (
    FALSE,
    MAX_FEATURES,
    TRUE,
    Boolean,
    Change,
    Guard,
    Numeric,
    atoms,
    conjunction,
    holds,
    is_name,
    mapped,
    negation,
    parse_guard,
    reading,
)

MAX_LEVELS = 20_000
"""Values of a gauge, or joint values of several."""
MAX_GAUGES = 6
"""Gauges of a machine: each asks for every guard three or four times as often, whatever its values are."""
Forced = tuple[tuple[str, bool], ...]
Way = tuple[int, Forced, Guard]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A whole number that falls from `start` to `bound` (the paper's w_l), where it stays.

    A step may carry a reading beside its features: `fuel=4` says that the number is 4 now, and a gauge stands at the least
    value read so far; `fuel-1` says that it fell by 1. With `each`, nothing is read: it falls by one in every step in
    which this guard holds.
    """

    name: str
    start: int
    bound: int = 0
    each: Guard | None = None

    def fall(self, value: int, true: Set[str]) -> int:
        """How far it falls from a value in a step with these features and readings."""
        if self.each is not None:
            return int(holds(self.each, true, {}))
        told = [(sign, number) for name, sign, number in filter(None, map(reading, true)) if name == self.name]
        return max(0, *(number if sign == "-" else value - number for sign, number in told), 0)

    def settings(self) -> dict[str, object]:
        """The table of a task file."""
        return {"from": self.start, "to": self.bound} | ({} if self.each is None else {"each": str(self.each)})


def read_gauge(name: str, spec: Mapping[str, object]) -> Gauge:
    """The gauge of a task file's table."""
    start, bound, each = spec.get("from"), spec.get("to", 0), spec.get("each")
    if set(spec) - {"from", "to", "each"} or type(start) is not int or type(bound) is not int:
        raise SpecError(f"the gauge '{name}' is {dict(spec)!r:.80}; write {{ from = 12, to = 0 }}")
    return Gauge(name, start, bound, None if each is None else parse_guard(str(each)))


def gauge_faults(gauges: Sequence[Gauge], taken: Set[str], guards: Iterable[Guard]) -> Iterator[str]:
    """What is wrong with gauges, one sentence each."""
    if len(gauges) > MAX_GAUGES:
        yield f"a machine has at most {MAX_GAUGES} gauges (numeric features, within, budget, at_most), and this has {len(gauges)}"
        return
    named = set(taken)
    for gauge in gauges:
        if not is_name(gauge.name) or gauge.name in named:
            yield f"'{gauge.name[:40]}' cannot name a gauge; use letters, digits and underscores, and a name of its own"
        named.add(gauge.name)
        if gauge.start <= gauge.bound:
            yield f"the gauge '{gauge.name}' goes from {gauge.start} to {gauge.bound}; it only falls, so from must be more than to"
        if gauge.each is not None and any(isinstance(a, Numeric) for a in atoms(gauge.each)):
            yield f"the gauge '{gauge.name}' falls by '{gauge.each}'; it takes Boolean features only"
    counting = {a.name for g in gauges if g.each is not None for a in atoms(g.each)}
    if counting and any(len(counting | {a.name for a in atoms(guard)}) > MAX_FEATURES for guard in guards):
        yield f"a guard and what gauges count mention more than {MAX_FEATURES} features together; use fewer"


class Levels:
    """The joint values of a machine's gauges, numbered: level 0 is that of the start, a fall leads to a higher number.

    A level is the sum of how far each gauge has fallen, times its stride. Sets of levels are the bits of one integer.
    """

    def __init__(self, gauges: Sequence[Gauge]) -> None:
        self.gauges = gauges
        self.heights = [g.start - g.bound for g in gauges]
        self.strides = [1]
        for height in self.heights:
            self.strides.append(self.strides[-1] * (height + 1))
        self.count = self.strides.pop()
        if self.count > MAX_LEVELS:
            raise SpecError(f"the gauges have {self.count:,} joint values, and {MAX_LEVELS:,} are unfolded; use larger units")
        self._ways: dict[int, list[Way]] = {}

    @cached_property
    def above(self) -> list[int]:
        """For each gauge the levels at which it is not at its bound."""
        sets = []
        for height, stride in zip(self.heights, self.strides, strict=True):
            block = (height + 1) * stride
            sets.append(sum(((1 << height * stride) - 1) << at for at in range(0, self.count, block)))
        return sets

    def values(self, level: int) -> tuple[int, ...]:
        """The value of each gauge."""
        axes = zip(self.gauges, self.heights, self.strides, strict=True)
        return tuple(gauge.start - level // stride % (height + 1) for gauge, height, stride in axes)

    def words(self, level: int) -> tuple[str, ...]:
        """The values as a label shows them."""
        return tuple(f"{gauge.name}={value}" for gauge, value in zip(self.gauges, self.values(level), strict=True))

    def read(self, level: int, true: Set[str]) -> tuple[int, Set[str]]:
        """The level after a step, and the features of the step with the gauges' own, `fuel↓` or `fuel⤓`."""
        told = set(true)
        for gauge, value, stride in zip(self.gauges, self.values(level), self.strides, strict=True):
            fall = min(gauge.fall(value, true), value - gauge.bound)
            level += fall * stride
            if value - fall == gauge.bound:
                told.add(f"{gauge.name}{Change.REACHED.value}")
            elif fall:
                told.add(f"{gauge.name}{Change.DECREASED.value}")
        return level, told

    def plain(self, guard: Guard) -> Guard:
        """The guard over the features that `read` adds: `fuel!` says that neither of them holds."""
        own = {gauge.name for gauge in self.gauges}

        def leaf(atom: Boolean | Numeric) -> Guard:
            if not isinstance(atom, Numeric) or atom.name not in own:
                return atom
            fallen = [Boolean(f"{atom.name}{c.value}") for c in (Change.DECREASED, Change.REACHED)]
            return conjunction(list(map(negation, fallen))) if atom.change is Change.UNCHANGED else Boolean(str(atom))

        return mapped(guard, leaf)

    def ways(self, levels: int) -> list[Way]:
        """What a step can do from a set of levels: the levels reached, what it makes of the gauges' features, and when."""
        if levels not in self._ways:
            found: list[Way] = [(levels, (), TRUE)]
            for g, (gauge, stride, above) in enumerate(zip(self.gauges, self.strides, self.above, strict=True)):
                found = [
                    (reached, told + self._told(g, change), conjunction([when, condition]))
                    for here, told, when in found
                    for reached, change, condition in _falls(gauge, here, stride, above)
                    if reached
                ]
            self._ways[levels] = [way for way in found if way[2] != FALSE]
        return self._ways[levels]

    def _told(self, g: int, change: Change) -> Forced:
        name = self.gauges[g].name
        return tuple((f"{name}{c.value}", c is change) for c in (Change.DECREASED, Change.REACHED))

    def standing(self, levels: int) -> Iterator[tuple[int, Forced]]:
        """A set of levels parted by which gauges are at their bounds, with what is known of their features there."""
        for at_bound in product((False, True), repeat=len(self.gauges)):
            here, told = levels, Forced()
            for g, (bound, above) in enumerate(zip(at_bound, self.above, strict=True)):
                here &= ~above if bound else above
                told += self._told(g, Change.REACHED) if bound else ()
            if here:
                yield here, told


def _falls(gauge: Gauge, levels: int, stride: int, above: int) -> Iterator[tuple[int, Change, Guard]]:
    """Where one gauge can be after a step, how its feature then reads, and what it counts that this asks for."""
    yield levels & ~above, Change.REACHED, TRUE
    yield levels & above, Change.UNCHANGED, TRUE if gauge.each is None else negation(gauge.each)
    ahead, reached = levels & above, 0
    while ahead:
        ahead <<= stride
        reached |= ahead
        ahead &= 0 if gauge.each is not None else above
    yield reached & above, Change.DECREASED, gauge.each or TRUE
    yield reached & ~above, Change.REACHED, gauge.each or TRUE


def bits_of(levels: int) -> Iterator[int]:
    """The numbers in a set of levels."""
    while levels:
        yield (levels & -levels).bit_length() - 1
        levels &= levels - 1
