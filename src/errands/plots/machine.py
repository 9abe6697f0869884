"""A machine as a picture or text: SVG in the manner of Figures 1b and 2, plain text, DOT, JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape

from errands.errors import TaskError
from errands.machines.graph import Edge, MachineGraph, Node
from errands.plots.layout import FONT, LINE, Picture, Ring, StateBox, Wire, clean, layout, text_width
from errands.tables import FAILURE, RUNNING, SUCCESS

_INK, _WARN, _RING = "#1b1b1f", "#b3261e", "#d32f2f"
_FILL = {RUNNING: "#ffffff", SUCCESS: "#c9f4fb", FAILURE: "#fde3e1"}
_MONO = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
_SERIF = "'Latin Modern Math', 'STIX Two Text', 'DejaVu Serif', Georgia, serif"
_CAPTION = 26.0
_MOST = 2_000


def as_svg(graph: MachineGraph) -> str:
    """The machine as a complete SVG document; every state and arrow carries its full text as a tooltip."""
    if len(graph.nodes) > _MOST:
        raise TaskError(
            f"a picture of {len(graph.nodes):,} states cannot be read (at most {_MOST:,}); "
            "draw the numeric machine, or take the format text or json"
        )
    picture = layout(graph)
    width = max(picture.width, text_width(graph.title) + 28)
    height = picture.height + (_CAPTION if graph.title else 0.0)
    return "\n".join([*_frame(graph, width, height), *_parts(graph, picture, width), "</svg>", ""])


def _frame(graph: MachineGraph, width: float, height: float) -> Iterator[str]:
    size = f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{_MONO}" font-size="{_n(FONT)}">'
    yield f"<title>{_text(graph.title)}</title>"
    yield f'<rect width="{_n(width)}" height="{_n(height)}" fill="#ffffff"/>'


def _parts(graph: MachineGraph, picture: Picture, width: float) -> Iterator[str]:
    shift = (width - picture.width) / 2
    yield f'<g transform="translate({_n(shift)} 0)" stroke-linecap="round" stroke-linejoin="round">'
    for ring in picture.rings:
        yield _ring(ring)
    # Lines to a failure come first: where lines cross, the way to success stays on top.
    for wire in sorted(picture.wires, key=lambda wire: graph.nodes[wire.target].status != FAILURE):
        yield from _wire(graph, wire)
    for box in picture.boxes:
        yield from _state(graph, box, picture.round)
    yield "</g>"
    if graph.title:
        middle = f'x="{_n(width / 2)}" y="{_n(picture.height + _CAPTION - 14)}"'
        yield f'<text {middle} text-anchor="middle" fill="#55565c">{_text(graph.title)}</text>'


def _ring(ring: Ring) -> str:
    place = " ".join(f'{name}="{_n(value)}"' for name, value in zip(("cx", "cy", "rx", "ry"), ring, strict=True))
    return f'<ellipse class="group" {place} fill="none" stroke="{_RING}" stroke-width="1.6" stroke-dasharray="6 4"/>'


def _wire(graph: MachineGraph, wire: Wire) -> Iterator[str]:
    colour = _WARN if graph.nodes[wire.target].status == FAILURE else _INK
    (x, _, y), (_, tip, level) = wire.spans[0], wire.spans[-1]
    step = 1.0 if tip > wire.spans[-1][0] else -1.0
    path = [f"M{_n(x)} {_n(y)}H{_n(wire.spans[0][1])}"]
    for (_, x0, y0), (x1, x2, y1) in pairwise(wire.spans):
        middle = _n((x0 + x1) / 2)
        path.append("" if y0 == y1 else f"C{middle} {_n(y0)} {middle} {_n(y1)} {_n(x1)} {_n(y1)}")
        path.append(f"H{_n(x2 if (x1, x2, y1) != wire.spans[-1] else x2 - 6 * step)}")
    yield '<g class="edge">'
    yield f"<title>{_tip(graph, wire.source, wire.target, wire.labels)}</title>"
    yield f'<path d="{"".join(path)}" fill="none" stroke="{colour}" stroke-width="1.3"/>'
    yield _head(tip, level, step, 0.0, colour)
    yield from _lines(wire.lines, wire.label[0], wire.label[1] - 5, colour)
    yield "</g>"


def _state(graph: MachineGraph, box: StateBox, circle: bool) -> Iterator[str]:
    node, member = graph.nodes[box.member.node], box.member
    if node.initial:
        tip = box.x - member.half_width
        line = f"M{_n(tip - 22)} {_n(box.y)}H{_n(tip - 6)}"
        yield f'<path class="initial" d="{line}" stroke="{_INK}" stroke-width="1.3"/>'
        yield _head(tip, box.y, 1.0, 0.0, _INK)
    if member.loop:
        yield from _loop(graph, box, circle)
    yield '<g class="state">'
    yield f"<title>{_text(node.text)}</title>"
    yield _outline(box, node, circle, 0.0)
    if node.status != RUNNING:
        yield _outline(box, node, circle, 3.0)
    first = box.y - (len(member.lines) - 1) * LINE / 2 + FONT * 0.36
    yield from _name(node, box.x, first) if circle else _lines(member.lines, box.x, first, _INK, downward=True)
    yield "</g>"


def _outline(box: StateBox, node: Node, circle: bool, inset: float) -> str:
    style = f'fill="{_FILL[node.status]}" stroke="{_WARN if node.status == FAILURE else _INK}" stroke-width="1.3"'
    half_width, half_height = box.member.half_width - inset, box.member.half_height - inset
    if circle:
        return f'<circle cx="{_n(box.x)}" cy="{_n(box.y)}" r="{_n(half_width)}" {style}/>'
    corner = f'x="{_n(box.x - half_width)}" y="{_n(box.y - half_height)}"'
    return f'<rect {corner} width="{_n(2 * half_width)}" height="{_n(2 * half_height)}" rx="{_n(9 - inset)}" {style}/>'


def _name(node: Node, x: float, y: float) -> Iterator[str]:
    """A short name as the paper sets it: a letter in italics with its number as a subscript."""
    letter = re.fullmatch(r"([A-Za-z])(\d{1,2})", node.text)
    style = f'x="{_n(x)}" y="{_n(y)}" text-anchor="middle" fill="{_INK}" font-family="{_SERIF}" font-size="16"'
    if letter is None:
        yield f"<text {style}>{_text(node.text)}</text>"
    else:
        number = f'<tspan font-style="normal" font-size="11" dy="3.5">{letter[2]}</tspan>'
        yield f'<text {style} font-style="italic">{letter[1]}{number}</text>'


def _loop(graph: MachineGraph, box: StateBox, circle: bool) -> Iterator[str]:
    member = box.member
    side = -1.0 if member.loop_above else 1.0
    spread, out = 6.0, 15.0
    half = math.sqrt(member.half_height**2 - spread**2) if circle else member.half_height
    border, far = box.y + side * half, box.y + side * (member.half_height + member.reach * 1.2)
    start, end = box.x - spread, box.x + spread
    bend = f"C{_n(box.x - out)} {_n(far)} {_n(box.x + out)} {_n(far)} {_n(end + 1)} {_n(border + side * 5)}"
    yield '<g class="loop">'
    yield f"<title>{_tip(graph, member.node, member.node, member.labels)}</title>"
    yield f'<path d="M{_n(start)} {_n(border)}{bend}" fill="none" stroke="{_INK}" stroke-width="1.3"/>'
    yield _head(end, border, -0.16, -side, _INK)
    edge = box.y + side * (member.half_height + member.reach)
    lowest = edge - 3 if member.loop_above else edge + len(member.loop) * LINE - 3
    yield from _lines(member.loop, box.x, lowest, _INK)
    yield "</g>"


def _head(x: float, y: float, dx: float, dy: float, colour: str) -> str:
    """A stealth-shaped arrow head with its tip at (x, y), pointing along (dx, dy)."""
    size = math.hypot(dx, dy)
    dx, dy = dx / size, dy / size
    corners = [(0.0, 0.0), (-9.0, -3.8), (-6.3, 0.0), (-9.0, 3.8)]
    points = " ".join(f"{_n(x + a * dx - b * dy)},{_n(y + a * dy + b * dx)}" for a, b in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'


def _lines(lines: tuple[str, ...], x: float, y: float, colour: str, downward: bool = False) -> Iterator[str]:
    """Centred lines of text, the last one (or with `downward` the first one) on the base line y."""
    for i, line in enumerate(lines):
        base = y + i * LINE if downward else y - (len(lines) - 1 - i) * LINE
        # The layout reckons with a font of fixed pitch; textLength keeps to it where the viewer has another font.
        fit = f'textLength="{_n(text_width(line))}" lengthAdjust="spacingAndGlyphs"'
        yield f'<text x="{_n(x)}" y="{_n(base)}" text-anchor="middle" {fit} fill="{colour}">{_text(line)}</text>'


def _tip(graph: MachineGraph, source: int, target: int, labels: tuple[str, ...]) -> str:
    return _text(f"{graph.nodes[source].text} → {graph.nodes[target].text}: {'  '.join(labels)}")


def _text(text: str) -> str:
    return escape(clean(text))


def _n(value: float) -> str:
    """A coordinate with at most one decimal, the same on every machine."""
    return f"{value + 0.0:.1f}".removesuffix(".0") if abs(value) >= 0.05 else "0"


_ENDING = {SUCCESS: "✓ success", FAILURE: "✗ failure"}


def as_text(graph: MachineGraph) -> str:
    """A listing: `▶` marks where the machine starts, `↺` a transition that stays, `∥1` the first coupled group."""
    groups = list(dict.fromkeys(node.group for node in graph.nodes if node.group is not None))
    names = [_shown_name(node, groups) for node in graph.nodes]
    outgoing: list[list[Edge]] = [[] for _ in graph.nodes]
    for edge in graph.edges:
        outgoing[edge.source].append(edge)
    width = max(map(len, names), default=0)
    reach = max((len(_label(edge)) for edge in graph.edges), default=0)
    states, transitions = _count(len(graph.nodes), "state"), _count(len(graph.edges), "transition")
    listing = [f"{clean(graph.title)} ({states}, {transitions})".strip()]
    for node, name, edges in zip(graph.nodes, names, outgoing, strict=True):
        ways = [_way(graph, edge, reach) for edge in edges]
        if node.status != RUNNING:
            ways.insert(0, _ENDING[node.status])
        start = f"{'▶' if node.initial else ' '} {name:{width}}"
        listing.append(f"{start}   {ways[0]}" if ways else start.rstrip())
        listing += [f"{'':{width + 5}}{way}" for way in ways[1:]]
    return "\n".join(listing) + "\n"


def _shown_name(node: Node, groups: list[int]) -> str:
    return clean(node.text) if node.group is None else f"{clean(node.text)} ∥{groups.index(node.group) + 1}"


def _label(edge: Edge) -> str:
    return clean(f"⟨{edge.guard}; {edge.reward}⟩")


def _way(graph: MachineGraph, edge: Edge, reach: int) -> str:
    if edge.source == edge.target:
        return f"{_label(edge):{reach}} ↺"
    return f"{_label(edge):{reach}} → {clean(graph.nodes[edge.target].text)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_STATUS = {RUNNING: "running", SUCCESS: "success", FAILURE: "failure"}


def as_json(graph: MachineGraph) -> dict[str, Any]:
    """The machine as plain values; edges name states by their place in `nodes`."""
    nodes = [
        {"text": node.text, "status": _STATUS[node.status], "initial": node.initial, "group": node.group}
        for node in graph.nodes
    ]
    edges = [{"source": e.source, "target": e.target, "guard": e.guard, "reward": e.reward} for e in graph.edges]
    return {"title": graph.title, "nodes": nodes, "edges": edges}


def as_dot(graph: MachineGraph) -> str:
    """The machine for Graphviz, with coupled groups as dashed clusters."""
    fill = {RUNNING: "white", SUCCESS: "lightcyan", FAILURE: "mistyrose"}
    lines = [f"digraph {_quoted(graph.title)} {{", "  rankdir=LR;", '  node [shape=box, style="rounded,filled"];']
    for i, node in enumerate(graph.nodes):
        borders = 1 if node.status == RUNNING else 2
        lines.append(f"  n{i} [label={_quoted(node.text)}, fillcolor={fill[node.status]}, peripheries={borders}];")
        if node.initial:
            lines += [f"  start{i} [shape=point, style=invis];", f"  start{i} -> n{i};"]
    for group, members in _groups(graph).items():
        inside = " ".join(f"n{i};" for i in members)
        lines.append(f"  subgraph cluster_{group} {{ style=dashed; color=red; {inside} }}")
    for e in graph.edges:
        lines.append(f"  n{e.source} -> n{e.target} [label={_quoted(f'⟨{e.guard}; {e.reward}⟩')}];")
    return "\n".join([*lines, "}", ""])


def _groups(graph: MachineGraph) -> dict[int, list[int]]:
    """The members of each coupled group that has more than one."""
    members: dict[int, list[int]] = {}
    for i, node in enumerate(graph.nodes):
        if node.group is not None:
            members.setdefault(node.group, []).append(i)
    return {group: states for group, states in members.items() if len(states) > 1}


def _quoted(text: str) -> str:
    # Graphviz reads entities inside its strings, so an ampersand must be one.
    return '"' + clean(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') + '"'


FORMATS: Mapping[str, Callable[[MachineGraph], str | dict[str, Any]]] = {
    "text": as_text,
    "svg": as_svg,
    "dot": as_dot,
    "json": as_json,
}
"""How `errands show --format` draws a machine."""
