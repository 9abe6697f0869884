"""The shape of a state in a picture, or of a coupled group stacked in its ellipse: boxes, self-loops, room taken."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from errands.machines.graph import MachineGraph
from errands.plots.measure import LINE, text_width, wrap
from errands.tables import RUNNING

LABEL_LIMIT = 28
"""Characters in one line of an edge's label."""
_BOX_LIMIT = 44
_LOOP_REACH = 24.0
_STACK_GAP = 16.0


@dataclass(frozen=True)
class Member:
    """One state relative to the middle of its block: its box, its lines of text, and its self-loop."""

    node: int
    offset: float
    half_width: float
    half_height: float
    lines: tuple[str, ...]
    labels: tuple[str, ...]
    """The labels of the self-loop; empty when there is none."""
    loop: tuple[str, ...]
    """The same broken into lines."""
    loop_above: bool
    reach: float
    """How far the self-loop rises out of the box."""


@dataclass(frozen=True)
class Shape:
    """A block: its states from top to bottom, its ellipse and the room that it takes around its middle."""

    members: tuple[Member, ...]
    ring: tuple[float, float] | None
    above: float
    below: float
    half_width: float


def is_round(graph: MachineGraph) -> bool:
    """Whether states are drawn as circles: all names are short, as in Figures 1b and 2a."""
    return all(len(node.text) <= 3 for node in graph.nodes)


def shape(graph: MachineGraph, block: tuple[int, ...], loops: dict[int, tuple[str, ...]], last: bool) -> Shape:
    """Stack the states of a block; the loop of the lowest hangs below it if there are others or `last` says so."""
    members: list[Member] = []
    depth = 0.0
    for node in block:
        above = node != block[-1] or not (last or len(block) > 1)
        member = _member(graph, node, loops.get(node, ()), above)
        if members:
            depth += members[-1].half_height + _STACK_GAP + (_loop_room(member) if above else 0.0) + member.half_height
        members.append(replace(member, offset=depth))
        depth = members[-1].offset
    middle = (members[0].offset - members[0].half_height + members[-1].offset + members[-1].half_height) / 2
    members = [replace(member, offset=member.offset - middle) for member in members]
    ring = _ring(graph, members)
    if ring is not None:
        stack = members[-1].offset + members[-1].half_height
        # The label of an outer loop stands outside the ellipse.
        reach = max(_LOOP_REACH, ring[1] - stack + 7)
        members[0], members[-1] = replace(members[0], reach=reach), replace(members[-1], reach=reach)
    return _bounded(tuple(members), ring)


def _bounded(members: tuple[Member, ...], ring: tuple[float, float] | None) -> Shape:
    above = max(m.half_height - m.offset + (_loop_room(m) if m.loop_above else 0.0) for m in members)
    below = max(m.half_height + m.offset + (0.0 if m.loop_above else _loop_room(m)) for m in members)
    width = max(max(m.half_width, _half(m.loop)) for m in members)
    if ring is not None:
        above, below, width = max(above, ring[1] + 4), max(below, ring[1] + 4), max(width, ring[0] + 4)
    return Shape(members, ring, above, below, width)


def _member(graph: MachineGraph, node: int, labels: tuple[str, ...], above: bool) -> Member:
    state = graph.nodes[node]
    lines = wrap(state.text, _BOX_LIMIT)
    # A second border lies inside: states of all kinds are equally tall, which keeps their rows straight.
    border = 0.0 if state.status == RUNNING else 3.0
    if is_round(graph):
        half_width = half_height = 18.0
    else:
        half_width = max(_half(lines) + 9, 16.0) + border
        half_height = len(lines) * LINE / 2 + 8
    broken = tuple(line for text in labels for line in wrap(text, LABEL_LIMIT))
    return Member(node, 0.0, half_width, half_height, lines, labels, broken, above, _LOOP_REACH)


def _ring(graph: MachineGraph, members: list[Member]) -> tuple[float, float] | None:
    """Half axes of an ellipse through points a little outside the corners of the stack."""
    group = graph.nodes[members[0].node].group
    if group is None or sum(node.group == group for node in graph.nodes) < 2:
        return None
    a = max([m.half_width for m in members] + [_half(m.loop) for m in members[1:-1]]) + 3
    b = members[-1].offset + members[-1].half_height + 3
    stretch = min(2.2, 1.2 + 0.22 * b / a)
    return a * stretch, b / math.sqrt(1 - stretch**-2)


def _loop_room(member: Member) -> float:
    return member.reach + len(member.loop) * LINE if member.loop else 0.0


def _half(lines: tuple[str, ...]) -> float:
    return max(map(text_width, lines), default=0.0) / 2
