"""Pictures as values: shapes written as SVG or painted as pixels; and grids drawn in the manner of the paper's maps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.worlds.grid import GridLayout

FONT = "Helvetica, Arial, sans-serif"
_OVERSAMPLING = 2
CELL = 40.0
MARGIN = 10.0
TINTS = ("#dbe9f6", "#fde3c8", "#dcefd8", "#f7d9de", "#e6dff2", "#fbf1c4")
"""The colours of features on maps: --t0 to --t5 of the page's style.css."""
_INK, _GREY, _AGENT = "#222222", "#d5d5d5", "#c0392b"
_WALL = 3.5


class Rectangle(NamedTuple):
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    fill: str


class Disc(NamedTuple):
    """A filled circle."""

    x: float
    y: float
    radius: float
    fill: str


class Stroke(NamedTuple):
    """A line through points, with round ends."""

    points: tuple[tuple[float, float], ...]
    colour: str
    width: float


class Word(NamedTuple):
    """A text centred on a point."""

    x: float
    y: float
    text: str
    size: float
    colour: str


Shape = Rectangle | Disc | Stroke | Word


@dataclass(frozen=True)
class Drawing:
    """Shapes on a white page, painted in order; y points down."""

    width: float
    height: float
    shapes: tuple[Shape, ...]


def svg(drawing: Drawing) -> str:
    """The drawing as the text of an SVG file."""
    w, h = _n(drawing.width), _n(drawing.height)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" font-family="{FONT}">'
    )
    page = f'<rect width="{w}" height="{h}" fill="#ffffff"/>'
    return "\n".join([head, page, *(_element(shape) for shape in drawing.shapes), "</svg>"]) + "\n"


def _element(shape: Shape) -> str:
    match shape:
        case Rectangle(x, y, width, height, fill):
            return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" fill="{fill}"/>'
        case Disc(x, y, radius, fill):
            return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{fill}"/>'
        case Stroke(points, colour, width):
            joined = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
            style = 'fill="none" stroke-linecap="round" stroke-linejoin="round"'
            return f'<polyline points="{joined}" stroke="{colour}" stroke-width="{_n(width)}" {style}/>'
        case Word(x, y, text, size, colour):
            place = f'x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" fill="{colour}"'
            return f'<text {place} text-anchor="middle" dominant-baseline="central">{escape(text)}</text>'


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def pixels(drawing: Drawing) -> NDArray[np.uint8]:
    """The drawing as an image of height x width x 3 bytes."""
    from PIL import Image, ImageDraw, ImageFont

    k = _OVERSAMPLING
    size = (round(drawing.width), round(drawing.height))
    image = Image.new("RGB", (size[0] * k, size[1] * k), "#ffffff")
    pen = ImageDraw.Draw(image)
    for shape in drawing.shapes:
        match shape:
            case Rectangle(x, y, width, height, fill):
                pen.rectangle((x * k, y * k, (x + width) * k - 1, (y + height) * k - 1), fill=fill)
            case Disc(x, y, radius, fill):
                pen.ellipse(((x - radius) * k, (y - radius) * k, (x + radius) * k, (y + radius) * k), fill=fill)
            case Stroke(points, colour, width):
                scaled = [(x * k, y * k) for x, y in points]
                pen.line(scaled, fill=colour, width=max(1, round(width * k)), joint="curve")
                for x, y in (scaled[0], scaled[-1]) if width >= 2 else ():
                    r = width * k / 2
                    pen.ellipse((x - r, y - r, x + r, y + r), fill=colour)
            case Word(x, y, text, height, colour):
                pen.text((x * k, y * k), text, fill=colour, anchor="mm", font=ImageFont.load_default(height * k))
    return np.asarray(image.resize(size, Image.Resampling.BOX), dtype=np.uint8).copy()


def grid_svg(layout: GridLayout, agent: int | None = None) -> str:
    """The grid as the text of an SVG file, with the agent's cell where it is given."""
    return svg(grid_drawing(layout, agent))


class Mark(NamedTuple):
    """Something that stands still on a grid, in cells from the top left: an area, or a line where it has no width or no height."""

    role: Literal["place", "line", "blocked", "wall", "border"]
    x: int
    y: int
    width: int
    height: int
    feature: str = ""
    sign: str = ""
    tint: int = 0
    """Of a place: its feature, what is written for it, and the number of its colour."""


