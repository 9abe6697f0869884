"""Where everything in the picture of a machine stands: a value that SVG draws and tests look at (Figures 1b and 2).

Columns of states alternate with columns of labels. Inside a column every line runs level in its own slot and bends only
in the gaps between columns, so no line crosses a box or a label, and no two of these overlap.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from errands.machines.graph import MachineGraph
from errands.plots.blocks import LABEL_LIMIT, Shape, is_round, shape
from errands.plots.layering import Layers, Slot, layers
from errands.plots.measure import LINE, text_width, wrap
from errands.plots.ordering import order
from errands.plots.rows import Pull, rows
from errands.plots.wires import Box, Wire, wires
from errands.tables import FAILURE

_MARGIN = 14.0
_STUB = 13.0
"""Level piece of line beside a column of states: room for an arrow head."""


@dataclass(frozen=True)
class Ring:
    """The ellipse around a coupled group."""

    x: float
    y: float
    half_width: float
    half_height: float


@dataclass(frozen=True)
class Picture:
    """A machine laid out on a canvas of the given size; boxes stand in the order of the machine's states."""

    width: float
    height: float
    round: bool
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    rings: tuple[Ring, ...]


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

    boxes: dict[int, Box] = {}
    rings = []
    for block, outline in enumerate(shapes):
        left, right = bounds[cut.slots[block].column]
        x = round((left + right) / 2, 1)
        boxes |= {m.node: Box(m, x, round(height[block] + m.offset, 1)) for m in outline.members}
        if outline.ring is not None:
            rings.append(Ring(x, height[block], *outline.ring))
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
