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
from errands.features import Tokens, fresh_names, shortened
from errands.machines.numeric import NumericRM
from errands.machines.rules import Rules
from errands.tasks.progression import (
    EVER,
    MAX_NAMES,
    MAX_STATES,
    NEVER,
    Formula,
    MinimalStates,
    Progression,
    TooLarge,
    names_in,
)

MAX_LENGTH = 10_000


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
