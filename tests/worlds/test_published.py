"""A published table of two states, by pencil."""

from __future__ import annotations

import numpy as np

from errands.worlds import finite_from_p

P = {
    0: {0: [(0.5, 0, 0.0, False), (0.25, 1, 2.0, True), (0.25, 1, 2.0, True)], 1: [(1.0, 0, -1.0, False)]},
    1: {0: [(1.0, 1, 0.0, True)], 1: [(1.0, 0, 0.5, False)]},
}


def test_outcomes_keep_their_order_and_padding_repeats_the_last() -> None:
    world = finite_from_p(P, [0.75, 0.25], lambda state: {"end"} if state else set())
    table = world.table
    assert table.next[0, 0].tolist() == [0, 1, 1]
    assert table.cumulative[0].tolist() == [[0.5, 0.75, 1.0], [1.0, 1.0, 1.0]]
    assert table.ends[0, 0].tolist() == [False, True, True]
    assert table.signal[0, 0].tolist() == [[0.0, 2.0, 2.0], [-1.0, -1.0, -1.0]]
    assert table.start_cumulative.tolist() == [0.75, 1.0]
    assert [set(world.labels[i]) for i in table.label[0, 0]] == [set(), {"end"}, {"end"}]
    assert [set(world.labels[i]) for i in table.start_label] == [set(), {"end"}]
    assert world.signals == ("reward",)
    assert not world.certain


def test_starts_without_probability_are_left_out() -> None:
    world = finite_from_p(P, np.array([0.0, 1.0]), lambda state: ())
    assert world.table.starts.tolist() == [1]
    assert world.labels == (frozenset(),)
