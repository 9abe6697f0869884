"""The picture as a value: nothing overlaps, ellipses hold their group and no one else."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.machines.graph import MachineGraph, Node
from errands.plots.layout import LINE, Picture, Pull, clean, is_round, layout, rows, shape, text_width, wrap
from errands.tables import SUCCESS

Rectangle = tuple[float, float, float, float]


def boxes(picture: Picture) -> list[Rectangle]:
    return [
        (b.x - b.member.half_width, b.y - b.member.half_height, b.x + b.member.half_width, b.y + b.member.half_height)
        for b in picture.boxes
    ]


def labels(picture: Picture) -> list[Rectangle]:
    found = []
    for wire in picture.wires:
        half = max(map(text_width, wire.lines)) / 2
        x, y = wire.label
        found.append((x - half, y - len(wire.lines) * LINE, x + half, y - 2))
    for box in picture.boxes:
        if box.member.loop:
            half = max(map(text_width, box.member.loop)) / 2
            near = box.member.half_height + box.member.reach
            far = near + len(box.member.loop) * LINE
            top, bottom = (box.y - far, box.y - near) if box.member.loop_above else (box.y + near, box.y + far)
            found.append((box.x - half, top, box.x + half, bottom))
    return found


def overlap(one: Rectangle, two: Rectangle) -> bool:
    return one[0] < two[2] - 0.3 and two[0] < one[2] - 0.3 and one[1] < two[3] - 0.3 and two[1] < one[3] - 0.3


def test_no_two_boxes_or_labels_overlap(graph: MachineGraph) -> None:
    picture = layout(graph)
    for one, two in combinations(boxes(picture) + labels(picture), 2):
        assert not overlap(one, two), (one, two)


def test_everything_stands_on_the_canvas(graph: MachineGraph) -> None:
    picture = layout(graph)
    for left, top, right, bottom in boxes(picture) + labels(picture):
        assert 0 <= left < right <= picture.width
        assert 0 <= top < bottom <= picture.height


def test_level_lines_pass_through_no_other_box_and_no_label(graph: MachineGraph) -> None:
    picture = layout(graph)
    for wire in picture.wires:
        for a, b, y in wire.spans:
            line = (min(a, b) + 1, y - 0.5, max(a, b) - 1, y + 0.5)
            assert not any(overlap(line, other) for other in labels(picture))
            own = {wire.source, wire.target}
            assert not any(overlap(line, box) for node, box in enumerate(boxes(picture)) if node not in own)


def test_lines_bend_only_between_columns(graph: MachineGraph) -> None:
    picture = layout(graph)
    taken = boxes(picture) + labels(picture)
    for wire in picture.wires:
        for (_, a, _), (b, _, _) in pairwise(wire.spans):
            gap = (min(a, b) + 0.1, float("-inf"), max(a, b) - 0.1, float("inf"))
            assert not any(overlap(gap, other) for other in taken)


def test_an_ellipse_holds_the_boxes_of_its_group_and_no_others(samples: dict[str, MachineGraph]) -> None:
    for name, count in (("figure-2c", 1), ("coupled-4", 11)):
        graph = samples[name]
        picture = layout(graph)
        assert len(picture.rings) == count
        held = []
        for cx, cy, rx, ry in picture.rings:
            inside = set()
            for node, (left, top, right, bottom) in enumerate(boxes(picture)):
                corners = [
                    ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 < 1
                    for x in (left, right)
                    for y in (top, bottom)
                ]
                assert all(corners) or not any(corners)
                inside |= {node} if all(corners) else set()
            held.append(inside)
        groups = {node.group for node in graph.nodes if node.group is not None}
        wanted = [{i for i, node in enumerate(graph.nodes) if node.group == group} for group in groups]
        assert sorted(map(sorted, held)) == sorted(map(sorted, wanted))


def test_the_rows_of_a_boolean_machine_are_straight(samples: dict[str, MachineGraph]) -> None:
    tree = layout(samples["boolean-3"])
    assert all(len({tree.boxes[u].y for u in (k, k + 6, k + 12, k + 18)}) == 1 for k in range(7, 13))
    picture = layout(samples["figure-2a"])
    upper = {picture.boxes[u].y for u in (1, 3, 5, 7)}
    lower = {picture.boxes[u].y for u in (2, 4, 6, 8)}
    assert len(upper) == len(lower) == 1
    assert picture.boxes[0].y == pytest.approx((upper.pop() + lower.pop()) / 2, abs=0.1)


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
