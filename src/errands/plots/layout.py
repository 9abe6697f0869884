"""The layout of Figures 1b and 2: blocks of states, rows that pull each other straight, places, and the wires between them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from errands.machines.graph import MachineGraph
from errands.plots.layering import Layers, Slot, layers, order
from errands.tables import FAILURE, RUNNING


@dataclass(frozen=True)
class Pull:
    """A line to a slot further right that wants both level: y[left] + left_offset = y[right] + right_offset."""

    left: int
    right: int
    weight: float
    firm: bool = False
    """Whether the line is the only one at both of its ends."""
    left_offset: float = 0.0
    right_offset: float = 0.0


def rows(
    columns: Sequence[Sequence[int]], room: Sequence[tuple[float, float]], pulls: Sequence[Pull], sweeps: int = 44
) -> list[float]:
    """The height of each slot: least squares for balance first, then medians, which make lines exactly straight.

    Every column is solved exactly while the others rest: `room` (above, below) of neighbours never overlaps.
    In the sweeps with medians firm lines coming from behind pull hardest, which carries a level through a whole chain.
    """
    height = _stacked(columns, room)
    for sweep in range(sweeps):
        rightward, balancing = sweep % 2 == 0, sweep < sweeps - 13
        wants = _wants(len(room), pulls, rightward, 1.0 if balancing else 20.0)
        centre = _mean if balancing else _median
        for column in columns if rightward else reversed(columns):
            # Less the depth where all touch, "no two overlap" becomes "heights never decrease", which _pool can solve.
            gaps = _depths(column, room)
            wanted = [[(height[o] + d - gap, w) for o, d, w in wants[s]] for s, gap in zip(column, gaps, strict=True)]
            current = [height[s] - gap for s, gap in zip(column, gaps, strict=True)]
            for slot, gap, y in zip(column, gaps, _pool(wanted, current, centre), strict=True):
                height[slot] = y + gap
    return height


def _wants(count: int, pulls: Sequence[Pull], rightward: bool, lead: float) -> list[list[tuple[int, float, float]]]:
    """For each slot the slots it wants to be level with, by how much apart, and how strongly."""
    wants: list[list[tuple[int, float, float]]] = [[] for _ in range(count)]
    for pull in pulls:
        apart = pull.right_offset - pull.left_offset
        ahead, behind = pull.weight, pull.weight * (lead if pull.firm else 1.0)
        wants[pull.left].append((pull.right, apart, ahead if rightward else behind))
        wants[pull.right].append((pull.left, -apart, behind if rightward else ahead))
    return wants


def _depths(column: Sequence[int], room: Sequence[tuple[float, float]]) -> list[float]:
    """How far each slot lies under the first one when all of them touch."""
    depths, depth = [], 0.0
    for i, slot in enumerate(column):
        depth += room[slot][0] + room[column[i - 1]][1] if i else 0.0
        depths.append(depth)
    return depths


def _stacked(columns: Sequence[Sequence[int]], room: Sequence[tuple[float, float]]) -> list[float]:
    height = [0.0] * len(room)
    for column in columns:
        depths = _depths(column, room)
        for slot, depth in zip(column, depths, strict=True):
            height[slot] = depth - depths[-1] / 2
    return height


_Wanted = list[tuple[float, float]]
"""Heights that a slot is pulled to, with their weights."""
_Centre = Callable[[_Wanted, float], float]


def _pool(wanted: list[_Wanted], current: list[float], centre: _Centre) -> list[float]:
    """Isotonic regression by pooling: the non-decreasing heights nearest to the wanted ones."""
    pools: list[tuple[float, _Wanted, list[float]]] = []
    for wish, now in zip(wanted, current, strict=True):
        pool = (centre(wish, now), wish, [now])
        # Neighbours that want to pass each other must stand together: they are joined and share one place.
        while pools and pools[-1][0] > pool[0]:
            _, earlier, places = pools.pop()
            joined, places = earlier + pool[1], places + pool[2]
            pool = (centre(joined, sum(places) / len(places)), joined, places)
        pools.append(pool)
    return [y for y, _, places in pools for _ in places]


def _mean(wanted: _Wanted, now: float) -> float:
    total = sum(weight for _, weight in wanted)
    return sum(y * weight for y, weight in wanted) / total if total else now


def _median(wanted: _Wanted, now: float) -> float:
    """The weighted median; where a whole interval is optimal, the point of it nearest to where the slot is now."""
    half = sum(weight for _, weight in wanted) / 2
    seen = 0.0
    low: float | None = None
    for y, weight in sorted(wanted):
        seen += weight
        if low is None and seen >= half - 1e-9:
            low = y
        if seen > half + 1e-9:
            return now if low is None else min(max(now, low), y)
    return now


FONT = 12.0
"""Size of every text in a picture, in pixels."""
LINE = 15.0
"""Distance between two lines of text."""
_ADVANCE = 0.602 * FONT
_UNFIT = ("Cc", "Cs", "Zl", "Zp")
_PIECES = re.compile(r"[^∧∨&|,;]*[∧∨&|,;]\s*|[^∧∨&|,;]+")


def clean(text: str) -> str:
    """The text with every character that XML cannot hold, and every line break, replaced by a visible sign."""
    return "".join("\ufffd" if unicodedata.category(c) in _UNFIT or c in "\ufffe\uffff" else c for c in text)


def text_width(text: str) -> float:
    """The width in pixels of one line in a font of fixed pitch."""
    wide = sum(unicodedata.east_asian_width(c) in ("W", "F") for c in text)
    return _ADVANCE * (len(text) + wide)


def wrap(text: str, limit: int) -> tuple[str, ...]:
    """The text as lines of at most `limit` characters, broken after an operator or a comma where there is one."""
    lines = [""]
    for piece in _PIECES.findall(clean(text)):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > limit:
            lines.append("")
        lines[-1] += piece
        while len(lines[-1].rstrip()) > limit:
            lines[-1:] = [lines[-1][:limit], lines[-1][limit:]]
    return tuple(line.strip() for line in lines)


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
    # The corner (a, b) lies on this ellipse: 1 / stretch^2 and 1 - 1 / stretch^2 add up to 1.
    return a * stretch, b / math.sqrt(1 - stretch**-2)


def _loop_room(member: Member) -> float:
    return member.reach + len(member.loop) * LINE if member.loop else 0.0


def _half(lines: tuple[str, ...]) -> float:
    return max(map(text_width, lines), default=0.0) / 2


_PORT = 7.0


@dataclass(frozen=True)
class StateBox:
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
    boxes: dict[int, StateBox],
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


def _border(box: StateBox, y: float, circles: bool) -> float:
    """Half the width of a box or circle at height y."""
    half = box.member.half_width
    return float((half**2 - (y - box.y) ** 2) ** 0.5) if circles else half


def _ports(cut: Layers, boxes: dict[int, StateBox], height: list[float]) -> dict[tuple[int, int, str], float]:
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
            # Leaving lines take the side to which they go on average, so that they do not cross the entering ones.
            sign = _PORT if sum(far) / len(far) >= sum(entering) / len(entering) else -_PORT
            ports[node, side, "out"] += sign
            ports[node, side, "in"] -= sign
    return ports


Ring = tuple[float, float, float, float]
"""The middle of an ellipse and its half axes."""
_MARGIN = 14.0
_STUB = 13.0
"""Level piece of line beside a column of states: room for an arrow head."""


@dataclass(frozen=True)
class Picture:
    """A machine laid out on a canvas of the given size; boxes stand in the order of the machine's states."""

    width: float
    height: float
    round: bool
    boxes: tuple[StateBox, ...]
    wires: tuple[Wire, ...]
    rings: tuple[Ring, ...]
    """The ellipses around coupled groups."""


