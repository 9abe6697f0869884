"""A grid world as a map in a figure: thick walls, thin grid, features by their signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from errands.errors import TaskError
from errands.tasks.task import Task
from errands.worlds.grid import GridLayout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _GREY, _TINT = "#222222", "#d9d9d9", "#eef2f6"


def layout_of(task: Task) -> GridLayout:
    """The plan of a task whose world states are the cells of a grid; a TaskError for others."""
    if task.layout is None or task.finite is None or task.finite.states != task.layout.cells:
        raise TaskError(f"'{task.name}' has no map whose cells are its states; maps are drawn for grid worlds only")
    return task.layout


def centre(layout: GridLayout, cell: int) -> tuple[float, float]:
    """Where a cell lies: columns to the right, rows downwards."""
    return cell % layout.width + 0.5, cell // layout.width + 0.5


def paint_map(axes: Axes, layout: GridLayout) -> None:
    """Draw the map into axes that someone else has made."""
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import withStroke

    halo = withStroke(linewidth=2, foreground="white")
    for i in range(1, layout.width):
        axes.plot([i, i], [0, layout.height], color=_GREY, linewidth=0.6, zorder=0)
    for i in range(1, layout.height):
        axes.plot([0, layout.width], [i, i], color=_GREY, linewidth=0.6, zorder=0)
    for cell in layout.blocked:
        axes.add_patch(Rectangle((cell % layout.width, cell // layout.width), 1, 1, color=_INK, zorder=1))
    for low, high in layout.walls:
        x, y = high % layout.width, high // layout.width
        end = (x, y + 1) if high - low == 1 and layout.width > 1 else (x + 1, y)
        axes.plot([x, end[0]], [y, end[1]], color=_INK, linewidth=2.4, solid_capstyle="projecting", zorder=4)
    axes.add_patch(Rectangle((0, 0), layout.width, layout.height, fill=False, linewidth=2.4, edgecolor=_INK, zorder=4))
    for name, cell in layout.places:
        right, down = centre(layout, cell)
        axes.add_patch(Rectangle((right - 0.5, down - 0.5), 1, 1, color=_TINT, zorder=-1))
        axes.text(right - 0.43, down - 0.4, layout.sign(name), ha="left", va="top", fontsize=7.5, zorder=6,
                  fontweight="bold", color="#444444", path_effects=[halo])  # fmt: skip
    axes.set_xlim(-0.05, layout.width + 0.05)
    axes.set_ylim(layout.height + 0.05, -0.05)
    axes.set_aspect("equal")
    axes.set_axis_off()
