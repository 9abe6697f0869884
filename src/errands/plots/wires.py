"""The lines of a picture: from border to border, level inside columns, bent between them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from errands.plots.blocks import Member
from errands.plots.layering import Layers

_PORT = 7.0


@dataclass(frozen=True)
class Box:
    """A state as drawn: the middle of its box or circle, and its self-loop if it has one."""

    member: Member
    x: float
    y: float


@dataclass(frozen=True)
class Wire:
    """An arrow as drawn: level spans (from x, to x, y) joined by bends, and its label lines centred above `label`."""

    source: int
    target: int
    labels: tuple[str, ...]
    spans: tuple[tuple[float, float, float], ...]
    label: tuple[float, float]
    lines: tuple[str, ...]


def wires(
    cut: Layers,
    boxes: dict[int, Box],
    height: list[float],
    bounds: list[tuple[float, float]],
    labels: list[tuple[str, ...]],
    circles: bool,
) -> tuple[Wire, ...]:
    """Every arrow of a machine, given the heights of its slots and the left and right edges of the columns."""
    ports = _ports(cut, boxes, height)
    drawn = []
    for number, (arrow, route) in enumerate(zip(cut.arrows, cut.routes, strict=True)):
        step = 1 if cut.slots[route[0]].column < cut.slots[route[-1]].column else -1
        spans = []
        for slot in route[1:-1]:
            left, right = bounds[cut.slots[slot].column]
            spans.append((left, right, height[slot]) if step > 0 else (right, left, height[slot]))
        start, end = boxes[arrow.source], boxes[arrow.target]
        y0, y1 = ports[arrow.source, step, "out"], ports[arrow.target, -step, "in"]
        x0 = start.x + step * _border(start, y0, circles)
        x1 = end.x - step * _border(end, y1, circles)
        edge = bounds[cut.slots[route[0]].column][step > 0], bounds[cut.slots[route[-1]].column][step < 0]
        spans = [(x0, edge[0], y0), *spans, (edge[1], x1, y1)]
        left, right = bounds[cut.slots[route[1]].column]
        label = (left + right) / 2, height[route[1]]
        drawn.append(Wire(arrow.source, arrow.target, arrow.labels, tuple(spans), label, labels[number]))
    return tuple(drawn)


def _border(box: Box, y: float, circles: bool) -> float:
    """Half the width of a box or circle at height y."""
    half = box.member.half_width
    return float((half**2 - (y - box.y) ** 2) ** 0.5) if circles else half


def _ports(cut: Layers, boxes: dict[int, Box], height: list[float]) -> dict[tuple[int, int, str], float]:
    """The height at which lines leave and enter each side of each state: apart where a side has both kinds."""
    reached: dict[tuple[int, int, str], list[float]] = defaultdict(list)
    for arrow, route in zip(cut.arrows, cut.routes, strict=True):
        step = 1 if cut.slots[route[0]].column < cut.slots[route[-1]].column else -1
        reached[arrow.source, step, "out"].append(height[route[1]])
        reached[arrow.target, -step, "in"].append(height[route[-2]])
    ports = {key: boxes[key[0]].y for key in reached}
    for (node, side, kind), far in reached.items():
        if kind == "out" and (node, side, "in") in reached:
            entering = reached[node, side, "in"]
            sign = _PORT if sum(far) / len(far) >= sum(entering) / len(entering) else -_PORT
            ports[node, side, "out"] += sign
            ports[node, side, "in"] -= sign
    return ports