def layout(graph: MachineGraph) -> Picture:
    """Lay a machine out from left to right."""
    cut = layers(graph)
    columns = order(cut)
    labels = [tuple(line for text in arrow.labels for line in wrap(text, LABEL_LIMIT)) for arrow in cut.arrows]
    shapes = _shapes(graph, cut, columns)
    room = [_room(cut, slot, shapes, labels) for slot in range(len(cut.slots))]
    pulls = _pulls(graph, cut, shapes)
    height = rows(columns, room, pulls)
    top = min((y - above for y, (above, _) in zip(height, room, strict=True)), default=0.0) - _MARGIN
    height = [round(y - top, 1) for y in height]
    bottom = max((y + below for y, (_, below) in zip(height, room, strict=True)), default=0.0) + _MARGIN
    half_width = [_half_width(cut, slot, shapes, labels) for slot in range(len(cut.slots))]
    bounds = _bounds(cut, columns, height, pulls, half_width)

    boxes: dict[int, StateBox] = {}
    rings = []
    for block, outline in enumerate(shapes):
        left, right = bounds[cut.slots[block].column]
        x = round((left + right) / 2, 1)
        boxes |= {m.node: StateBox(m, x, round(height[block] + m.offset, 1)) for m in outline.members}
        if outline.ring is not None:
            rings.append((x, height[block], *outline.ring))
    drawn = wires(cut, boxes, height, bounds, labels, is_round(graph))
    width = (bounds[-1][1] if bounds else 0.0) + _MARGIN
    return Picture(width, bottom, is_round(graph), tuple(boxes[i] for i in range(len(boxes))), drawn, tuple(rings))


