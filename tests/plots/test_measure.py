"""Texts are measured and broken so that nothing is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from errands.plots.measure import clean, text_width, wrap


@given(st.text(max_size=80), st.integers(4, 30))
def test_wrapping_keeps_all_but_spaces_and_respects_the_limit(text: str, limit: int) -> None:
    lines = wrap(text, limit)
    assert "".join("".join(lines).split()) == "".join(clean(text).split())
    assert all(len(line) <= limit for line in lines)


def test_lines_break_after_operators() -> None:
    assert wrap("¬b1 ∧ ¬b2 ∧ ¬b3", 12) == ("¬b1 ∧ ¬b2 ∧", "¬b3")


def test_a_name_without_any_place_to_break_is_cut() -> None:
    assert wrap("w" * 10, 4) == ("wwww", "wwww", "ww")


def test_what_xml_cannot_hold_becomes_a_visible_sign() -> None:
    assert clean("a\x00\n\ud800b") == "a\ufffd\ufffd\ufffdb"


def test_wide_characters_count_twice() -> None:
    assert text_width("箱") == text_width("bb")
