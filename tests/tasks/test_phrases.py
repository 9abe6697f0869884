from __future__ import annotations

import re

import pytest

from errands.errors import SpecError
from errands.machines import NumericRM, couple, size, unfold_agenda
from errands.tasks.phrases import (
    MAX_LENGTH,
    PHRASES,
    Phrase,
    PhraseLike,
    any_order,
    avoid,
    either,
    parse_phrase,
    repeat,
    sequence,
)

FIGURE_1B = NumericRM.of(
    "u0",
    ["u2"],
    [
        "u0 -> u0 : b! ; 0",
        "u0 -> u1 : b↓ | b⤓ ; 0",
        "u1 -> u1 : ~s ; 0",
        "u1 -> u2 : s & b⤓ ; 1",
        "u1 -> u0 : s & b! ; 0",
    ],
    numeric={"b": ["b1", "b2"]},
)


def test_the_phrase_of_figure_1b_is_figure_1b() -> None:
    assert any_order("b1", "b2", after="s") == FIGURE_1B
    assert parse_phrase("any_order(b1, b2, after=s)") == FIGURE_1B


def test_before_holds_for_each_item() -> None:
    machine = any_order("o1", "o2", before="coffee")
    assert machine.run([{"o1"}, {"coffee"}, {"o1"}, {"o2"}, {"coffee"}, {"o2"}]).rewards == (0, 0, 0, 0, 0, 1)


def test_before_and_after_hold_for_each_item() -> None:
    machine = any_order("x", "y", before="f", after="g")
    assert machine.run([{"f"}, {"y"}, {"g"}, {"f"}, {"x"}, {"g"}]).success
    assert not machine.run([{"f"}, {"y"}, {"f"}, {"x"}, {"g"}]).terminal


def test_two_groups_of_unordered_subtasks_come_one_after_the_other() -> None:
    machine = sequence(any_order("a", "b"), any_order("c", "d"))
    assert machine.run([{"b"}, {"c"}, {"a"}, {"d"}, {"c"}]).rewards == (0, 0, 0, 0, 1)
    assert str(unfold_agenda(machine).labels[0]) == "0{a,b,c,d}{a,b}"


def test_phrases_around_a_machine_complete_what_it_completes() -> None:
    """`b⤓` says nothing of a completion: in u0 it is the machine that says so, and each phrase keeps it."""
    inner = NumericRM.of("u0", ["end"], ["u0 -> end : b⤓ ; 1"], numeric={"b": ["x", "y"]}, completing={"u0": ["b"]})
    for machine in (sequence(inner), avoid("lava", inner), sequence("b", inner, inner), avoid("lava", sequence(inner, "b"))):
        assert machine.run([{"b"}, {"y"}, {"x"}, {"y"}, {"x"}, {"b"}]).success
    assert avoid("b", inner).restated == {"u0": ("b_",)}
    assert not sequence(inner).run([{"y"}]).terminal


def test_the_same_group_twice_is_done_twice() -> None:
    machine = sequence(any_order("a", "b"), any_order("a", "b"))
    assert machine.run([{"a"}, {"b"}, {"b"}, {"a"}]).success
    assert not machine.run([{"a"}, {"b"}]).terminal
    assert size(machine).policies == 2


def test_failure_wins_when_both_happen_in_one_step() -> None:
    machine = avoid("lava", "acid", sequence("a", "b"))
    outcome = machine.run([{"a"}, {"b", "acid"}])
    assert (outcome.terminal, outcome.success, outcome.rewards) == (True, False, (0.0, 0.0))
    assert machine.run([{"a"}, {"b"}]).success


def test_avoid_inside_a_sequence_ends_with_its_part() -> None:
    machine = sequence(avoid("d", "a"), "b")
    assert machine.run([{"a"}, {"d"}, {"b"}]).success
    assert not machine.run([{"d"}]).success


