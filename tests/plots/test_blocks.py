"""Shapes of states and of coupled groups."""

from __future__ import annotations

from errands.machines.graph import MachineGraph, Node
from errands.plots.blocks import is_round, shape
from errands.tables import SUCCESS


def test_short_names_make_circles(samples: dict[str, MachineGraph]) -> None:
    assert is_round(samples["figure-1b"])
    assert not is_round(samples["figure-2b"])


def test_a_terminal_is_wider_by_its_second_border_but_no_taller() -> None:
    graph = MachineGraph("", (Node("4{}s"), Node("4{}s", SUCCESS)), ())
    plain, double = (shape(graph, (i,), {}, last=False).members[0] for i in (0, 1))
    assert double.half_width - plain.half_width == 3
    assert double.half_height == plain.half_height


def test_a_stack_is_centred_and_its_outer_loops_point_away() -> None:
    graph = MachineGraph("", tuple(Node(f"0{{a,b,c}}{x}", group=1) for x in "abc"), ())
    stack = shape(graph, (0, 1, 2), dict.fromkeys(range(3), ("⟨¬x; 0⟩",)), last=False)
    top, _, bottom = stack.members
    assert top.offset - top.half_height == -(bottom.offset + bottom.half_height)
    assert [member.loop_above for member in stack.members] == [True, True, False]
    assert stack.ring is not None
    assert stack.ring[1] < top.half_height - top.offset + top.reach
