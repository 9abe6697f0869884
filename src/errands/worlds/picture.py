"""Pictures as values: shapes written as SVG or painted as pixels; and grids drawn in the manner of the paper's maps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.worlds.grid import GridLayout

FONT = "Helvetica, Arial, sans-serif"
_OVERSAMPLING = 2
CELL = 40.0
MARGIN = 10.0
TINTS = ("#dbe9f6", "#fde3c8", "#dcefd8", "#f7d9de", "#e6dff2", "#fbf1c4")
"""The colours of features on maps: --t0 to --t5 of the page's style.css."""
_INK, _GREY, _TRAIL, _AGENT = "#222222", "#d5d5d5", "#8aa4c8", "#c0392b"
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


def grid_svg(layout: GridLayout, agent: int | None = None, path: Sequence[int] = ()) -> str:
    """The grid as the text of an SVG file, with the agent's cell and a path of cells where they are given."""
    return svg(grid_drawing(layout, agent, path))


def grid_drawing(
    layout: GridLayout, agent: int | None = None, path: Sequence[int] = (), hidden: Collection[str] = ()
) -> Drawing:
    """The grid as shapes; features named in `hidden` are left out (boxes that were taken)."""
    shown = [(name, cell) for name, cell in layout.places if name not in hidden]
    shapes: list[Shape] = [*_tints(layout, shown), *_lines(layout), *_walls(layout)]
    if len(path) > 1:
        shapes.append(Stroke(tuple(_centre(layout, cell) for cell in path), _TRAIL, 3.0))
    shapes += _labels(layout, shown, agent)
    if agent is not None:
        x, y = _centre(layout, agent)
        crowded = any(cell == agent for _, cell in shown)
        shapes.append(Disc(x + 10, y + 10, 6.0, _AGENT) if crowded else Disc(x, y, 10.0, _AGENT))
    return Drawing(layout.width * CELL + 2 * MARGIN, layout.height * CELL + 2 * MARGIN, tuple(shapes))


def tints(features: Iterable[str]) -> dict[str, int]:
    """The number of each feature's colour, the same wherever it is drawn; names that differ by a number share one."""
    names = list(features)
    families = list(dict.fromkeys(name.rstrip("0123456789") for name in names))
    return {name: families.index(name.rstrip("0123456789")) % len(TINTS) for name in names}


def _corner(layout: GridLayout, cell: int) -> tuple[float, float]:
    return MARGIN + cell % layout.width * CELL, MARGIN + cell // layout.width * CELL


def _centre(layout: GridLayout, cell: int) -> tuple[float, float]:
    x, y = _corner(layout, cell)
    return x + CELL / 2, y + CELL / 2


def _tints(layout: GridLayout, shown: Sequence[tuple[str, int]]) -> list[Shape]:
    colour = tints(layout.features)
    return [Rectangle(*_corner(layout, cell), CELL, CELL, TINTS[colour[name]]) for name, cell in shown]


def _lines(layout: GridLayout) -> list[Shape]:
    right, bottom = MARGIN + layout.width * CELL, MARGIN + layout.height * CELL
    upright = [MARGIN + i * CELL for i in range(1, layout.width)]
    level = [MARGIN + i * CELL for i in range(1, layout.height)]
    return [
        *(Stroke(((x, MARGIN), (x, bottom)), _GREY, 1.0) for x in upright),
        *(Stroke(((MARGIN, y), (right, y)), _GREY, 1.0) for y in level),
    ]


def _walls(layout: GridLayout) -> list[Shape]:
    shapes: list[Shape] = [Rectangle(*_corner(layout, cell), CELL, CELL, _INK) for cell in sorted(layout.blocked)]
    for low, high in sorted(layout.walls):
        x, y = _corner(layout, high)
        # Along the left edge of the higher cell, or along its upper edge.
        end = (x, y + CELL) if high - low == 1 and layout.width > 1 else (x + CELL, y)
        shapes.append(Stroke(((x, y), end), _INK, _WALL))
    right, bottom = MARGIN + layout.width * CELL, MARGIN + layout.height * CELL
    border = ((MARGIN, MARGIN), (right, MARGIN), (right, bottom), (MARGIN, bottom), (MARGIN, MARGIN))
    return [*shapes, Stroke(border, _INK, _WALL)]


def _labels(layout: GridLayout, shown: Sequence[tuple[str, int]], agent: int | None) -> list[Shape]:
    texts: dict[int, list[str]] = {}
    for name, cell in shown:
        texts.setdefault(cell, []).append(layout.sign(name))
    words: list[Shape] = []
    for cell, names in texts.items():
        text = ",".join(names)
        words.append(Word(*_centre(layout, cell), text, min(17.0, 1.7 * CELL / max(len(text), 1)), _INK))
    if agent is None and layout.start not in texts:
        words.append(Word(*_centre(layout, layout.start), "A", 17.0, _AGENT))
    return words


def grid_text(layout: GridLayout, agent: int | None = None, hidden: Collection[str] = ()) -> str:
    """The grid as lines of text, the agent as '@' (or 'A' on its start where no agent is given)."""
    # Reversed, so that of several features on a cell the one declared first is shown.
    shown = {cell: layout.sign(name) for name, cell in reversed(layout.places) if name not in hidden}
    wide = max([1, *(len(text) for text in shown.values())])
    rule = "+" + "-" * (layout.width * (wide + 1) - 1) + "+"
    lines = [rule]
    for row in range(layout.height):
        cells = range(row * layout.width, (row + 1) * layout.width)
        marks = [_mark(layout, cell, agent, shown).ljust(wide) for cell in cells]
        ends = ["|" if (cell, cell + 1) in layout.walls else " " for cell in cells[:-1]] + ["|"]
        lines.append("|" + "".join(mark + end for mark, end in zip(marks, ends, strict=True)))
        if any((cell, cell + layout.width) in layout.walls for cell in cells) and row < layout.height - 1:
            closed = [("-" if (cell, cell + layout.width) in layout.walls else " ") * wide for cell in cells]
            lines.append("|" + " ".join(closed) + "|")
    return "\n".join([*lines, rule]) + "\n"


def _mark(layout: GridLayout, cell: int, agent: int | None, shown: dict[int, str]) -> str:
    if cell == agent:
        return "@"
    if cell in layout.blocked:
        return "#"
    return shown.get(cell, "A" if agent is None and cell == layout.start else ".")
