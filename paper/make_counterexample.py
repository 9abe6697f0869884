"""Draws the Office counterexample of docs/claims.md: two legs of the optimum that one policy for "coffee" cannot both follow.

python paper/make_counterexample.py
"""

from __future__ import annotations

from pathlib import Path

import errands
from errands.worlds.picture import Drawing, Stroke, _centre, grid_drawing, svg

COLOURS = ("#0072b2", "#d55e00")


def main() -> None:
    """Write docs/pictures/office-6-legs.svg."""
    task = errands.load("office-6")
    layout = task.layout
    best = errands.optimum(task)
    if layout is None:
        raise SystemExit("office-6 has no layout")
    features = [layout.features_at(cell) for cell in best.path]
    first_end = next(i for i, names in enumerate(features) if "coffee" in names)
    second_start = next(i for i, names in enumerate(features) if "o6" in names and i > first_end)
    second_end = next(i for i in range(second_start, len(features)) if "coffee" in features[i])
    legs = [best.path[: first_end + 1], best.path[second_start : second_end + 1]]
    plan = grid_drawing(layout)
    strokes = []
    for shift, colour, leg in zip((-3, 3), COLOURS, legs, strict=True):
        points = tuple((x + shift, y + shift) for x, y in (_centre(layout, cell) for cell in leg))
        strokes.append(Stroke(points, colour, 4.0))
    drawn = svg(Drawing(plan.width, plan.height, (*plan.shapes, *strokes)))
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    (pictures / "office-6-legs.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
