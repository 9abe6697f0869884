"""The picture as a value: nothing overlaps, ellipses hold their group and no one else."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from errands.machines.graph import MachineGraph
from errands.plots.layout import Picture, layout
from errands.plots.measure import LINE, text_width

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
        for ring in picture.rings:
            inside = set()
            for node, (left, top, right, bottom) in enumerate(boxes(picture)):
                corners = [
                    ((x - ring.x) / ring.half_width) ** 2 + ((y - ring.y) / ring.half_height) ** 2 < 1
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