def plan(layout: GridLayout, hidden: Collection[str] = ()) -> tuple[Mark, ...]:
    """Everything that stands still on a grid: what each painter goes through, in this order. `hidden` features are left out."""
    tint, across = tints(layout.features), layout.width
    places = [Mark("place", c % across, c // across, 1, 1, n, layout.sign(n), tint[n]) for n, c in layout.places if n not in hidden]
    upright = [Mark("line", x, 0, 0, layout.height) for x in range(1, across)]
    level = [Mark("line", 0, y, across, 0) for y in range(1, layout.height)]
    blocked = [Mark("blocked", cell % across, cell // across, 1, 1) for cell in sorted(layout.blocked)]
    # Along the left edge of the higher cell, or along its upper edge.
    beside = {(low, high): high - low == 1 and across > 1 for low, high in sorted(layout.walls)}
    walls = [Mark("wall", high % across, high // across, 1 - left, int(left)) for (_, high), left in beside.items()]
    if layout.wraps:  # nothing stops there
        upright += [Mark("line", x, 0, 0, layout.height) for x in (0, across)]
        level += [Mark("line", 0, y, across, 0) for y in (0, layout.height)]
    border = () if layout.wraps else (Mark("border", 0, 0, across, layout.height),)
    return (*places, *upright, *level, *blocked, *walls, *border)


Points = list[tuple[float, float]]


def strands(layout: GridLayout, cells: Sequence[int]) -> list[Points]:
    """A way through centres of cells, in cells from the top left: over the edge of a torus it goes half a cell out and comes in."""
    found: list[Points] = [[]]
    for before, cell in zip([cells[0], *cells], cells):  # noqa: B905 (each with the one before)
        (x, y), (a, b) = ((c % layout.width, c // layout.width) for c in (cell, before))
        right, down = ((abs(n) > 1) * (1 if n < 0 else -1) * 0.5 for n in (x - a, y - b))
        if right or down:
            found[-1].append((a + 0.5 + right, b + 0.5 + down))
            found.append([(x + 0.5 - right, y + 0.5 - down)])
        found[-1].append((x + 0.5, y + 0.5))
    return found


def grid_drawing(layout: GridLayout, agent: int | None = None, hidden: Collection[str] = ()) -> Drawing:
    """The grid as shapes; features named in `hidden` are left out (boxes that were taken)."""
    marks = plan(layout, hidden)
    shapes = [_shape(mark) for mark in marks]
    texts: dict[int, list[str]] = {}
    for mark in marks:
        if mark.role == "place":
            texts.setdefault(mark.y * layout.width + mark.x, []).append(mark.sign)
    for cell, signs in texts.items():
        text = ",".join(signs)
        shapes.append(Word(*_centre(layout, cell), text, min(17.0, 1.7 * CELL / max(len(text), 1)), _INK))
    if agent is None and layout.start not in texts:
        shapes.append(Word(*_centre(layout, layout.start), "A", 17.0, _AGENT))
    if agent is not None:
        x, y = _centre(layout, agent)
        shapes.append(Disc(x + 10, y + 10, 6.0, _AGENT) if agent in texts else Disc(x, y, 10.0, _AGENT))
    return Drawing(layout.width * CELL + 2 * MARGIN, layout.height * CELL + 2 * MARGIN, tuple(shapes))


def _shape(mark: Mark) -> Shape:
    left, top, width, height = MARGIN + mark.x * CELL, MARGIN + mark.y * CELL, mark.width * CELL, mark.height * CELL
    right, bottom = left + width, top + height
    if mark.role == "border":
        return Stroke(((left, top), (right, top), (right, bottom), (left, bottom), (left, top)), _INK, _WALL)
    if mark.width and mark.height:
        return Rectangle(left, top, width, height, TINTS[mark.tint] if mark.role == "place" else _INK)
    return Stroke(((left, top), (right, bottom)), *((_GREY, 1.0) if mark.role == "line" else (_INK, _WALL)))


def tints(features: Iterable[str]) -> dict[str, int]:
    """The number of each feature's colour, the same wherever it is drawn; names that differ by a number share one."""
    names = list(features)
    families = list(dict.fromkeys(name.rstrip("0123456789") for name in names))
    return {name: families.index(name.rstrip("0123456789")) % len(TINTS) for name in names}


def _centre(layout: GridLayout, cell: int) -> tuple[float, float]:
    return MARGIN + (cell % layout.width + 0.5) * CELL, MARGIN + (cell // layout.width + 0.5) * CELL


def grid_text(layout: GridLayout, agent: int | None = None, hidden: Collection[str] = ()) -> str:
    """The grid as lines of text, the agent as '@' (or 'A' on its start where no agent is given)."""
    at: dict[str, dict[tuple[int, int], str]] = {"place": {}, "blocked": {}, "beside": {}, "above": {}}
    for mark in plan(layout, hidden):
        role = ("beside" if mark.height else "above") if mark.role == "wall" else mark.role
        # Of several features on a cell the one declared first is shown.
        at.setdefault(role, {}).setdefault((mark.x, mark.y), mark.sign or "#")
    here = {} if agent is None else {divmod(agent, layout.width)[::-1]: "@"}
    start = {divmod(layout.start, layout.width)[::-1]: "A"} if agent is None else {}
    shown = {**start, **at["place"], **at["blocked"], **here}
    wide = max([1, *(len(text) for text in at["place"].values())])
    # Nothing stops at the edge of a torus, which is dotted.
    (edge, dash), columns = (":", ".") if layout.wraps else ("|", "-"), range(layout.width)
    rule = "+" + dash * (layout.width * (wide + 1) - 1) + "+"
    lines = [rule]
    for y in range(layout.height):
        if y and any((x, y) in at["above"] for x in columns):
            lines.append(edge + " ".join(("-" if (x, y) in at["above"] else " ") * wide for x in columns) + edge)
        marks = [shown.get((x, y), ".").ljust(wide) for x in columns]
        ends = ["|" if (x, y) in at["beside"] else " " for x in columns[1:]] + [edge]
        lines.append(edge + "".join(mark + end for mark, end in zip(marks, ends, strict=True)))
    return "\n".join([*lines, rule]) + "\n"