def test_a_feature_is_a_phrase_and_text_nests_as_python_does() -> None:
    text = "sequence(a, avoid(x, any_order(b, c, before=f)), a)"
    assert parse_phrase(text) == sequence("a", avoid("x", any_order("b", "c", before="f")), "a")
    assert parse_phrase("a") == sequence("a")
    assert couple(unfold_agenda(parse_phrase("sequence(a, b, a)"))).objectives == ("a", "b")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("any_order(a, a)", "names a feature twice"),
        ("any_order(a, before=a)", "names a feature twice"),
        ("any_order()", "is empty"),
        ("sequence()", "is empty"),
        ("seqence(a)", "did you mean 'sequence'"),
        ("any_order(avoid(x, a), c)", "avoid\\(x, a\\) cannot be an item of any_order"),
        ("any_order(sequence(a, b), c, after=s)", "before= and after= stand beside single features"),
        ("any_order(any_order(a, after=s), c)", "cannot be an item of any_order; put avoid, toll, within, budget, at_most, before"),
        ("any_order(a, b, choose=3)", "choose=3 is more than the 2 items"),
        ("any_order(a, b, choose=0)", "choose=0 is out of range"),
        ("any_order(a, b, choose=c)", "column 24: found 'c' where a whole number was wanted"),
        ("any_order(a, b, one_at_a_time=1)", "where true or false was wanted"),
        ("any_order(a, b, capacity=2, one_at_a_time=true)", "one_at_a_time is a capacity of 1"),
        ("either(a)", "either\\(\\) needs at least two phrases"),
        ("repeat(a)", "repeat\\(\\) takes a feature and a number"),
        ("repeat(sequence(a, b), 2)", "a feature was wanted where a phrase stands"),
        ("repeat(a, 0)", "repeat\\(a, 0\\) is out of range"),
        ("avoid(a)", "avoid"),
        ("avoid(sequence(a), b)", "a feature was wanted where a phrase stands"),
        ("sequence(a,, b)", "column 12"),
        ("sequence(a b)", "column 12"),
        ("sequence(a", "column 11"),
        ("sequence(a))", "column 12"),
        ("any_order(a, befor=c)", "'befor=' cannot stand here"),
        ("sequence(a, after=c)", "'after=' cannot stand here"),
        ("any_order(a, before=b, before=c)", "once each"),
        ("sequence(true)", "cannot be a feature"),
        ("sequence(1)", "column 10"),
        ("", "column 1"),
        ("sequence(" * 80 + "a" + ")" * 80, "nested more than 64 deep"),
    ],
)
def test_a_faulty_phrase_is_told_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        parse_phrase(text)


def test_text_and_python_make_equal_machines() -> None:
    assert parse_phrase("any_order(b1, b2, after=s)") == any_order("b1", "b2", after="s")
    nested = sequence("a", avoid("d", "e", any_order("b", "c", before="f")))
    assert parse_phrase("sequence(a, avoid(d, e, any_order(b, c, before=f)))") == nested
    assert parse_phrase("g") == sequence("g")


def test_phrases_with_parts_are_the_same_in_text_and_python_and_keep_their_words() -> None:
    pairs = sequence("p1", "d1"), sequence("p2", "d2")
    said = {
        "any_order(sequence(p1, d1), sequence(p2, d2))": any_order(*pairs),
        "any_order(sequence(p1, d1), sequence(p2, d2), one_at_a_time=true)": any_order(*pairs, one_at_a_time=True),
        "any_order(sequence(p1, d1), sequence(p2, d2), capacity=2, a)": any_order(*pairs, "a", capacity=2),
        "sequence(any_order(a, b), c, any_order(d, e, choose=1))": sequence(
            any_order("a", "b"), "c", any_order("d", "e", choose=1)
        ),
        "either(a, sequence(b, repeat(c, 2)))": either("a", sequence("b", repeat("c", 2))),
        "avoid(x, repeat(a, 3))": avoid("x", repeat("a", 3)),
    }
    for text, machine in said.items():
        assert parse_phrase(text) == machine
        assert parse_phrase(str(machine.phrase)) == machine


def test_a_list_of_items_is_told_to_use_a_star() -> None:
    with pytest.raises(SpecError, match=r"any_order\(\*\['a', 'b'\]\), with a star"):
        any_order(["a", "b"])  # type: ignore[arg-type]