def _shapes(graph: MachineGraph, cut: Layers, columns: list[list[int]]) -> list[Shape]:
    lowest = set()
    for column in columns[::2]:
        blocks = [slot for slot in column if cut.slots[slot].block is not None]
        lowest |= set(blocks[-1:]) if len(blocks) > 1 else set()
    return [shape(graph, block, cut.loops, b in lowest) for b, block in enumerate(cut.blocks)]


def _room(cut: Layers, slot: int, shapes: list[Shape], labels: list[tuple[str, ...]]) -> tuple[float, float]:
    """How much room a slot takes above and below its line, with half of the distance to its neighbours."""
    block, arrow = cut.slots[slot].block, cut.slots[slot].arrow
    if block is not None:
        return shapes[block].above + 8, shapes[block].below + 8
    if arrow is not None:
        return len(labels[arrow]) * LINE + 5, 5.0
    return 7.0, 7.0


def _half_width(cut: Layers, slot: int, shapes: list[Shape], labels: list[tuple[str, ...]]) -> float:
    block, arrow = cut.slots[slot].block, cut.slots[slot].arrow
    if block is not None:
        return shapes[block].half_width + _STUB
    return 0.0 if arrow is None else max(map(text_width, labels[arrow])) / 2 + 2


def _pulls(graph: MachineGraph, cut: Layers, shapes: list[Shape]) -> list[Pull]:
    """Every link wants to be level: a lone line at a state more than one of many, a long line most of all."""
    failing = {slot for slot, place in enumerate(cut.slots) if _fails(graph, cut, place)}
    crowd: dict[tuple[bool, int, int], int] = defaultdict(int)
    for link in cut.links:
        crowd[True, link.left, link.left_member] += link.right not in failing
        crowd[False, link.right, link.right_member] += link.left not in failing
    pulls = []
    for link in cut.links:
        left, right = cut.slots[link.left], cut.slots[link.right]
        leaving, entering = crowd[True, link.left, link.left_member], crowd[False, link.right, link.right_member]
        passing = sum(end.block is None and end.arrow is None for end in (left, right))
        if passing == 2:
            weight, firm = 3.0, True
        elif passing or link.left in failing or link.right in failing:
            weight, firm = 0.2, False
        else:
            # The label of an arrow stands level with its lonelier end, else with its right one.
            weight = 1.0 / leaving if left.block is not None else 1.05 / entering
            firm = leaving == entering == 1
        offsets = _offset(shapes, left, link.left_member), _offset(shapes, right, link.right_member)
        pulls.append(Pull(link.left, link.right, weight, firm, *offsets))
    return pulls


def _fails(graph: MachineGraph, cut: Layers, slot: Slot) -> bool:
    return slot.arrow is not None and graph.nodes[cut.arrows[slot.arrow].target].status == FAILURE


def _offset(shapes: list[Shape], slot: Slot, member: int) -> float:
    return 0.0 if slot.block is None else shapes[slot.block].members[member].offset


def _bounds(
    cut: Layers, columns: list[list[int]], height: list[float], pulls: list[Pull], half_width: list[float]
) -> list[tuple[float, float]]:
    """Left and right edge of each column; a gap is wider where lines in it climb more."""
    climb = [0.0] * (len(columns) + 1)
    for pull in pulls:
        rise = height[pull.left] + pull.left_offset - height[pull.right] - pull.right_offset
        climb[cut.slots[pull.left].column] = max(climb[cut.slots[pull.left].column], abs(rise))
    bounds = []
    x = _MARGIN + 12
    for c, column in enumerate(columns):
        width = 2 * max((half_width[slot] for slot in column), default=0.0)
        bounds.append((round(x, 1), round(x + width, 1)))
        x += width + (min(18 + 0.22 * climb[c], 110) if climb[c] > 0.5 else 8)
    return bounds
