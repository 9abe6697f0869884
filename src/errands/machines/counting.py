"""Machines counted, not built: how many subtasks of each variable remain is all that sizes and conflicts depend on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, product
from math import comb, perm, prod
from typing import NamedTuple, TypeVar

from errands.errors import SpecError, TaskError
from errands.features import (
    MAX_WORK,
    And,
    Change,
    Guard,
    atoms,
    conjunction,
    negation,
    said_plainly,
    satisfiable,
    satisfying,
    substitute,
    table_words,
    truth_table,
)
from errands.machines.gauges import Forced
from errands.machines.numeric import Label, NumericRM, Transition
from errands.machines.rules import Rules
from errands.machines.stepping import State, Stepper, Values
from errands.tables import FAILURE, RUNNING

MAX_COUNTS = 100_000
MAX_OPEN = 10
MAX_WALKED = 300_000
"""Agenda states that are walked where they cannot be counted."""
Counts = tuple[int, ...]
Word = tuple[int, ...]
Node = tuple[int, Counts]
Place = TypeVar("Place", bound=Hashable)


@dataclass(frozen=True)
class Sizes:
    """The number of states of each machine, and of low-level policies that a coupled one needs.

    >>> import errands
    >>> errands.size(errands.load("delivery-12").machine).boolean
    2604122689
    """

    boolean: int
    agenda: int
    coupled: int
    policies: int


class Reading(NamedTuple):
    """What the guards of a numeric state are read with."""

    u: int
    values: Values
    told: Forced
    """What gauges do."""
    when: Guard
    """What they count."""


# A node is (numeric state, how many subtasks of each variable are still to be done). Which ones does not matter while
# subtasks are interchangeable: one node stands for binomially many agenda states, all at the same depth.
class Quotient:
    """The machine with equal numbers of remaining subtasks taken as one: exact when subtasks are interchangeable."""

    def __init__(self, machine: NumericRM) -> None:
        self.stepper = Stepper(machine)
        self.slack = tuple(_slack(machine.rules, bits) for bits in self.stepper.variable_bits)
        """How many subtasks of each variable may be left out: those of a choice among all of its subtasks."""
        self.total: Counts = tuple(
            len(names) - slack for (_, names), slack in zip(machine.numeric, self.slack, strict=True)
        )
        self._targets: dict[tuple[Hashable, ...], list[int]] = {}
        self._labelled: dict[State, tuple[int, tuple[str, ...]]] = {}
        start: Node = (self.stepper.start[0], self.total)
        self.nodes: dict[Node, int] = {start: 0}
        """Every node that can be reached, with its depth: that of all agenda states which it stands for."""
        self.reached: dict[Node, list[tuple[int, int]]] = {start: [(0, 1)]}
        """The levels of the gauges that each can be at, by depth; all of them together are in `levels`."""
        self.levels: dict[Node, int] = {start: 1}
        layer, depth = {start: 1}, 0
        while layer:
            following: dict[Node, int] = defaultdict(int)
            depth += 1
            for node, levels in layer.items():
                if len(self.nodes) > MAX_COUNTS:
                    raise SpecError(f"the numeric features have more than {MAX_COUNTS:,} joint values; use fewer at a time")
                for _, target, to in self.ways(node, levels):
                    if fresh := to & ~self.levels.get(target, 0):
                        following[target] |= fresh
                        self.nodes.setdefault(target, depth)
            for target, fresh in following.items():
                self.reached.setdefault(target, []).append((depth, fresh))
                self.levels[target] = self.levels.get(target, 0) | fresh
            layer = following

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
            if not self.leaps or not completed:
                after = list(counts)
                for v in completed:
                    after[v] -= 1
                yield completed, tuple(after)
                continue
            # A choice that is not one among all subtasks of a variable closes any number of them, of any variable.
            ranges = (range(left + (v not in completed)) for v, left in enumerate(counts))
            yield from ((completed, left) for left in product(*ranges))

    @cached_property
    def leaps(self) -> bool:
        """Whether counts can fall by more than one in a step."""
        return len(self.stepper.machine.rules.choices) > sum(slack > 0 for slack in self.slack)

    def ways(self, node: Node, levels: int = 1) -> Iterator[tuple[Word, Node, int]]:
        """Every next node with the variables completed, in declared order, and the levels of the gauges that it can be at."""
        u, _ = node
        if self.stepper.status[u] != RUNNING:
            return
        for (completed, after), (to, told, when) in product(self.situations(node), self.stepper.levels.ways(levels)):
            # Targets depend on which counts are 0, not on the others: few questions, asked for every node.
            key = (u, completed, tuple(map(bool, after)), told, when)
            if key not in self._targets:
                options = self.stepper.options(u, self.values(u, after, completed), told, when)
                self._targets[key] = [self.stepper.lands(u, chosen, 0) for chosen, _ in options]
            for target in self._targets[key]:
                failed = self.stepper.status[target] == FAILURE
                yield completed, (target, tuple(0 for _ in after) if failed else after), 1 if failed else to

    def readings(self) -> Iterator[Reading]:
        """What the guards of each numeric state can be read with, each once: arguments of `Stepper.options`."""
        met: set[Reading] = set()
        for node in self.nodes:
            u = node[0]
            situations = self.situations(node) if self.stepper.status[u] == RUNNING else ()
            for (completed, after), (_, told, when) in product(situations, self.stepper.levels.ways(self.levels[node])):
                reading = Reading(u, self.values(u, after, completed), told, when)
                if reading not in met:
                    met.add(reading)
                    yield reading

    def places(self) -> Iterator[tuple[int, Counts, int]]:
        """The nodes by which gauges are at their bounds: a numeric state, the counts, how many levels they stand for."""
        for (u, counts), levels in self.levels.items():
            for here, _ in self.stepper.levels.standing(levels):
                yield u + (here.bit_length() - 1) * self.stepper.base, counts, here.bit_count()

    def label(self, state: State, *objectives: str) -> Label:
        """The label of an agenda state, or of a coupled one when one objective is given; no machine is built."""
        # An agenda state has as many labels as objectives, which share all but the last part.
        if state not in self._labelled:
            self._labelled[state] = (self._depth(state), self.stepper.remaining(state))
        return Label(*self._labelled[state], objectives or self.stepper.label_objectives(state))

    def _depth(self, state: State) -> int:
        u, mask = state
        depth = self.depths.get(state)
        if depth is None:
            left = ((mask & bits).bit_count() for bits in self.stepper.variable_bits)
            # A choice is closed when only `slack` subtasks are left, and these go as well: 0 to do is the bound.
            counts = tuple(max(0, k - slack) for k, slack in zip(left, self.slack, strict=True))
            level, base = divmod(u, self.stepper.base)
            depth = next(depth for depth, levels in self.reached[base, counts] if levels >> level & 1)
        return depth

    @cached_property
    def depths(self) -> dict[State, int]:
        """The depth of each agenda state where rules make counting too coarse and there are few enough to walk them."""
        from errands.machines.unfolding import unfold_agenda

        machine = self.stepper.machine
        counts = {atom.name for gauge in machine.gauges if gauge.each is not None for atom in atoms(gauge.each)}
        if not machine.rules.apart and not self.leaps and not counts & set(machine.counted):
            return {}
        try:
            agenda = unfold_agenda(machine, MAX_WALKED)
        except TaskError:
            return {}
        return dict(zip(agenda.states, agenda.depths, strict=True))

    @cached_property
    def objectives(self) -> tuple[str, ...]:
        """U': all subtasks, then the Boolean objectives in the order in which they come up."""
        names = dict.fromkeys(self.stepper.machine.subtasks)
        for u, counts, _ in self.places():
            if self.stepper.status[u] == RUNNING:
                names.update(dict.fromkeys(self.stepper.boolean_objectives(u, self.values(u, counts))))
        return tuple(names)


