import pytest

import errands
from errands.errors import TaskError
from errands.plots.grid_map import centre, layout_of, paint_map
from errands.plots.style import blank


def test_cells_lie_column_by_row_from_the_top_left():
    layout = layout_of(errands.load("figure-1"))
    assert [centre(layout, cell) for cell in (0, 2, 3)] == [(0.5, 0.5), (2.5, 0.5), (0.5, 1.5)]


def test_every_feature_is_written_on_the_map_and_every_wall_drawn():
    layout = layout_of(errands.load("office-3"))
    axes = blank(4, 3).add_subplot()
    paint_map(axes, layout)
    assert [text.get_text() for text in axes.texts] == [layout.sign(name) for name, _ in layout.places]
    thick = [line for line in axes.lines if line.get_linewidth() > 2]
    assert len(thick) == len(layout.walls)
    assert axes.yaxis_inverted()


def test_a_world_whose_states_are_not_cells_has_no_map():
    with pytest.raises(TaskError, match="grid worlds only"):
        layout_of(errands.load("water-2"))
