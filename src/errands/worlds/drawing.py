"""Pictures as values: a list of shapes that is written as SVG or painted as pixels."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FONT = "Helvetica, Arial, sans-serif"
_OVERSAMPLING = 2


class Box(NamedTuple):
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


Shape = Box | Disc | Stroke | Word


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
        case Box(x, y, width, height, fill):
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
            case Box(x, y, width, height, fill):
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
