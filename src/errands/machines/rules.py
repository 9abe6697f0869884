"""Rules between subtasks: which come before which, how many are enough, how many parts may be begun at once.

The paper leaves ordered subtasks inside a numeric variable to future work. Here a subtask is *open* when it remains,
nothing that comes before it remains, and its part may be begun; an agenda state stays (numeric state, what remains).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from errands.errors import SpecError

Pair = tuple[int, int]
MAX_NAMES = 6
MAX_GROUPS = 128
MAX_PAIRS = 100_000


@dataclass(frozen=True)
class Group:
    """Parts of a task, each a set of subtasks, with a number: how many are enough, or may be begun at once."""

    number: int
    parts: tuple[tuple[int, ...], ...]
    """Positions in the machine's subtasks, part by part."""

    @property
    def members(self) -> frozenset[int]:
        """The subtasks of all parts."""
        return frozenset(i for part in self.parts for i in part)


@dataclass(frozen=True)
class Rules:
    """What decides, besides what remains, which subtasks are open; all by position in the machine's subtasks.

    Without rules every remaining subtask is open: the paper's machines.
    """

    before: tuple[Pair, ...] = ()
    """(i, j): j opens when i no longer remains."""
    apart: tuple[Pair, ...] = ()
    """(i, j): j opens when i no longer remains and, in a later step, the feature of i has been false: a new visit."""
    choices: tuple[Group, ...] = ()
    """Once so many parts are done, the other parts no longer remain; an inner choice stands before an outer one."""
    capacities: tuple[Group, ...] = ()
    """At most so many parts are begun and not done at any time; one_at_a_time is a capacity of 1."""

    def __bool__(self) -> bool:
        return bool(self.before or self.apart or self.choices or self.capacities)

    def shifted(self, by: int) -> Rules:
        """The same rules for subtasks that stand further down a list."""

        def pairs(given: tuple[Pair, ...]) -> tuple[Pair, ...]:
            return tuple((i + by, j + by) for i, j in given)

        def groups(given: tuple[Group, ...]) -> tuple[Group, ...]:
            return tuple(Group(g.number, tuple(tuple(i + by for i in part) for part in g.parts)) for g in given)

        return Rules(pairs(self.before), pairs(self.apart), groups(self.choices), groups(self.capacities))

    def joined(self, other: Rules) -> Rules:
        """Both sets of rules."""
        parts = (getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        return Rules(*parts)

    def circle(self, count: int) -> list[int]:
        """The subtasks that wait for themselves, directly or not, with those between; empty where there is no circle."""
        after: list[list[int]] = [[] for _ in range(count)]
        waits = [0] * count
        for i, j in (*self.before, *self.apart):
            after[i].append(j)
            waits[j] += 1
        free = [i for i in range(count) if not waits[i]]
        for i in free:  # grows while it is read: whatever no longer waits for anything
            for j in after[i]:
                waits[j] -= 1
                if not waits[j]:
                    free.append(j)
        return sorted(set(range(count)) - set(free))

    def precedes(self, first: int, second: int) -> bool:
        """Whether the second can be open only after the first is done."""
        seen, stack = {second}, [second]
        while stack:
            here = stack.pop()
            fresh = {i for i, j in (*self.before, *self.apart) if j == here} - seen
            seen |= fresh
            stack += fresh
        return first in seen and first != second


NO_RULES = Rules()


def reference_names(subtasks: Sequence[str]) -> tuple[str, ...]:
    """How task files call subtasks: by name, and `a#2`, `a#3` where a name comes again."""
    seen: dict[str, int] = {}
    names = []
    for name in subtasks:
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(names)


def read_rules(
    subtasks: Sequence[str],
    before: Iterable[Sequence[str]] = (),
    apart: Iterable[Sequence[str]] = (),
    choose: Iterable[tuple[int, Sequence[Sequence[str]]]] = (),
    capacity: Iterable[tuple[int, Sequence[Sequence[str]]]] = (),
) -> Rules:
    """Rules written with the names of subtasks; a SpecError with every unknown name."""
    index = {name: i for i, name in enumerate(reference_names(subtasks))}
    problems: dict[str, None] = {}

    def at(name: str, where: str) -> int:
        if name not in index:
            problems[f"{where} names '{name[:40]}', which is not a subtask; subtasks are {_shown(index)}"] = None
        return index.get(name, 0)

    def pairs(given: Iterable[Sequence[str]], where: str) -> tuple[Pair, ...]:
        read = []
        for pair in given:
            if len(pair) != 2:
                problems[f"{where} holds pairs of subtasks, [first, second]; {len(pair)} names came"] = None
                continue
            read.append((at(pair[0], where), at(pair[1], where)))
        return tuple(read)

    def groups(given: Iterable[tuple[int, Sequence[Sequence[str]]]], where: str) -> tuple[Group, ...]:
        return tuple(Group(n, tuple(tuple(at(name, where) for name in part) for part in parts)) for n, parts in given)

    rules = Rules(
        pairs(before, "before"), pairs(apart, "apart"), groups(choose, "choose"), groups(capacity, "capacity")
    )
    if problems:
        raise SpecError("; ".join(problems), list(problems))
    return rules


def write_rules(subtasks: Sequence[str], rules: Rules) -> dict[str, object]:
    """The keys of a task file that mean these rules; only those that say something."""
    names = reference_names(subtasks)

    def groups(given: tuple[Group, ...]) -> list[Mapping[str, object]]:
        return [{"number": g.number, "of": [[names[i] for i in part] for part in g.parts]} for g in given]

    written: dict[str, object] = {
        "before": [[names[i], names[j]] for i, j in rules.before],
        "apart": [[names[i], names[j]] for i, j in rules.apart],
        "choose": groups(rules.choices),
        "capacity": groups(rules.capacities),
    }
    return {key: value for key, value in written.items() if value}


def rule_sentences(subtasks: Sequence[str], rules: Rules) -> Iterator[str]:
    """The rules read aloud, a sentence for each kind."""
    names = reference_names(subtasks)

    def parts(group: Group) -> str:
        return _few([names[part[0]] if len(part) == 1 else f"({', '.join(names[i] for i in part)})" for part in group.parts])

    if rules.before:
        yield f"Order: {_few([f'{names[j]} after {names[i]}' for i, j in rules.before])}."
    if rules.apart:
        visits = [f"{names[j]} after {names[i]}, once {subtasks[i]} has been false" for i, j in rules.apart]
        yield f"Separate visits: {_few(visits, '; ')}."
    for group in rules.choices:
        yield f"Enough: {group.number} of {parts(group)}."
    for group in rules.capacities:
        yield f"At most {group.number} begun and not finished at a time: {parts(group)}."


def _few(words: list[str], between: str = ", ") -> str:
    return between.join(words if len(words) <= MAX_NAMES else [*words[:2], "...", words[-1]])


def rule_faults(subtasks: Sequence[str], numeric: Sequence[tuple[str, Sequence[str]]], rules: Rules) -> Iterator[str]:
    """What is wrong with rules, one sentence each."""
    if not rules:
        for variable, own in numeric:
            if len(set(own)) < len(own):
                yield f"the numeric feature '{variable}' names a subtask twice"
        return
    if len(rules.choices) + len(rules.capacities) > MAX_GROUPS or len(rules.before) + len(rules.apart) > MAX_PAIRS:
        yield f"a machine has at most {MAX_GROUPS} choices and capacities and {MAX_PAIRS:,} pairs of subtasks; split the task"
        return
    yield from _group_faults(rules)
    names, count = reference_names(subtasks), len(subtasks)
    if circle := rules.circle(count):
        yield f"before goes in a circle through {_few([names[i] for i in circle])}; take out one of its pairs"


def _group_faults(rules: Rules) -> Iterator[str]:
    for kind, groups in (("choose", rules.choices), ("capacity", rules.capacities)):
        for group in groups:
            every = [i for part in group.parts for i in part]
            if not group.parts or not all(group.parts) or len(set(every)) < len(every):
                yield f"{kind} needs parts that are not empty and have no subtask in common"
            elif kind == "choose" and not 1 <= group.number <= len(group.parts):
                yield f"choose={group.number} is out of range; it is between 1 and the number of parts, {len(group.parts)}"
            elif group.number < 1:
                yield f"capacity={group.number} is out of range; it is at least 1"
    for k, second in enumerate(rules.choices):
        for first in rules.choices[:k]:
            # Choices are closed in this order in one pass, so an inner one has to stand before the outer one.
            if first.members & second.members and not any(first.members <= set(part) for part in second.parts):
                yield "two choices overlap; one must lie inside a part of the other, the inner one first"


def _shown(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:12]) + (", ..." if len(listed) > 12 else "") or "none"
