"""Drawn grids: Figure 1a of the paper, and one sentence for each fault."""

from __future__ import annotations

import pytest

from errands.errors import SpecError
from errands.worlds import GridWorld, World

FIGURE_1 = GridWorld(["1s.", "..A", "...", "2.."], {"1": "b1", "2": "b2", "s": "s"})


def test_figure_1_is_read_from_the_top_row() -> None:
    layout = FIGURE_1.layout
    assert (layout.width, layout.height, layout.start) == (3, 4, 5)
    assert dict(layout.places) == {"b1": 0, "b2": 9, "s": 1}
    assert FIGURE_1.features == ("b1", "b2", "s")
    assert isinstance(FIGURE_1, World)
    assert hash(FIGURE_1) == hash(GridWorld(FIGURE_1.rows, FIGURE_1.legend))


def test_two_letters_may_mean_one_feature_and_one_letter_may_stand_twice() -> None:
    world = GridWorld(["xAy", "x.."], {"x": "goal", "y": "goal"})
    assert world.features == ("goal",)
    assert sorted(cell for _, cell in world.layout.places) == [0, 2, 3]


@pytest.mark.parametrize(
    ("rows", "legend", "sentence"),
    [
        (["A..", ".."], {}, "row 2 of the grid, '..', has 2 letters and the first has 3; make all rows equally long"),
        (["..."], {}, "the grid has no start; write one 'A' where the agent begins"),
        (["A.A"], {}, "the grid has 2 starts; write exactly one 'A'"),
        (["A.x"], {}, "the letter 'x' in the rows is not in the legend; add it there or use '.'"),
        (["A.."], {"x": "goal"}, "the legend entry x = 'goal' is never used in the rows; draw it or remove it"),
        (["A.x"], {"x": "goal", "yy": "b"}, "the legend key 'yy' has 2 characters; a key is exactly one"),
        (["A#."], {"#": "goal"}, "the legend key '#' is reserved for a wall; use another letter for 'goal'"),
        (["A#."], {"A": "goal"}, "the legend key 'A' is reserved for the start; use another letter for 'goal'"),
        (["A#."], {".": "goal"}, "the legend key '.' is reserved for a free cell; use another letter for 'goal'"),
        ([], {}, "a grid needs at least one row with at least one letter"),
    ],
)
def test_each_fault_of_a_drawing_is_one_sentence(rows: list[str], legend: dict[str, str], sentence: str) -> None:
    with pytest.raises(SpecError) as caught:
        GridWorld(rows, legend)
    assert caught.value.problems == (sentence,)


def test_all_faults_of_a_drawing_are_reported_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        GridWorld(["A..", ".x"], {"y": "goal"})
    assert len(caught.value.problems) == 3


def test_slip_and_limit_are_checked() -> None:
    with pytest.raises(SpecError, match="slip is 1"):
        GridWorld(["A"], {}, slip=1.0)
    with pytest.raises(SpecError, match="limit is 0"):
        GridWorld(["A"], {}, limit=0)
