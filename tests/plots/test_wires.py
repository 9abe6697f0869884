"""Lines end at the borders of the right states, and a pair of opposite arrows keeps apart."""

from __future__ import annotations

import pytest

from errands.machines.graph import MachineGraph
from errands.plots.layout import layout


def test_lines_start_and_end_at_the_borders_of_their_states(graph: MachineGraph) -> None:
    picture = layout(graph)
    for wire in picture.wires:
        ends = ((wire.source, wire.spans[0][0], wire.spans[0][2]), (wire.target, wire.spans[-1][1], wire.spans[-1][2]))
        for node, x, y in ends:
            box = picture.boxes[node]
            if picture.round:
                assert (x - box.x) ** 2 + (y - box.y) ** 2 == pytest.approx(box.member.half_width**2)
            else:
                assert abs(x - box.x) == pytest.approx(box.member.half_width)
                assert abs(y - box.y) < box.member.half_height


def test_opposite_arrows_leave_and_enter_a_state_at_different_heights(samples: dict[str, MachineGraph]) -> None:
    wires = {(wire.source, wire.target): wire for wire in layout(samples["figure-1b"]).wires}
    there, back = wires[0, 1], wires[1, 0]
    assert abs(there.spans[0][2] - back.spans[-1][2]) == pytest.approx(14)
    assert (there.label[1] < back.label[1]) == (there.spans[0][2] < back.spans[-1][2])
