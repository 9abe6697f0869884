"""Machines counted, not built: how many subtasks of each variable remain is all that sizes and conflicts depend on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from math import comb, perm, prod
from typing import NamedTuple

from errands.errors import SpecError
from errands.features import And, Change, Guard, atoms, negation, satisfying, substitute, truth_table
from errands.machines.numeric import Label, NumericRM, Transition
from errands.machines.stepping import State, Stepper, Values
from errands.tables import FAILURE, RUNNING

MAX_WORK = 100_000_000
MAX_COUNTS = 100_000
MAX_OPEN = 10
Counts = tuple[int, ...]
Word = tuple[int, ...]
Node = tuple[int, Counts]


@dataclass(frozen=True)
class Sizes:
    """The number of states of each machine, and of low-level policies that a coupled one needs."""

    boolean: int
    agenda: int
    coupled: int
    policies: int


class Quotient:
    """The machine with equal numbers of remaining subtasks taken as one: exact when subtasks are interchangeable."""

    def __init__(self, machine: NumericRM) -> None:
        self.stepper = Stepper(machine)
        self.total: Counts = tuple(len(names) for _, names in machine.numeric)
        start: Node = (self.stepper.start[0], self.total)
        self.nodes: dict[Node, int] = {start: 0}
        """Every node that can be reached, with its depth: that of all agenda states which it stands for."""
        queue = deque([start])
        while queue:
            if len(self.nodes) > MAX_COUNTS:
                raise SpecError(f"the numeric features have more than {MAX_COUNTS:,} joint values; use fewer at a time")
            node = queue.popleft()
            for _, target in self.ways(node):
                if target not in self.nodes:
                    self.nodes[target] = self.nodes[node] + 1
                    queue.append(target)

    def values(self, u: int, counts: Counts, completed: Word = ()) -> Values:
        """The values of the features that u mentions, given the counts after the step and the variables completed."""
        return tuple(
            Change.REACHED if not counts[v] else Change.DECREASED if v in completed else Change.UNCHANGED
            for v in self.stepper.mentioned[u]
        )

    def situations(self, node: Node) -> Iterator[tuple[Word, Counts]]:
        """What can happen to the counts in one step: at most one completion of each open variable, nothing first."""
        u, counts = node
        bits = self.stepper.variable_bits
        open_ = [v for v, left in enumerate(counts) if left and self.stepper.active[u] & bits[v]]
        if len(open_) > MAX_OPEN:
            raise SpecError(
                f"{len(open_)} numeric features can decrease in '{self.stepper.machine.states[u]}', and one step could "
                f"complete a subtask of each; at most {MAX_OPEN} are read; split the state"
            )
        for completed in chain.from_iterable(combinations(open_, k) for k in range(len(open_) + 1)):
            yield completed, tuple(left - (v in completed) for v, left in enumerate(counts))

    def ways(self, node: Node) -> Iterator[tuple[Word, Node]]:
        """Every next node with the variables completed, in declared order."""
        u, _ = node
        if self.stepper.status[u] != RUNNING:
            return
        for completed, after in self.situations(node):
            for chosen, _ in self.stepper.options(u, self.values(u, after, completed)):
                target = self.stepper.index[chosen.target] if chosen else u
                failed = self.stepper.status[target] == FAILURE
                yield completed, (target, tuple(0 for _ in after) if failed else after)

    def label(self, state: State, *objectives: str) -> Label:
        """The label of an agenda state, or of a coupled one when one objective is given; no machine is built."""
        u, mask = state
        counts = tuple((mask & bits).bit_count() for bits in self.stepper.variable_bits)
        return Label(self.nodes[(u, counts)], self.stepper.named(mask), objectives or self.stepper.shown(state))

    @cached_property
    def objectives(self) -> tuple[str, ...]:
        """U': all subtasks, then the Boolean objectives in the order in which they come up."""
        found = dict.fromkeys(self.stepper.machine.subtasks)
        for u, counts in self.nodes:
            if self.stepper.status[u] == RUNNING:
                found.update(dict.fromkeys(self.stepper.boolean_objectives(u, self.values(u, counts))))
        return tuple(found)


def objectives(machine: NumericRM) -> tuple[str, ...]:
    """U' of the paper: everything that a low-level policy is learnt for."""
    return Quotient(machine).objectives


def size(machine: NumericRM) -> Sizes:
    """The sizes of all machines that this one unfolds to, without building any."""
    quotient = Quotient(machine)
    stepper = quotient.stepper
    if not stepper.symmetric:
        return _size_by_walking(machine)
    agenda = coupled = 0
    for u, counts in quotient.nodes:
        ways = prod(comb(n, k) for n, k in zip(quotient.total, counts, strict=True))
        ways = 1 if stepper.status[u] == FAILURE else ways
        boolean = stepper.boolean_objectives(u, quotient.values(u, counts)) if stepper.status[u] == RUNNING else ()
        open_ = sum(k for v, k in enumerate(counts) if stepper.active[u] & stepper.variable_bits[v])
        agenda += ways
        coupled += ways * max(1, (open_ if stepper.status[u] == RUNNING else 0) + len(boolean))
    return Sizes(_orders(quotient), agenda, coupled, len(quotient.objectives))


def still_to_come(machine: NumericRM) -> int | None:
    """Running agenda states with a running one that can follow, itself included: pairs, counted and not listed.

    None where subtasks are not interchangeable or there are too many counts; the world's labels can only make it less.
    """
    quotient = Quotient(machine)
    running = [node for node in quotient.nodes if quotient.stepper.status[node[0]] == RUNNING]
    if not quotient.stepper.symmetric or len(running) ** 2 > MAX_COUNTS:
        return None

    def ways(larger: Counts, smaller: Counts) -> int:
        return prod(comb(n, k) for n, k in zip(larger, smaller, strict=True))

    pairs = 0
    for node in running:
        seen, stack = {node}, [node]
        while stack:
            for _, target in quotient.ways(stack.pop()):
                if target not in seen and quotient.stepper.status[target[0]] == RUNNING:
                    seen.add(target)
                    stack.append(target)
        pairs += ways(quotient.total, node[1]) * sum(ways(node[1], counts) for _, counts in seen)
    return pairs


