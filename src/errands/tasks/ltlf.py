"""LTLf: tasks said in linear temporal logic on finite traces, as numeric machines.

A conjunction of eventualities (`F a & F b & F(c & F d)`) becomes one numeric variable whose subtasks have predecessors, so
that twenty of them are twenty bits. Whatever else is said becomes machine states by progression: what is left to be
satisfied after a step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from errands.errors import SpecError
from errands.features import (
    FALSE,
    TRUE,
    Boolean,
    Change,
    Guard,
    Numeric,
    Tokens,
    conjunction,
    disjunction,
    fresh_names,
    negation,
    shortened,
)
from errands.machines.numeric import MAX_TRANSITIONS, NumericRM, Transition
from errands.machines.rewards import Reward
from errands.machines.rules import Rules

MAX_LENGTH = 10_000
MAX_STATES = 500
MAX_CLAUSES = 64
MAX_PAIRS = 1_000
MAX_NODES = 50_000
MAX_NAMES = 64


def from_ltlf(text: str, exact: bool = False) -> NumericRM:
    """The machine of an LTLf formula over features: reward 1 and success in the first step after which it is true.

    The trace is the feature sets of all steps so far. The task fails in the first step after which no continuation could
    make the formula true. docs/how-to/ltlf.md tells all.

    Parameters:
        text: the formula; operators from the tightest: `! X F G`, `U`, `&`, `|`, `->`.
        exact: whether two eventualities that are true in one step count both. Then every set of them is a machine state;
            otherwise those of a conjunction are subtasks of one numeric variable, of which a step completes one, as in
            `any_order`.

    >>> from_ltlf("F a & F b & G !d").run([{"b"}, set(), {"a"}])
    Outcome(rewards=(0.0, 0.0, 1.0), terminal=True, success=True)
    """
    formula = parse_ltlf(text)
    return _machine(Eventualities((), (), formula) if exact else eventualities(formula), text)


@dataclass(frozen=True, slots=True)
class Formula:
    """An operator with its parts: `& |` any number, `! X F G` one, `U` two; "is" is a feature and has a name instead."""

    sign: str
    parts: tuple[Formula, ...] = ()
    name: str = ""


EVER, NEVER = Formula("&"), Formula("|")


def names_in(formula: Formula) -> set[str]:
    """The features that a formula speaks of."""
    return {formula.name} - {""} | {name for part in formula.parts for name in names_in(part)}


# Reading

_TOKEN = re.compile(r"\s*(?:(?P<name>[^\W\d]\w*)|(?P<sign>->|=>|→|&&|\|\||[!~¬&∧|∨()]))")
_SIGNS = {"~": "!", "¬": "!", "not": "!", "&&": "&", "∧": "&", "and": "&", "||": "|", "∨": "|", "or": "|", "→": "->", "=>": "->"}
_UNARY = ("!", "X", "F", "G")


def parse_ltlf(text: str) -> Formula:
    """The formula that a text means; a fault is reported with its column."""
    if len(text) > MAX_LENGTH:
        raise SpecError(f"a formula of {len(text):,} characters is too long; at most {MAX_LENGTH:,} are read")
    return _Parser(text).whole()


class _Parser:
    """Recursive descent over one formula; U and -> group to the right."""

    def __init__(self, text: str) -> None:
        self.tokens = Tokens(text, _TOKEN, f"the formula '{shortened(text)}'", _SIGNS)

    def whole(self) -> Formula:
        """The formula that the whole text means."""
        formula = self._implies(0)
        self.tokens.end("the end of the formula or an operator")
        return formula

    def _implies(self, depth: int) -> Formula:
        left = self._joined("|", depth)
        if self.tokens.take("->"):
            return Formula("|", (Formula("!", (left,)), self._implies(self.tokens.deeper(depth))))
        return left

    def _joined(self, sign: str, depth: int) -> Formula:
        inner: Callable[[int], Formula] = self._until if sign == "&" else lambda deep: self._joined("&", deep)
        parts = [inner(depth)]
        while self.tokens.take(sign):
            parts.append(inner(depth))
        return parts[0] if len(parts) == 1 else Formula(sign, tuple(parts))

    def _until(self, depth: int) -> Formula:
        left = self._unary(depth)
        return Formula("U", (left, self._until(self.tokens.deeper(depth)))) if self.tokens.take("U") else left

    def _unary(self, depth: int) -> Formula:
        token = self.tokens.word
        if token in _UNARY:
            self.tokens.at += 1
            return Formula(token, (self._unary(self.tokens.deeper(depth)),))
        if self.tokens.take("("):
            inner = self._implies(self.tokens.deeper(depth))
            if not self.tokens.take(")"):
                raise self.tokens.fault("')'")
            return inner
        if token in ("", "U", "&", "|", "->", ")"):
            raise self.tokens.fault("a feature, '!', 'F', 'G', 'X' or '('")
        self.tokens.at += 1
        return {"true": EVER, "false": NEVER}.get(token, Formula("is", name=token))


# Eventualities


@dataclass(frozen=True)
class Eventualities:
    """The features that a formula wants to become true, which of them before which, and the rest of what it says."""

    items: tuple[str, ...]
    before: tuple[tuple[str, str], ...]
    rest: Formula


Mention = tuple[tuple[str, ...], Formula]
"""Where a feature stands in a tree of eventualities: the features around it, and the formula it begins."""


def eventualities(formula: Formula) -> Eventualities:
    """The formula as items and a rest; no items where there are fewer than two.

    `F(a & F b)` is a, then b. The rest may speak of an item only in an U without temporal operators inside: once that is
    satisfied it forbids nothing, so that every item can still be completed. Trees that would break this, or whose items
    are unclear, join the rest.
    """
    parts = tuple(dict.fromkeys(_conjuncts(formula)))
    trees = [part for part in parts if part.sign == "F" and _is_tree(part.parts[0])]
    rest = [part for part in parts if part not in trees]
    while True:
        mentions = _items(trees)
        shut = {name for part in rest if not _is_plain_until(part) for name in names_in(part)}
        shut |= {name for name, seen in mentions.items() if _is_unclear(name, seen)}
        moved = [tree for tree in trees if not shut.isdisjoint(names_in(tree))]
        if not moved:
            break
        # A tree that joins the rest brings its names along, which can shut further trees: again, until none moves.
        trees, rest = [tree for tree in trees if tree not in moved], rest + moved
    if len(mentions) < 2:
        return Eventualities((), (), formula)
    order = {(around[-1], name): None for name, seen in mentions.items() for around, _ in seen if around}
    roots = {name for name, seen in mentions.items() if not any(around for around, _ in seen)}
    for part in rest:
        if _is_plain_until(part) and part.parts[1].name in roots:
            # `!b U a`: b before the first a fails, so that b is not worth going for while a is open.
            first = part.parts[1].name
            more = order | {
                (first, name): None for name in _forbidden(part.parts[0]) if name in mentions and name != first
            }
            # This order only saves hopeless attempts: the rest enforces it anyway, so it can be left out.
            order = order if _rules(mentions, more).circle(len(mentions)) else more
    return Eventualities(tuple(mentions), tuple(order), Formula("&", tuple(rest)))


def _rules(items: Iterable[str], order: Iterable[tuple[str, str]]) -> Rules:
    at = {name: i for i, name in enumerate(items)}
    return Rules(before=tuple((at[first], at[second]) for first, second in order))


def _items(trees: list[Formula]) -> dict[str, list[Mention]]:
    """The features of trees of eventualities with all their mentions; a bare `F a` is implied by any other mention of a."""
    mentions: dict[str, list[Mention]] = {}
    for tree in trees:
        for around, part in _mentions(tree, ()):
            mentions.setdefault(_head(part), []).append((around, part))
    for name, seen in mentions.items():
        bare = ((), Formula("F", (Formula("is", name=name),)))
        mentions[name] = list(dict.fromkeys(mention for mention in seen if mention != bare)) or [bare]
    return mentions


def _is_unclear(name: str, seen: list[Mention]) -> bool:
    """Whether the mentions of a feature are not one item.

    They are one where the same features stand around all (the earliest such moment serves all), or where the same formula
    begins with all (the latest does).
    """
    paths, formulas = {around for around, _ in seen}, {part for _, part in seen}
    return (len(paths) > 1 and len(formulas) > 1) or any(name in around for around in paths)


def _conjuncts(formula: Formula) -> Iterator[Formula]:
    """The parts of a conjunction, also under G, and `F F a` as `F a`."""
    inner = formula.parts[0] if formula.parts else formula
    if formula.sign == "&":
        for part in formula.parts:
            yield from _conjuncts(part)
    elif formula.sign == inner.sign and formula.sign in "FG":
        yield from _conjuncts(inner)
    elif formula.sign == "G" and inner.sign == "&" and inner.parts:
        for part in inner.parts:
            yield from _conjuncts(Formula("G", (part,)))
    else:
        yield formula


def _is_tree(formula: Formula) -> bool:
    """Whether an eventuality is a feature, followed by such eventualities or by nothing: a, a & F b, a & X F b & F c."""
    parts = list(_conjuncts(formula))
    features = [p for p in parts if p.sign == "is"]
    inner = [_after_next(p) for p in parts if p.sign != "is"]
    return len(features) == 1 and all(p is not None and _is_tree(p.parts[0]) for p in inner)


def _after_next(formula: Formula) -> Formula | None:
    """The eventuality of `F f` or `X F f`: where features come one at a time the two say the same of what follows."""
    inner = formula.parts[0] if formula.sign == "X" else formula
    return inner if inner.sign == "F" else None


def _head(tree: Formula) -> str:
    return next(p.name for p in _conjuncts(tree.parts[0]) if p.sign == "is")


def _mentions(tree: Formula, around: tuple[str, ...]) -> Iterator[Mention]:
    yield around, tree
    for part in _conjuncts(tree.parts[0]):
        if (inner := _after_next(part)) is not None:
            yield from _mentions(inner, (*around, _head(tree)))


def _is_propositional(formula: Formula) -> bool:
    return formula.sign in ("is", "!", "&", "|") and all(map(_is_propositional, formula.parts))


def _is_plain_until(formula: Formula) -> bool:
    return formula.sign == "U" and all(map(_is_propositional, formula.parts))


def _forbidden(formula: Formula) -> Iterator[str]:
    """The features that a propositional formula forbids outright: b and c of !b & !c and of !(b | c)."""
    inner = formula.parts[0] if formula.sign == "!" else formula
    if formula.sign == "&":
        for part in formula.parts:
            yield from _forbidden(part)
    elif formula.sign == "!" and inner.sign == "|":
        for part in inner.parts:
            yield from _forbidden(Formula("!", (part,)))
    elif formula.sign == "!" and inner.sign == "is":
        yield inner.name


# Progression: what is left to be satisfied after a step, as the states of a machine, the equal ones merged

Clause = frozenset[tuple[int, bool]]
Remainder = frozenset[Clause]
"""What is left to be satisfied: one of the clauses, of each all obligations (formula, strong). A strong one needs another
step; a weak one is satisfied when the trace ends."""
# One empty clause is true, no clause at all is false.
NOTHING: Remainder = frozenset({frozenset()})
LOST: Remainder = frozenset()


class _Diagrams:
    """Decision diagrams over features, ordered and without repetitions: a node is (feature, if true, if false).

    A leaf is (-1, value, value). Equal functions are equal numbers, which is what minimisation compares.
    """

    def __init__(self) -> None:
        self.nodes: list[tuple[int, int, int]] = []
        self.number: dict[tuple[int, int, int], int] = {}

    def node(self, feature: int, true: int, false: int) -> int:
        """The number of a node; of its child where both are the same."""
        if feature >= 0 and true == false:
            return true
        key = (feature, true, false)
        if key not in self.number:
            if len(self.nodes) >= MAX_NODES:
                raise TooLarge
            self.number[key] = len(self.nodes)
            self.nodes.append(key)
        return self.number[key]

    def leaf(self, value: int) -> int:
        """The diagram of one value, whatever features are true."""
        return self.node(-1, value, value)

    def joined(self, one: int, other: int, value: Callable[[int, int], int], memo: dict[tuple[int, int], int]) -> int:
        """The diagram whose values come from those of two."""
        if (one, other) not in memo:
            (f, *_), (g, *_) = self.nodes[one], self.nodes[other]
            if f < 0 and g < 0:
                # `memo` is that of one `value` and lives as long as the diagrams: another function needs another memo.
                memo[one, other] = self.leaf(value(self.nodes[one][1], self.nodes[other][1]))
            else:
                # The smaller feature is decided first on every path: by this order equal functions are equal numbers.
                top = min(h for h in (f, g) if h >= 0)
                branches = [
                    self.joined(
                        self.nodes[one][side] if f == top else one,
                        self.nodes[other][side] if g == top else other,
                        value,
                        memo,
                    )
                    for side in (1, 2)
                ]
                memo[one, other] = self.node(top, *branches)
        return memo[one, other]

    def renamed(self, diagram: int, name: Callable[[int], int], into: _Diagrams, memo: dict[int, int]) -> int:
        """The diagram with other values, among other diagrams."""
        if diagram not in memo:
            feature, true, false = self.nodes[diagram]
            memo[diagram] = (
                into.leaf(name(true))
                if feature < 0
                else into.node(feature, *(self.renamed(branch, name, into, memo) for branch in (true, false)))
            )
        return memo[diagram]

    def values(self, diagram: int, seen: set[int] | None = None) -> set[int]:
        """The values that a diagram can take."""
        seen = set() if seen is None else seen
        if diagram in seen:
            return set()
        seen.add(diagram)
        feature, true, false = self.nodes[diagram]
        return {true} if feature < 0 else self.values(true, seen) | self.values(false, seen)

    def guard(self, diagram: int, wanted: set[int], names: list[str], memo: dict[int, Guard]) -> Guard:
        """The guard that is true where the diagram takes a wanted value."""
        if diagram not in memo:
            feature, true, false = self.nodes[diagram]
            if feature < 0:
                memo[diagram] = TRUE if true in wanted else FALSE
            else:
                yes, no = (self.guard(branch, wanted, names, memo) for branch in (true, false))
                here: Guard = Boolean(names[feature])
                there = negation(here)
                # Shannon's expansion (here & yes) | (~here & no), plainer where a branch is constant.
                if yes == no:
                    memo[diagram] = yes
                elif TRUE in (yes, no):
                    memo[diagram] = disjunction([here, no]) if yes == TRUE else disjunction([there, yes])
                else:
                    memo[diagram] = disjunction([conjunction([here, yes]), conjunction([there, no])])
        return memo[diagram]


class TooLarge(Exception):
    """The formula has outgrown a limit."""


class Progression:
    """The states that a formula goes through, and for each a diagram from features to the next one."""

    def __init__(self, formula: Formula) -> None:
        self.names = sorted(names_in(formula))
        if len(self.names) > MAX_NAMES:
            raise TooLarge
        self.diagrams = _Diagrams()
        self.formulas: list[tuple[str, tuple[int, ...]]] = []
        self.formula_number: dict[tuple[str, tuple[int, ...]], int] = {}
        self.lefts: list[Remainder] = []
        self.left_number: dict[Remainder, int] = {}
        self.progressed: dict[int, int] = {}
        self.either: dict[tuple[int, int], int] = {}
        self.both: dict[tuple[int, int], int] = {}
        self.lost = self._numbered(LOST)
        self.nothing = self._numbered(NOTHING)
        start = self._numbered(frozenset({frozenset({(self._normal(formula, True), True)})}))
        self.step: dict[int, int] = {}
        waiting = [start]
        self.start = start
        while waiting:
            here = waiting.pop()
            self.step[here] = self._stepped(self.lefts[here])
            if len(self.step) > MAX_STATES:
                raise TooLarge
            waiting += sorted(self.diagrams.values(self.step[here]) - self.step.keys() - set(waiting))

    def _numbered(self, left: Remainder) -> int:
        if len(left) > MAX_CLAUSES:
            raise TooLarge
        if left not in self.left_number:
            self.left_number[left] = len(self.lefts)
            self.lefts.append(left)
        return self.left_number[left]

    def _normal(self, formula: Formula, positive: bool) -> int:
        """The number of the formula (or of its negation) with ! in front of features only.

        Signs: is/not with the feature's number, & |, X and N (a next step, strong and weak), U and its dual R.
        """
        sign, parts = formula.sign, formula.parts
        if sign == "!":
            return self._normal(parts[0], not positive)
        if sign == "is":
            return self._formula("is" if positive else "not", (self.names.index(formula.name),))
        inner = tuple(self._normal(part, positive) for part in parts)
        if sign in "FG":
            # F f is `true U f` and G f is `false R f`; the empty conjunction is true, the empty disjunction false.
            always = self._formula("|" if (sign == "F") is not positive else "&", ())
            return self._formula("U" if (sign == "F") is positive else "R", (always, *inner))
        dual = {"&": "|", "|": "&", "X": "N", "U": "R"}
        return self._formula(sign if positive else dual[sign], inner)

    def _formula(self, sign: str, parts: tuple[int, ...]) -> int:
        key = (sign, parts)
        if key not in self.formula_number:
            self.formula_number[key] = len(self.formulas)
            self.formulas.append(key)
        return self.formula_number[key]

    def _stepped(self, left: Remainder) -> int:
        """The diagram of a state: one of its clauses, of which all obligations, has to survive the step."""
        diagrams = self.diagrams
        total = diagrams.leaf(self.lost)
        for clause in sorted(left, key=sorted):
            every = diagrams.leaf(self.nothing)
            for formula, _ in sorted(clause):
                every = self._joined("&", every, self._progress(formula))
            total = self._joined("|", total, every)
        return total

    def _progress(self, number: int) -> int:
        """The diagram of what is left of a formula after a step.

        f U g = g | (f & X(f U g)), and its dual f R g = g & (f | N(f R g)).
        """
        if number not in self.progressed:
            diagrams, (sign, parts) = self.diagrams, self.formulas[number]
            yes, no = diagrams.leaf(self.nothing), diagrams.leaf(self.lost)
            if sign in ("is", "not"):
                total = diagrams.node(parts[0], yes, no) if sign == "is" else diagrams.node(parts[0], no, yes)
            elif sign in "XN":
                total = self._later(parts[0], sign == "X")
            elif sign in "UR":
                # U asks for another step, so it is strong; the end of the trace satisfies R.
                join, dual = "|&" if sign == "U" else "&|"
                hold = self._joined(dual, self._progress(parts[0]), self._later(number, sign == "U"))
                total = self._joined(join, self._progress(parts[1]), hold)
            else:
                total = yes if sign == "&" else no
                for part in parts:
                    total = self._joined(sign, total, self._progress(part))
            self.progressed[number] = total
        return self.progressed[number]

    def _joined(self, sign: str, one: int, other: int) -> int:
        value, memo = (self._and, self.both) if sign == "&" else (self._or, self.either)
        return self.diagrams.joined(one, other, value, memo)

    def _later(self, formula: int, strong: bool) -> int:
        return self.diagrams.leaf(self._numbered(frozenset({frozenset({(formula, strong)})})))

    def _or(self, one: int, other: int) -> int:
        return self._numbered(_least(self.lefts[one] | self.lefts[other]))

    def _and(self, one: int, other: int) -> int:
        if len(self.lefts[one]) * len(self.lefts[other]) > MAX_PAIRS:
            raise TooLarge
        # A disjunction of clauses times another, multiplied out; clauses that a smaller one implies are dropped.
        pairs = frozenset(_clause(a | b) for a in self.lefts[one] for b in self.lefts[other])
        return self._numbered(_least(pairs))

    def satisfied(self, left: int) -> bool:
        """Whether the trace may end here: some clause asks for nothing but what the end satisfies."""
        return any(not any(strong for _, strong in clause) for clause in self.lefts[left])


def _clause(obligations: Clause) -> Clause:
    """A clause without weak obligations that it has as strong ones."""
    return frozenset((f, strong) for f, strong in obligations if strong or (f, True) not in obligations)


def _least(left: Remainder) -> Remainder:
    return frozenset(clause for clause in left if not any(other < clause for other in left))


# From states to a machine

WON, FAILED, SATISFIED = -1, -2, -3


class MinimalStates:
    """The states of a progression, the equal ones merged; a value of a step is WON, FAILED, or twice the next state.

    With items the task may go on after the rest is satisfied: then the value is odd where it is satisfied, and never WON.
    """

    def __init__(self, progression: Progression, items: bool) -> None:
        self.names = progression.names
        # Alive: some continuation satisfies the formula. All other states are one failure.
        alive = {left for left in progression.step if progression.satisfied(left)}
        reached = {left: progression.diagrams.values(step) for left, step in progression.step.items()}
        grown = True
        while grown:
            more = {
                left for left, following in reached.items() if left not in alive and not alive.isdisjoint(following)
            }
            alive, grown = alive | more, bool(more)
        self.possible = progression.start in alive
        kind = dict.fromkeys(alive, 0)
        while True:
            # States are equal as long as equal features lead from them to equal states (Moore's refinement).
            self.diagrams = _Diagrams()
            memo: dict[int, int] = {}

            def value(left: int, kind: dict[int, int] = kind) -> int:
                satisfied = progression.satisfied(left)
                if left not in alive or (satisfied and not items):
                    return WON if left in alive else FAILED
                # Whether it is satisfied is told by the step into a state; states are compared by what follows only.
                return 2 * kind[left] + satisfied

            steps = {
                left: progression.diagrams.renamed(progression.step[left], value, self.diagrams, memo)
                for left in sorted(alive)
            }
            numbers = {step: i for i, step in enumerate(dict.fromkeys(steps.values()))}
            if len(numbers) == len(set(kind.values())):
                break
            kind = {left: numbers[step] for left, step in steps.items()}
        self.start = kind.get(progression.start, 0)
        self.step = {kind[left]: step for left, step in steps.items()}
        if sum(len(self.diagrams.values(step)) for step in self.step.values()) > MAX_TRANSITIONS:
            raise TooLarge

    def _guard(self, here: int, value: int) -> Guard:
        """When a step from here takes this value; SATISFIED stands for every odd one."""
        step, values = self.step[here], self.diagrams.values(self.step[here])
        wanted = {v for v in values if v == value or (value == SATISFIED and v >= 0 and v % 2)}
        return self.diagrams.guard(step, wanted, self.names, {})

    def transitions(self, todo: str) -> Iterator[Transition]:
        """All transitions between states that can be reached; a numeric variable, if one is named, must be done as well."""
        order, waiting = {self.start: "u0"}, [self.start]
        following = {here: {v // 2 for v in self.diagrams.values(step) if v >= 0} for here, step in self.step.items()}
        for here in waiting:
            fresh = sorted(following[here] - order.keys())
            order |= {there: f"u{len(order) + i}" for i, there in enumerate(fresh)}
            waiting += fresh
        won = f"u{len(order)}"
        same, less, done = (Numeric(todo, change) for change in (Change.UNCHANGED, Change.DECREASED, Change.REACHED))
        for here in waiting:
            leaving: dict[str, Guard] = {}
            for there in sorted(following[here], key=list(order).index):
                lacking, satisfied = (self._guard(here, 2 * there + odd) for odd in (0, 1))
                if not todo:
                    leaving[order[there]] = lacking
                elif there == here:
                    # No move is needed for staying, except to say where subtasks are completed.
                    leaving[order[there]] = conjunction([less, disjunction([lacking, satisfied])])
                else:
                    leaving[order[there]] = disjunction([lacking, conjunction([disjunction([same, less]), satisfied])])
            # With items, success needs both in the same step: all items done, and the rest satisfied.
            leaving[won] = conjunction([done, self._guard(here, SATISFIED)]) if todo else self._guard(here, WON)
            leaving["failed"] = self._guard(here, FAILED)
            leaving = {target: guard for target, guard in leaving.items() if guard != FALSE}
            for target, guard in leaving.items():
                yield Transition(order[here], target, guard, Reward(float(target == won)))


# The machine


def _machine(parsed: Eventualities, text: str) -> NumericRM:
    try:
        states = MinimalStates(Progression(parsed.rest), bool(parsed.items))
    except TooLarge:
        raise SpecError(
            f"what the formula '{shortened(text)}' says besides its eventualities needs more than {MAX_STATES} machine states, "
            f"{MAX_NAMES} features or too much work; say more of it as eventualities (F a & F b & ...), or split it up"
        ) from None
    if not states.possible:
        raise SpecError(f"the formula '{shortened(text)}' can never be true; nothing would ever succeed")
    todo = fresh_names(["todo"], {*parsed.items, *states.names})["todo"] if parsed.items else ""
    transitions = tuple(states.transitions(todo))
    return NumericRM(
        initial="u0",
        success=(next(t.target for t in transitions if t.reward.value),),
        failure=("failed",) if any(t.target == "failed" for t in transitions) else (),
        numeric=((todo, parsed.items),) if todo else (),
        transitions=transitions,
        rules=_rules(parsed.items, parsed.before),
        # Whatever their guards say about it: items are done everywhere.
        completing={t.source: {todo} for t in transitions} if todo else {},
    )
