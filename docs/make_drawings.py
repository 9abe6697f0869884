"""Drawings of the documentation that no verb makes: python docs/make_drawings.py writes them into docs/pictures.

`forms.svg` has the four machines of figure-1 in one picture, `flow.svg` the data's way, `zones.svg` the two worlds of zones.
The same code gives the same bytes, and a test compares them.
"""

from __future__ import annotations

import re
from pathlib import Path

import errands
from errands.machines import KINDS
from errands.machines.graph import graph_of
from errands.plots.machine import as_svg
from errands.worlds.picture import Drawing, Rectangle, Shape, Stroke, Word, svg
from errands.worlds.zones import wall_plan, zones_drawing

HERE = Path(__file__).parent / "pictures"
INK, PALE, BLUE, GREEN, SAND = "#222222", "#f5f6f4", "#d7e8f6", "#dcefdc", "#f6ead2"
FORMS = {
    "numeric": "numeric: what you write",
    "boolean": "Boolean: a state for each order",
    "agenda": "agenda: a state for what remains",
    "coupled": "coupled: a state for each objective",
}


def beside(pictures: list[str], titles: list[str], columns: int, gap: float = 28.0) -> str:
    """SVG documents as one, row by row, each under its title."""
    sizes = [tuple(map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', picture).groups())) for picture in pictures]  # type: ignore[union-attr]
    rows = [range(i, min(i + columns, len(pictures))) for i in range(0, len(pictures), columns)]
    widths = [max(sizes[row[c]][0] for row in rows if c < len(row)) for c in range(columns)]
    parts, top = [], 0.0
    for row in rows:
        for c, i in enumerate(row):
            left = sum(widths[:c]) + gap * c
            middle = left + widths[c] / 2
            place = f'x="{middle:g}" y="{top + 18:g}" text-anchor="middle" font-size="14" font-weight="bold"'
            parts.append(f"<text {place}>{titles[i]}</text>")
            inner = re.sub(r"<svg ", f'<svg x="{middle - sizes[i][0] / 2:g}" y="{top + 26:g}" ', pictures[i], count=1)
            parts.append(inner.strip())
        top += max(sizes[i][1] for i in row) + 26 + gap
    wide, tall = sum(widths) + gap * (columns - 1), top - gap
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {tall:g}" width="{wide:g}" height="{tall:g}"'
    page = f'<rect width="{wide:g}" height="{tall:g}" fill="#ffffff"/>'
    return "\n".join([f'{head} font-family="DejaVu Sans, sans-serif">', page, *parts, "</svg>", ""])


def forms() -> str:
    """The four machines of figure-1; a title counts its states."""
    machine = errands.load("figure-1").machine
    graphs = [graph_of(make(machine)) for make in map(KINDS.__getitem__, FORMS)]
    titles = [f"{words}, {len(graph.nodes)} states" for words, graph in zip(FORMS.values(), graphs, strict=True)]
    return beside([as_svg(graph) for graph in graphs], titles, 1)  # in two columns no page shows it at a size that can be read


def zones() -> str:
    """Three zones in the open, and three in nine rooms."""
    drawn, names = [], ["zones-3", "zones-3-walls"]
    for name in names:
        start = errands.load(name).world.start  # type: ignore[attr-defined]
        drawn.append(svg(zones_drawing(start.agent.tolist(), start.places.tolist(), wall_plan(start.doors))))
    return beside(drawn, names, 2)


BOXES = {
    "you": (0, 0.5, SAND, ("You write", "a phrase, LTLf or a file,", "and name an environment")),
    "world": (1, 0, BLUE, ("World", "tells which features are true,", "knows no machine")),
    "machine": (1, 1, BLUE, ("Numeric machine", "3 states; unfolds into", "agenda and coupled machines")),
    "task": (2, 0.5, BLUE, ("Task", "world and machine,", "checked and read back")),
    "learner": (3, 0, GREEN, ("Learner", "compiled loops on tables,", "JAX for networks")),
    "oracle": (3, 1, GREEN, ("Oracle", "exact optimum,", "reads the world's tables")),
    "run": (4, 0.5, SAND, ("Run", "a folder with checkpoints", "and a certificate")),
    "read": (5, 0, SAND, ("You look", "command, figures, page,", "comparisons")),
    "agent": (5, 1, SAND, ("It acts", "an agent, or one file", "that numpy alone reads")),
}
"""Row from the top, place from the left, colour and lines of each box."""
ARROWS = (
    ("you", "world"), ("you", "machine"), ("world", "task"), ("machine", "task"), ("task", "learner"), ("task", "oracle"),
    ("learner", "run"), ("oracle", "run"), ("run", "read"), ("run", "agent"),
)  # fmt: skip
WIDE, TALL, ACROSS, DOWN = 230.0, 78.0, 250.0, 104.0


def flow() -> str:
    """From what a user writes, at the top, to what looks and acts."""
    shapes: list[Shape] = []
    corner = {name: (10 + place * ACROSS, 10 + row * DOWN) for name, (row, place, *_) in BOXES.items()}
    for a, b in ARROWS:
        begin, end = (corner[a][0] + WIDE / 2, corner[a][1] + TALL), (corner[b][0] + WIDE / 2, corner[b][1])
        bend = (begin[1] + end[1]) / 2
        shapes.append(Stroke((begin, (begin[0], bend), (end[0], bend), (end[0], end[1] - 2)), INK, 1.4))
        shapes.append(Stroke(((end[0] - 5, end[1] - 8), (end[0], end[1] - 2), (end[0] + 5, end[1] - 8)), INK, 1.4))
    for name, (_, _, colour, (title, *lines)) in BOXES.items():
        x, y = corner[name]
        shapes += [Rectangle(x, y, WIDE, TALL, colour), Word(x + WIDE / 2, y + 17, title, 15, INK)]
        shapes += [Word(x + WIDE / 2, y + 41 + 20 * i, line, 13, INK) for i, line in enumerate(lines)]
    right, low = max(x for x, _ in corner.values()) + WIDE + 10, max(y for _, y in corner.values()) + TALL + 10
    return svg(Drawing(right, low, tuple(shapes)))


DRAWINGS = {"forms.svg": forms, "flow.svg": flow, "zones.svg": zones}


if __name__ == "__main__":
    for file, draw in DRAWINGS.items():
        (HERE / file).write_text(draw(), encoding="utf-8")
        print("wrote", HERE / file)