def test_rules_of_two_groups_keep_to_their_own_subtasks() -> None:
    both = sequence(any_order("a", "b", choose=1), any_order(sequence("c", "d"), "e"))
    assert both.run([{"b"}, {"e"}, {"c"}, {"d"}]).success
    assert not both.run([{"b"}, {"d"}, {"e"}, {"c"}]).terminal


def test_blanks_and_line_ends_mean_nothing() -> None:
    assert parse_phrase("  sequence (\n a ,b,\tc )\n") == sequence("a", "b", "c")


def test_a_comma_may_follow_the_last_argument() -> None:
    assert parse_phrase("sequence(a, b,)") == sequence("a", "b")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "column 1: found 'the end' where a name was wanted"),
        ("sequence(a b)", "column 12: found 'b' where , was wanted"),
        ("sequence(a", "column 11: found 'the end' where , was wanted"),
        ("sequence(a))", "column 12: found ')' where the end was wanted"),
        ("sequence(a, 3)", "column 13: '3' cannot stand in a phrase"),
        ("sequence(a, *)", "column 13: '*' cannot stand in a phrase"),
        ("sequenc(a)", "column 1: no phrase is called 'sequenc'; did you mean 'sequence'?"),
        ("sequence(a, anyorder(b))", "column 13: no phrase is called 'anyorder'; did you mean 'any_order'?"),
        ("sequence(a, after=b)", "column 13: 'after=' cannot stand here"),
        ("any_order(a, before=b, before=c)", "column 24: 'before=' cannot stand here"),
        ("any_order(a, while=b)", "column 14: 'while=' cannot stand here"),
        ("sequence(a, any_order(b, b))", r"column 13: any_order\(b, b\) names a feature twice"),
        ("any_order()", r"column 1: any_order\(\) is empty"),
    ],
)
def test_a_fault_is_told_with_its_column(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said.replace("*", r"\*").replace("found ')'", r"found '\)'")):
        parse_phrase(text)


def test_a_new_phrase_is_a_function_and_an_entry_and_the_reader_follows_its_annotations(monkeypatch) -> None:
    def again(number: int, feature: str, then: PhraseLike, *, slowly: bool = False) -> NumericRM:
        return sequence(*[feature] * number, then) if slowly else sequence(repeat(feature, number), then)

    monkeypatch.setitem(PHRASES, "again", Phrase(again, "again(2, bell, door)"))
    assert parse_phrase("again(2, bell, sequence(a, b))") == sequence(repeat("bell", 2), sequence("a", "b"))
    assert parse_phrase("again(2, bell, a, slowly=true)") == sequence("bell", "bell", "a")
    for text, said in {
        "again(2, bell)": "column 1: again() takes a number and a feature and a phrase, as in again(2, bell, door)",
        "again(2, bell, a, fast=true)": "'fast=' cannot stand here; again takes slowly=, once each",
    }.items():
        with pytest.raises(SpecError, match=re.escape(said)):
            parse_phrase(text)


def test_depth_and_length_are_limited() -> None:
    with pytest.raises(SpecError, match="nested more than"):
        parse_phrase("sequence(" * 3000 + "a" + ")" * 3000)
    with pytest.raises(SpecError, match=f"a phrase of {MAX_LENGTH + 1} characters is too long"):
        parse_phrase("a" * (MAX_LENGTH + 1))


def test_a_toll_is_paid_in_every_step_and_kept_by_what_stands_around_it() -> None:
    machine = parse_phrase("avoid(lava, sequence(c, toll(3, mud, a)), cost=100)")
    assert machine.run([{"mud"}, {"c"}, {"mud"}, {"mud", "a"}]).rewards == (0.0, 0.0, -3.0, -2.0)
    assert machine.run([{"c"}, {"mud"}, {"mud", "lava"}]).rewards == (0.0, -3.0, -100.0)
    assert str(machine.phrase) == "avoid(lava, sequence(c, toll(3, mud, a)), cost=100)"
