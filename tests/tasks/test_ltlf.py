"""LTLf: machines against the semantics by definition on all short traces, and against an independent library."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from errands import any_order, avoid, from_ltlf, size
from errands.errors import SpecError
from errands.machines.numeric import NumericRM
from errands.machines.stepping import Stepper
from errands.tables import FAILURE, RUNNING, SUCCESS
from errands.tasks import Task
from errands.tasks.ltlf import Formula, eventualities, parse_ltlf

Trace = tuple[frozenset[str], ...]


def true_at(formula: Formula, trace: Trace, i: int = 0) -> bool:
    """The definition of LTLf on a finite trace, word by word."""
    parts = formula.parts
    match formula.sign:
        case "is":
            return formula.name in trace[i]
        case "!":
            return not true_at(parts[0], trace, i)
        case "&":
            return all(true_at(part, trace, i) for part in parts)
        case "|":
            return any(true_at(part, trace, i) for part in parts)
        case "X":
            return i + 1 < len(trace) and true_at(parts[0], trace, i + 1)
        case "F":
            return any(true_at(parts[0], trace, j) for j in range(i, len(trace)))
        case "G":
            return all(true_at(parts[0], trace, j) for j in range(i, len(trace)))
        case "U":
            return any(
                true_at(parts[1], trace, j) and all(true_at(parts[0], trace, k) for k in range(i, j))
                for j in range(i, len(trace))
            )
    raise AssertionError(formula.sign)


def can_become_true(formula: Formula, trace: Trace, alphabet: list[frozenset[str]], most: int) -> bool:
    """Whether some continuation up to `most` steps in all satisfies the formula."""
    if trace and true_at(formula, trace):
        return True
    return len(trace) < most and any(can_become_true(formula, (*trace, a), alphabet, most) for a in alphabet)


def agree(machine: NumericRM, formula: Formula, alphabet: list[frozenset[str]], most: int) -> Iterator[int]:
    """Hold a machine against the definition on all traces up to a length; yields how each ended.

    Success where the trace so far satisfies the formula, failure only where no continuation within `most` steps does.
    """
    stepper = Stepper(machine)
    waiting: list[tuple[Trace, tuple[int, int]]] = [((), stepper.start)]
    for trace, state in waiting:
        for true in alphabet:
            longer, after = (*trace, true), stepper.step(state, true).state
            status = stepper.status[after[0]]
            assert (status == SUCCESS) is true_at(formula, longer), longer
            if status == FAILURE:
                assert not can_become_true(formula, longer, alphabet, most), longer
            elif status == RUNNING and len(longer) + len(machine) <= most and not machine.numeric:
                assert can_become_true(formula, longer, alphabet, most), longer
            if status == RUNNING and len(longer) < most:
                waiting.append((longer, after))
            yield status


def machine_of(text: str, exact: bool = False) -> NumericRM | None:
    """The machine of a formula; None where it is refused because it can never be true."""
    try:
        return from_ltlf(text, exact)
    except SpecError as fault:
        if "can never be true" in str(fault):
            return None
        raise


def subsets(*names: str) -> list[frozenset[str]]:
    return [frozenset(n for i, n in enumerate(names) if row >> i & 1) for row in range(1 << len(names))]


def formulas(names: str) -> st.SearchStrategy[str]:
    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        unary = st.builds(lambda sign, f: f"{sign}({f})", st.sampled_from("!XFG"), inner)
        return unary | st.builds(
            lambda f, sign, g: f"({f}) {sign} ({g})", inner, st.sampled_from(["&", "|", "U", "->"]), inner
        )

    return st.recursive(st.sampled_from([*names, "true", "false"]), grow, max_leaves=5)


@settings(max_examples=30, deadline=None)
@given(formulas("ab"))
def test_the_exact_machine_does_what_the_definition_says_on_all_traces_up_to_six_steps(text: str) -> None:
    formula, alphabet = parse_ltlf(text), subsets("a", "b")
    machine = machine_of(text, exact=True)
    if machine is None:
        assert not can_become_true(formula, (), alphabet, 4)
        return
    assert list(agree(machine, formula, alphabet, 6 if len(machine) < 5 else 5))


@st.composite
def agendas(draw: st.DrawFn) -> str:
    """A conjunction of trees of eventualities, precedences and prohibitions."""
    names, later = st.sampled_from("abc"), st.sampled_from(["F", "X F"])
    tree = st.recursive(names, lambda inner: st.builds("{} & {}({})".format, names, later, inner), max_leaves=3)
    parts = [f"F({t})" for t in draw(st.lists(tree, min_size=2, max_size=3))]
    parts += draw(
        st.lists(st.sampled_from(["G !d", "!b U a", "!c U a", "!(b | d) U c", "G(d -> X !d)", "X !d"]), max_size=2)
    )
    return " & ".join(draw(st.permutations(parts)))


@settings(max_examples=40, deadline=None)
@given(agendas())
def test_agendas_do_what_the_definition_says_where_items_come_one_at_a_time(text: str) -> None:
    """At most one of a, b, c in a step, with and without d: all traces up to five steps."""
    formula = parse_ltlf(text)
    alphabet = [i | d for i in (frozenset(), *map(frozenset, "abc")) for d in (frozenset(), frozenset("d"))]
    alphabet = alphabet if "d" in text else alphabet[::2]
    machine = machine_of(text)
    assert machine is None or list(agree(machine, formula, alphabet, 4 if "d" in text else 5))


def test_a_conjunction_of_eventualities_is_the_phrase_of_the_same_meaning() -> None:
    assert from_ltlf("F a & F b & F c & G !d") == avoid("d", any_order("a", "b", "c"))
    assert from_ltlf("F a & F b") == any_order("a", "b")


def test_twenty_eventualities_are_one_variable_and_unfold_nothing() -> None:
    """What unfolded twenty of them would not end."""
    many = " & ".join(f"F p{i}" for i in range(20)) + " & G !lava"
    assert size(from_ltlf(many)).agenda == 2**20 + 1
    machine = from_ltlf(many + " & (!p1 U p0)")
    assert [len(subtasks) for _, subtasks in machine.numeric] == [20]
    assert len(machine) == 4
    trace: list[Set[str]] = [{f"p{i}"} for i in range(20)]
    assert machine.run(trace).success
    assert not machine.run(trace[1:]).success
    assert machine.run(trace[1:]).terminal


def test_nested_eventualities_are_predecessors() -> None:
    assert eventualities(parse_ltlf("F(a & F b) & F c")).before == (("a", "b"),)
    assert eventualities(parse_ltlf("F(a & X F(b & F c))")).before == (("a", "b"), ("b", "c"))
    assert eventualities(parse_ltlf("F(a & F b) & F(c & F b) & F b")).before == (("a", "b"), ("c", "b"))
    machine = from_ltlf("F(a & F b) & F c")
    assert not machine.run([{"b"}, {"a"}, {"c"}]).terminal
    assert machine.run([{"b"}, {"a"}, {"c"}, {"b"}]).success


def test_precedence_orders_items_and_fails_when_it_is_broken() -> None:
    parsed = eventualities(parse_ltlf("F a & F b & (!b U a)"))
    assert (parsed.items, parsed.before) == (("a", "b"), (("a", "b"),))
    machine = from_ltlf("F a & F b & (!b U a)")
    assert machine.run([set(), {"a"}, {"b"}]).success
    assert machine.run([{"b"}]).terminal
    assert not machine.run([{"b"}]).success


def test_mentions_that_differ_in_what_follows_are_not_one_item() -> None:
    """a, b, d, c, b satisfies both, but a single b after a and c would still want its d."""
    text = "F(a & F(b & F d)) & F(c & F b)"
    assert eventualities(parse_ltlf(text)).items == ()
    assert from_ltlf(text).run([{"a"}, {"b"}, {"d"}, {"c"}, {"b"}]).success


def test_two_items_in_one_step_count_once_unless_exactness_is_asked_for() -> None:
    assert not from_ltlf("F a & F b").run([{"a", "b"}]).terminal
    assert from_ltlf("F a & F b", exact=True).run([{"a", "b"}]).success


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("F a &", "column 6: the formula 'F a &' ends where a feature"),
        ("F a b", "column 5: found 'b' where the end of the formula or an operator was wanted"),
        ("(a U b", "column 7: the formula '(a U b' ends where ')' was wanted"),
        ("a $ b", "column 3: '$' cannot stand in the formula"),
        ("U a", "column 1: found 'U' where a feature"),
        ("", "column 1: the formula '' ends where"),
        ("!" * 100 + "a", "nested more than 64 deep"),
        ("(" * 100 + "a" + ")" * 100, "nested more than 64 deep"),
        (" U ".join(["a"] * 100), "nested more than 64 deep"),
        ("a" * 20_000, "20,000 characters is too long"),
        ("F a & G !a", "can never be true"),
        ("false", "can never be true"),
        (" & ".join(f"(F a{i} | G b{i})" for i in range(12)), "needs more than"),
        (" | ".join(f"a{i}" for i in range(500)), "64 features"),
        ("F (" + " & F (".join(f"a{i} & X b{i}" for i in range(30)) + ")" * 30, "needs more than"),
    ],
)
def test_what_cannot_be_read_or_made_is_refused_in_one_sentence_and_soon(text: str, said: str) -> None:
    """The last ones have so many states that what tried to make them all would not end."""
    with pytest.raises(SpecError) as fault:
        from_ltlf(text)
    assert said in str(fault.value)
    assert "\n" not in str(fault.value)


def test_a_task_file_may_say_its_task_in_ltlf() -> None:
    text = 'name = "x"\n[world]\nkind = "grid"\nrows = ["Aab", ".dc"]\nlegend = {a = "a", b = "b", c = "c", d = "d"}\n'
    task = Task.from_toml(text + '[machine]\nltlf = "F a & F b & F c & G !d"\n')
    assert task.machine == avoid("d", any_order("a", "b", "c"))
    with pytest.raises(SpecError, match="one of phrase, ltlf"):
        Task.from_toml(text + '[machine]\nltlf = "F a"\nphrase = "a"\n')
    with pytest.raises(SpecError, match="machine: column 4"):
        Task.from_toml(text + '[machine]\nltlf = "F a)"\n')


@cache
def parser_of(library: Any) -> Any:
    return library.LTLfParser()


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None)
@given(formulas("ab"))
def test_an_independent_library_accepts_the_same_traces(text: str) -> None:
    flloat = pytest.importorskip("flloat.parser.ltlf")
    assume("true" not in text and "false" not in text)
    other = parser_of(flloat)(text)
    formula = parse_ltlf(text)
    for first in subsets("a", "b"):
        for second in subsets("a", "b"):
            for trace in ((first,), (first, second), (second, first, first), (first, second, second, first)):
                theirs = other.truth([{name: name in step for name in "ab"} for step in trace], 0)
                assert theirs == true_at(formula, trace)