def _orders(quotient: Quotient) -> int:
    """The number of (numeric state, completion order) pairs: a subset construction over words of variables.

    A step that completes a subtask of each of several variables spells several letters: its target waits with the
    letters still to come, and counts once there are none.
    """
    stepper = quotient.stepper
    failures = {node for node in quotient.nodes if stepper.status[node[0]] == FAILURE}

    def closure(members: set[tuple[Node, Word]]) -> frozenset[tuple[Node, Word]]:
        stack = [node for node, rest in members if not rest]
        while stack:
            for word, target in quotient.ways(stack.pop()):
                if not word and (target, ()) not in members and target not in failures:
                    members.add((target, ()))
                    stack.append(target)
        return frozenset(members)

    layer = {closure({(next(iter(quotient.nodes)), ())}): 1}
    total = len(failures)
    while layer:
        following: dict[frozenset[tuple[Node, Word]], int] = {}
        for members, words in layer.items():
            here = [node for node, rest in members if not rest]
            if here:
                orders = prod(perm(n, n - k) for n, k in zip(quotient.total, here[0][1], strict=True))
                total += words * orders * len(here)
            spelt = [(rest, node) for node, rest in members if rest]
            spelt += [(word, t) for m in here for word, t in quotient.ways(m) if word and t not in failures]
            for v in range(len(quotient.total)):
                targets = {(target, word[1:]) for word, target in spelt if word[0] == v}
                if targets:
                    key = closure(targets)
                    following[key] = following.get(key, 0) + words
        layer = following
    return total


def _size_by_walking(machine: NumericRM) -> Sizes:
    """The sizes of a machine whose guards tell its subtasks apart: counted by walking, within the budget."""
    from errands.machines.agenda import unfold_agenda
    from errands.machines.boolean import unfold_boolean
    from errands.machines.coupled import couple

    agenda = unfold_agenda(machine)
    coupled = couple(agenda)
    return Sizes(len(unfold_boolean(machine)), len(agenda), len(coupled), len(coupled.objectives))


class Overlap(NamedTuple):
    """Two transitions out of one state that fire together, and the features that show it."""

    first: Transition
    second: Transition
    features: tuple[str, ...]

    @property
    def agree(self) -> bool:
        """Whether it does not matter which of the two is taken."""
        return (self.first.target, self.first.reward) == (self.second.target, self.second.reward)


def overlaps(machine: NumericRM) -> Iterator[Overlap]:
    """Every pair of transitions that can fire together in a state that can be reached, once."""
    quotient = Quotient(machine)
    stepper = quotient.stepper
    seen: set[tuple[int, Values]] = set()
    told: set[tuple[int, int]] = set()
    work = 0
    for node in quotient.nodes:
        u = node[0]
        situations = quotient.situations(node) if stepper.status[u] == RUNNING else ()
        for values in {quotient.values(u, after, completed): None for completed, after in situations}:
            if (u, values) in seen:
                continue
            seen.add((u, values))
            for (t1, g1), (t2, g2) in combinations([(t, g) for t, g in stepper.options(u, values) if t], 2):
                if (id(t1), id(t2)) in told or apart(g1, g2):
                    continue
                work += _work(g1) + _work(g2)
                if work > MAX_WORK:
                    raise SpecError(
                        "the guards out of one state are too many and too long to be compared; split the state"
                    )
                if (witness := together(g1, g2)) is not None:
                    told.add((id(t1), id(t2)))
                    changes = zip(stepper.mentioned[u], values, strict=True)
                    yield Overlap(t1, t2, (*sorted(witness), *(stepper.variables[m] + c.value for m, c in changes)))


def conflicts(machine: NumericRM) -> Iterator[str]:
    """Non-determinism, one sentence for each pair of transitions that fire together and disagree."""
    for pair in overlaps(machine):
        if not pair.agree:
            both = f"'{pair.first}' and '{pair.second}' both fire on {{{', '.join(pair.features)}}}"
            yield f"{both} and disagree; make their guards exclude each other"


def apart(first: Guard, second: Guard) -> bool:
    """Whether two guards exclude each other at a glance: a part of one is the negation of a part of the other."""
    ours, theirs = (set(g.parts) if isinstance(g, And) else {g} for g in (first, second))
    return any(negation(part) in theirs for part in ours)


def _work(guard: Guard) -> int:
    found = [a.name for a in atoms(guard)]
    return (len(found) << len(set(found))) >> 6


def together(first: Guard, second: Guard) -> frozenset[str] | None:
    """Boolean features that make both guards true, or None: each guard is projected onto the features they share."""
    names = [{a.name for a in atoms(g)} for g in (first, second)]
    shared = sorted(names[0] & names[1])
    table = -1
    for guard, mentioned in zip((first, second), names, strict=True):
        projected = truth_table(guard, shared + sorted(mentioned - set(shared)))
        for free in reversed(range(len(shared), len(mentioned))):
            projected = (projected | projected >> (1 << free)) & ((1 << (1 << free)) - 1)
        table &= projected
    if not table:
        return None
    row = (table & -table).bit_length() - 1
    given = {n: bool(row >> i & 1) for i, n in enumerate(shared)}
    found = [satisfying(substitute(g, given, {})) or frozenset() for g in (first, second)]
    return found[0] | found[1] | {n for n, true in given.items() if true}
