"""Heights: no two slots of a column overlap, and lone lines are straight."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from errands.plots.rows import Pull, rows


def test_a_chain_between_columns_of_different_spacing_is_exactly_straight() -> None:
    columns = [[0, 1], [2, 3], [4, 5]]
    room = [(10.0, 10.0)] * 4 + [(30.0, 30.0)] * 2
    pulls = [Pull(a, a + 2, 1.0, firm=True) for a in range(4)]
    height = rows(columns, room, pulls)
    assert height[0] == height[2] == height[4]
    assert height[1] == height[3] == height[5]
    assert height[5] - height[4] >= 60 - 1e-9


def test_a_state_with_two_followers_stands_in_the_middle() -> None:
    height = rows([[0], [1, 2]], [(10.0, 10.0)] * 3, [Pull(0, 1, 0.5), Pull(0, 2, 0.5)])
    assert height[2] - height[1] == 20
    assert abs(height[0] - (height[1] + height[2]) / 2) < 1e-9


def test_offsets_are_where_in_a_block_a_line_ends() -> None:
    height = rows([[0], [1]], [(50.0, 50.0)] * 2, [Pull(0, 1, 1.0, left_offset=-30.0)])
    assert abs(height[0] - 30 - height[1]) < 1e-9


@given(st.data())
def test_slots_of_a_column_keep_their_order_and_their_room(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    columns, count = [], 0
    for size in sizes:
        columns.append(list(range(count, count + size)))
        count += size
    room = data.draw(st.lists(st.tuples(st.floats(1, 50), st.floats(1, 50)), min_size=count, max_size=count))
    pairs = [(a, b) for left, right in pairwise(columns) for a in left for b in right]
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    pulls = [Pull(a, b, data.draw(st.sampled_from([0.2, 1.0, 3.0])), data.draw(st.booleans())) for a, b in chosen]
    height = rows(columns, room, pulls)
    for column in columns:
        for upper, lower in pairwise(column):
            assert height[lower] - height[upper] >= room[upper][1] + room[lower][0] - 1e-6
