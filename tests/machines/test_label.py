"""Labels <depth, remaining, objective>, printed as in Figure 2 of the paper."""

from __future__ import annotations

import pytest

from errands.machines.label import Label


@pytest.mark.parametrize(
    ("label", "printed"),
    [
        (Label(0, ("b1", "b2"), ("b1",)), "0{b1,b2}b1"),
        (Label(0, ("b1", "b2"), ("b1", "b2")), "0{b1,b2}{b1,b2}"),
        (Label(3, (), ("s",)), "3{}s"),
        (Label(4, (), ()), "4{}"),
    ],
)
def test_a_label_is_printed_as_the_paper_prints_it(label: Label, printed: str) -> None:
    assert str(label) == printed


def test_equal_labels_are_one_key_and_any_part_tells_two_apart() -> None:
    label = Label(1, ("b1",), ("s",))
    assert {label: "here"}[Label(1, ("b1",), ("s",))] == "here"
    assert len({label, Label(2, ("b1",), ("s",)), Label(1, (), ("s",)), Label(1, ("b1",), ("t",))}) == 4
