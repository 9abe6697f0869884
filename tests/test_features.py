from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.errors import SpecError
from errands.features import (
    FALSE,
    TRUE,
    And,
    Boolean,
    Change,
    Guard,
    Not,
    Numeric,
    Or,
    atoms,
    conjunction,
    disjunction,
    holds,
    negation,
    parse_guard,
    positive,
    satisfying,
    substitute,
    truth_table,
)

names = st.sampled_from(["a", "b", "c", "door_2", "é"])
leaves = st.one_of(
    names.map(Boolean),
    st.builds(Numeric, st.sampled_from(["n", "m"]), st.sampled_from(list(Change))),
    st.sampled_from([TRUE, FALSE]),
)
guards = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(negation), st.lists(inner, max_size=4).map(conjunction), st.lists(inner, max_size=4).map(disjunction)
    ),
    max_leaves=12,
)


@given(guards)
def test_what_is_printed_is_read_back_the_same(guard: Guard) -> None:
    assert parse_guard(str(guard)) == guard


def _by_hand(guard: Guard, true: set[str], changes: dict[str, Change]) -> bool:
    """Truth by Python's own operators, on the printed form."""
    text = str(guard)
    for name, change in changes.items():
        for other in Change:
            text = text.replace(name + other.value, str(other is change))
    words = (
        text.replace("~", " not ").replace("&", " and ").replace("|", " or ").replace("(", " ( ").replace(")", " ) ")
    )
    values = {"true": "True", "false": "False"} | {n: str(n in true) for n in ("a", "b", "c", "door_2", "é")}
    return bool(eval(" ".join(values.get(w, w) for w in words.split())))  # noqa: S307 (a test's own words)


@given(guards)
def test_evaluation_equals_the_truth_table_made_by_python(guard: Guard) -> None:
    booleans = sorted({a.name for a in atoms(guard) if isinstance(a, Boolean)})
    for n, m in itertools.product(Change, repeat=2):
        changes = {"n": n, "m": m}
        table = truth_table(substitute(guard, {}, changes), booleans)
        for row in range(1 << len(booleans)):
            true = {name for i, name in enumerate(booleans) if row >> i & 1}
            expected = _by_hand(guard, true, changes)
            assert holds(guard, true, changes) is expected
            assert bool(table >> row & 1) is expected


@given(guards)
def test_a_satisfying_set_satisfies_and_none_means_never(guard: Guard) -> None:
    left = substitute(guard, {}, {"n": Change.UNCHANGED, "m": Change.REACHED})
    found = satisfying(left)
    if found is None:
        used = sorted({a.name for a in atoms(left)})
        assert not any(holds(left, set(s), {}) for k in range(len(used) + 1) for s in itertools.combinations(used, k))
    else:
        assert holds(left, found, {})


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("b↓ | b⤓", Or((Numeric("b", Change.DECREASED), Numeric("b", Change.REACHED)))),
        ("b.down or b.done", Or((Numeric("b", Change.DECREASED), Numeric("b", Change.REACHED)))),
        ("s & b!", And((Boolean("s"), Numeric("b", Change.UNCHANGED)))),
        ("s ∧ b.same", And((Boolean("s"), Numeric("b", Change.UNCHANGED)))),
        ("¬ a ∨ not b", Or((Not(Boolean("a")), Not(Boolean("b"))))),
        ("a | b & c", Or((Boolean("a"), And((Boolean("b"), Boolean("c")))))),
        ("(a | b) & c", And((Or((Boolean("a"), Boolean("b"))), Boolean("c")))),
        ("~~a", Boolean("a")),
        ("true", TRUE),
    ],
)
def test_the_notations_of_the_front_door(text: str, meaning: Guard) -> None:
    assert parse_guard(text) == meaning


@pytest.mark.parametrize(
    ("text", "column"),
    [("a &", 4), ("(a | b", 7), ("a b", 3), ("", 1), ("a $ b", 3), ("a) & b", 2), ("& a", 1), ("  %", 3), ("a ~ b", 3)],
)
def test_a_fault_is_reported_with_its_column(text: str, column: int) -> None:
    with pytest.raises(SpecError, match=rf"^column {column}: "):
        parse_guard(text)


def test_limits_on_depth_features_and_length() -> None:
    assert parse_guard("(" * 60 + "a" + ")" * 60) == Boolean("a")
    for text in ("(" * 70 + "a" + ")" * 70, "~" * 200 + "a"):
        with pytest.raises(SpecError, match="nested more than 64 deep"):
            parse_guard(text)
    parse_guard(" | ".join(f"f{i}" for i in range(20)))
    with pytest.raises(SpecError, match="mentions 21 features"):
        parse_guard(" | ".join(f"f{i}" for i in range(21)))
    with pytest.raises(SpecError, match="too long"):
        parse_guard("a & " * 5_000 + "a")


def test_what_must_become_true_leaves_out_what_must_not() -> None:
    assert str(positive(parse_guard("coffee & ~decoration"))) == "coffee"
    assert str(positive(parse_guard("(a & ~b) | (b & ~a)"))) == "a | b"
    assert str(positive(parse_guard("~(s | t)"))) == "~(s | t)"


def test_random_text_gives_a_guard_or_a_spec_error() -> None:
    chance = random.Random(1)
    signs = [*"ab s_1()~&|!↓⤓¬∧∨.,;", "not ", " and ", " or ", "true", ".down", "b.done", "\u2028", "\0", "𝔸"]
    for _ in range(20_000):
        text = "".join(chance.choice(signs) for _ in range(chance.randint(0, 14)))
        try:
            guard = parse_guard(text)
        except SpecError:
            continue
        assert parse_guard(str(guard)) == guard
