"""The text of phrases: it means what the Python functions mean, and every fault is told with its column."""

from __future__ import annotations

import pytest

from errands.errors import SpecError
from errands.tasks.phrase_text import MAX_LENGTH, parse_phrase
from errands.tasks.phrases import any_order, avoid, sequence


def test_text_and_python_make_equal_machines() -> None:
    assert parse_phrase("any_order(b1, b2, after=s)") == any_order("b1", "b2", after="s")
    nested = sequence("a", avoid("d", "e", any_order("b", "c", before="f")))
    assert parse_phrase("sequence(a, avoid(d, e, any_order(b, c, before=f)))") == nested
    assert parse_phrase("g") == sequence("g")


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


def test_depth_and_length_are_limited() -> None:
    with pytest.raises(SpecError, match="nested more than"):
        parse_phrase("sequence(" * 3000 + "a" + ")" * 3000)
    with pytest.raises(SpecError, match=f"a phrase of {MAX_LENGTH + 1} characters is too long"):
        parse_phrase("a" * (MAX_LENGTH + 1))