def objectives(machine: NumericRM) -> tuple[str, ...]:
    """U' of the paper: everything that a low-level policy is learnt for."""
    return Quotient(machine).objectives


def size(machine: NumericRM) -> Sizes:
    """The sizes of all machines that this one unfolds to, without building any.

    Parameters:
        machine: the numeric machine that would be unfolded.

    >>> import errands
    >>> size(errands.load("delivery-2").machine)
    Sizes(boolean=9, agenda=7, coupled=8, policies=3)
    """
    return predicted(machine) or _size_by_walking(machine)


def predicted(machine: NumericRM) -> Sizes | None:
    """The sizes in closed form, whatever they are; None where states would have to be walked to be counted."""
    quotient = Quotient(machine)
    stepper = quotient.stepper
    counted = _counted_apart(quotient)
    if counted is None:
        return None
    agenda = coupled = 0
    for u, counts, levels in quotient.places():
        if stepper.status[u] != RUNNING:
            ends = 1 if stepper.status[u] == FAILURE else levels * prod(c.masks[k] for c, k in zip(counted, counts, strict=True))
            agenda, coupled = agenda + ends, coupled + ends
            continue
        ways = levels * prod(c.masks[k] for c, k in zip(counted, counts, strict=True))
        boolean = len(stepper.boolean_objectives(u, quotient.values(u, counts)))
        open_ = sum(
            c.open[k] * (ways // c.masks[k])
            for v, (c, k) in enumerate(zip(counted, counts, strict=True))
            if stepper.active[u] & stepper.variable_bits[v]
        )
        agenda += ways
        # An agenda state without any objective still is one coupled state.
        coupled += max(ways, open_ + ways * boolean)
    return Sizes(_orders(quotient, counted), agenda, coupled, len(quotient.objectives))


def reachable_pairs(machine: NumericRM) -> int | None:
    """Running agenda states with a running one that can follow, itself included: pairs, counted and not listed.

    None where subtasks are not interchangeable or there are too many counts; the world's labels can only make it less.
    """
    quotient = Quotient(machine)
    running = [node for node in quotient.nodes if quotient.stepper.status[node[0]] == RUNNING]
    if not quotient.stepper.symmetric or machine.gauges or len(running) ** 2 > MAX_COUNTS:
        return None

    def ways(larger: Counts, smaller: Counts) -> int:
        return prod(comb(n, k) for n, k in zip(larger, smaller, strict=True))

    pairs = 0
    for node in running:
        seen, stack = {node}, [node]
        while stack:
            for _, target, _ in quotient.ways(stack.pop()):
                if target not in seen and quotient.stepper.status[target[0]] == RUNNING:
                    seen.add(target)
                    stack.append(target)
        # Agenda states of this node, times the subsets of what remains there that the later nodes stand for.
        pairs += ways(quotient.total, node[1]) * sum(ways(node[1], counts) for _, counts in seen)
    return pairs


class Counted(NamedTuple):
    """A numeric variable counted by how many of its subtasks are still to be done."""

    masks: list[int]
    """The sets that can remain."""
    open: list[int]
    """The open subtasks of all these sets together; at least one for each set while something is to be done."""
    orders: list[int]
    """The orders in which what is no longer to be done can have been completed."""


def _counted_apart(quotient: Quotient) -> list[Counted] | None:
    """Every variable counted by itself; None where guards or rules tie them together too closely for that.

    Exact where guards look at no subtask, open subtasks share no feature, and all rules are predecessors within a
    variable or a choice among all of its subtasks.
    """
    stepper, rules = quotient.stepper, quotient.stepper.machine.rules
    if not rules:
        return [_unordered(n) for n in quotient.total] if stepper.symmetric else None
    names = stepper.machine.counted
    if rules.apart or rules.capacities or quotient.leaps or any(stepper.looked_at) or len(set(names)) < len(names):
        return None
    if any((bits >> i ^ bits >> j) & 1 for bits in stepper.variable_bits for i, j in rules.before):
        return None
    variables = [_ordered(stepper, bits, slack) for bits, slack in zip(stepper.variable_bits, quotient.slack, strict=True)]
    return [counted for counted in variables if counted is not None] if None not in variables else None


def _unordered(count: int) -> Counted:
    left = range(count + 1)
    return Counted(
        [comb(count, k) for k in left], [comb(count, k) * k for k in left], [perm(count, count - k) for k in left]
    )


def _ordered(stepper: Stepper, bits: int, slack: int) -> Counted | None:
    """Subtasks with predecessors: independent components are counted apart and put together.

    Sets multiply; open subtasks obey the product rule; orders of two components interleave in binomially many ways.
    """
    whole = Counted([1], [0], [1])
    for component in _components(stepper, bits):
        counted = _component(stepper.order.before, component)
        if counted is None:
            return None
        masks, open_, orders = counted
        size, more = len(whole.masks) - 1, len(masks) - 1
        joined = Counted(*([0] * (size + more + 1) for _ in range(3)))
        for i, j in product(range(size + 1), range(more + 1)):
            joined.masks[i + j] += whole.masks[i] * masks[j]
            joined.open[i + j] += whole.open[i] * masks[j] + whole.masks[i] * open_[j]
            # i and j are what is left to do; the completed ones, size - i and more - j, interleave.
            joined.orders[i + j] += whole.orders[i] * orders[j] * comb(size + more - i - j, size - i)
        whole = joined
    if slack:
        # With `slack` left the choice is closed and nothing remains: one mask, whichever were left out. Orders still
        # tell them apart.
        return Counted([1, *whole.masks[slack + 1 :]], [0, *whole.open[slack + 1 :]], whole.orders[slack:])
    return whole


def _components(stepper: Stepper, bits: int) -> Iterator[int]:
    """The subtasks of a mask that predecessors tie together, as masks."""
    near: dict[int, list[int]] = {i: [] for i in stepper.order.bits_in(bits)}
    for i, j in stepper.machine.rules.before:
        if i in near and j in near:
            near[i].append(j)
            near[j].append(i)
    seen: set[int] = set()
    for i in near:
        if i not in seen:
            component = [i]
            seen.add(i)
            for here in component:
                fresh = [j for j in near[here] if j not in seen]
                seen.update(fresh)
                component += dict.fromkeys(fresh)
            yield sum(1 << k for k in component)


def _component(before: list[int], bits: int) -> Counted | None:
    """One component counted by walking the sets that can remain of it, largest first; None where they are too many."""
    size = bits.bit_count()
    counted = Counted([0] * (size + 1), [0] * (size + 1), [0] * (size + 1))
    # By the set that remains, the number of orders that lead to it; each round holds all sets of one size.
    layer = {bits: 1}
    for left in range(size, -1, -1):
        following: dict[int, int] = {}
        for mask, orders in layer.items():
            open_ = [i for i in range(mask.bit_length()) if mask >> i & 1 and not before[i] & mask]
            counted.masks[left] += 1
            counted.open[left] += len(open_)
            counted.orders[left] += orders
            for i in open_:
                rest = mask & ~(1 << i)
                following[rest] = following.get(rest, 0) + orders
        if len(following) > MAX_WALKED:
            return None
        layer = following
    return counted


def _orders(quotient: Quotient, counted: list[Counted]) -> int:
    """The number of (numeric state, completion order) pairs, letters being variables."""
    failures = {node for node in quotient.nodes if quotient.stepper.status[node[0]] == FAILURE}

    def ways(node: Node, levels: int) -> list[tuple[Word, Node, int]]:
        return [way for way in quotient.ways(node, levels) if way[1] not in failures]

    total = len(failures)
    for nodes, words in completion_words(next(iter(quotient.nodes)), ways):
        # All of them have the same counts, as they were reached by the same word.
        counts = next(iter(nodes))[1]
        orders = prod(c.orders[k] for c, k in zip(counted, counts, strict=True))
        total += words * sum(levels.bit_count() for levels in nodes.values()) * orders
    return total


def _size_by_walking(machine: NumericRM) -> Sizes:
    """The sizes of a machine whose guards or rules tell its subtasks apart: its agenda states are walked.

    Orders are counted as in `_orders`, letters being subtasks instead of variables.
    """
    from errands.machines.unfolding import unfold_agenda

    agenda = unfold_agenda(machine, MAX_WALKED)
    stepper = agenda.stepper
    ways: dict[State, list[tuple[Word, State, int]]] = {}
    for state in agenda.states:
        moves = ((stepper.order.bits_in(m.completed), m.target) for m in stepper.moves(state))
        ways[state] = [(w, t, 1) for w, t in dict.fromkeys(moves) if stepper.status[t[0]] != FAILURE]
    boolean = sum(stepper.status[u] == FAILURE for u, _ in agenda.states)
    boolean += sum(words * len(states) for states, words in completion_words(stepper.start, lambda state, _: ways[state]))
    coupled = sum(max(1, len(stepper.alternatives(state))) for state in agenda.states)
    return Sizes(boolean, len(agenda), coupled, len(objectives(machine)))


def completion_words(
    start: Place, ways: Callable[[Place, int], Iterable[tuple[Word, Place, int]]]
) -> Iterator[tuple[dict[Place, int], int]]:
    """The places that a word of completions can lead to, each a set of levels, with the number of words that lead to just these.

    A subset construction, one layer for each length of word. A step that completes several subtasks spells several
    letters: its target waits with the letters still to come, and is there once none are left.
    """


    def closure(members: dict[tuple[Place, Word], int]) -> frozenset[tuple[tuple[Place, Word], int]]:
        stack = [(place, levels) for (place, rest), levels in members.items() if not rest]
        while stack:
            for word, target, reached in ways(*stack.pop()):
                if not word and (fresh := reached & ~members.get((target, ()), 0)):
                    members[target, ()] = members.get((target, ()), 0) | fresh
                    stack.append((target, fresh))
        return frozenset(members.items())

    layer = {closure({(start, ()): 1}): 1}
    while layer:
        following: dict[frozenset[tuple[tuple[Place, Word], int]], int] = {}
        for members, words in layer.items():
            here = {place: levels for (place, rest), levels in members if not rest}
            if here:
                yield here, words
            ahead = [(rest, place, levels) for (place, rest), levels in members if rest]
            ahead += [way for place, levels in here.items() for way in ways(place, levels) if way[0]]
            by_letter: dict[int, dict[tuple[Place, Word], int]] = defaultdict(lambda: defaultdict(int))
            for word, target, levels in ahead:
                by_letter[word[0]][target, word[1:]] |= levels
            for reached in by_letter.values():
                key = closure(reached)
                following[key] = following.get(key, 0) + words
        layer = following


def _slack(rules: Rules, bits: int) -> int:
    """How many subtasks of a variable a choice among all of them, one by one, leaves out."""
    for group in rules.choices:
        if all(len(part) == 1 for part in group.parts) and sum(1 << i for i in group.members) == bits:
            return len(group.parts) - group.number
    return 0


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
    reported: set[tuple[int, int]] = set()
    work = 0
    for reading in quotient.readings():
        for (t1, g1), (t2, g2) in combinations([(t, g) for t, g in stepper.options(*reading) if t], 2):
            if (id(t1), id(t2)) in reported or apart(g1, g2):
                continue
            work += table_words(g1) + table_words(g2)
            if work > MAX_WORK:
                raise SpecError("the guards out of one state are too many and too long to be compared; split the state")
            if (witness := together(g1, g2)) is not None:
                reported.add((id(t1), id(t2)))
                changes = zip(stepper.mentioned[reading.u], reading.values, strict=True)
                told = (name for name, true in reading.told if true)
                yield Overlap(t1, t2, (*sorted(witness), *(stepper.variables[m] + c.value for m, c in changes), *told))


def conflicts(machine: NumericRM) -> Iterator[str]:
    """Non-determinism, one sentence for each pair of transitions that fire together and disagree."""
    for pair in overlaps(machine):
        if not pair.agree:
            both = f"'{pair.first}' and '{pair.second}' both fire on {{{', '.join(pair.features)}}}"
            yield f"{both} and disagree; make their guards exclude each other"


def first_fires(transitions: Sequence[Transition]) -> tuple[Transition, ...]:
    """Transitions that exclude each other, from a list of which the first that fires is taken."""
    chosen = []
    for i, t in enumerate(transitions):
        before = [e for e in transitions[:i] if e.source == t.source and (e.target, e.reward) != (t.target, t.reward)]
        others = [negation(e.guard) for e in before if together(e.guard, t.guard) is not None]
        guard = said_plainly(conjunction([t.guard, *others]))
        if satisfiable(guard):
            chosen.append(replace(t, guard=guard))
    return tuple(dict.fromkeys(chosen))


def apart(first: Guard, second: Guard) -> bool:
    """Whether two guards exclude each other at a glance: a part of one is the negation of a part of the other."""
    ours, theirs = (set(g.parts) if isinstance(g, And) else {g} for g in (first, second))
    return any(negation(part) in theirs for part in ours)


def together(first: Guard, second: Guard) -> frozenset[str] | None:
    """Boolean features that make both guards true, or None: each guard is projected onto the features they share."""
    names = [{a.name for a in atoms(g)} for g in (first, second)]
    shared = sorted(names[0] & names[1])
    table = -1
    for guard, mentioned in zip((first, second), names, strict=True):
        projected = truth_table(guard, shared + sorted(mentioned - set(shared)))
        # The shared features are the low bits of a row. Each other feature is quantified away, the highest first: the
        # half of the table where it is true is laid over the half where it is false.
        for free in reversed(range(len(shared), len(mentioned))):
            projected = (projected | projected >> (1 << free)) & ((1 << (1 << free)) - 1)
        table &= projected
    if not table:
        return None
    row = (table & -table).bit_length() - 1
    given = {n: bool(row >> i & 1) for i, n in enumerate(shared)}
    witnesses = [satisfying(substitute(g, given, {})) or frozenset() for g in (first, second)]
    return witnesses[0] | witnesses[1] | {n for n, true in given.items() if true}
