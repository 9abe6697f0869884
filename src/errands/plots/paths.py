"""Paths: the way of a greedy episode through the plane in which discs or boxes of an environment's observations lie."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from errands.errors import TaskError
from errands.oracle.episode import Policy, episode
from errands.plots.style import blank, styled
from errands.tables import RUNNING, SUCCESS
from errands.tasks.task import Task
from errands.worlds.base import Observed, numbered
from errands.worlds.gymnasium.rules import InBox, InDisc, numbers_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Area:
    """A feature in the plane: a disc, or a box whose open sides are None."""

    feature: str
    centre: tuple[float, ...] = ()
    radius: float = 0.0
    above: tuple[float | None, ...] = ()
    below: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class Path:
    """Everything that a figure of a path shows."""

    task: str
    name: str
    index: tuple[int, int]
    """The entries of the flattened observation that are drawn to the right and upwards."""
    points: tuple[tuple[float, float], ...]
    completed: tuple[tuple[int, str], ...]
    """After which steps what was completed."""
    success: bool
    regions: tuple[Area, ...]

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {"kind": "path", **asdict(self)}


def plane_of(task: Task) -> tuple[tuple[int, int], tuple[Area, ...]]:
    """The two entries that most rules of the task are about, and its regions there; a TaskError where no rule has two."""
    observed = Observed.of(task.world)
    found = dict[tuple[int, int], list[Area]]()
    for name, rule in zip(task.world.features, observed.rules if observed is not None else (), strict=False):
        if isinstance(rule, InDisc) and len(rule.index) == 2:
            found.setdefault((rule.index[0], rule.index[1]), []).append(Area(name, rule.centre, rule.radius))
        elif isinstance(rule, InBox) and len({side.index for side in rule.sides}) == 2:
            above = tuple(None if np.isinf(side.above) else side.above for side in rule.sides)
            below = tuple(None if np.isinf(side.below) else side.below for side in rule.sides)
            found.setdefault((rule.sides[0].index, rule.sides[1].index), []).append(Area(name, above=above, below=below))
    if not found:
        raise TaskError(
            f"'{task.name}' has neither a map nor features that are discs or boxes of two entries of the observation; "
            "write them as { index = [0, 1], centre = [0.5, 0.5], radius = 0.1 } to have its paths drawn"
        )
    index = max(found, key=lambda pair: len(found[pair]))
    return index, tuple(found[index])


def path_of(task: Task, policy: Policy, name: str, seed: int = 0) -> Path:
    """The path of one greedy episode."""
    index, regions = plane_of(task)
    env = numbered(task.world)  # where a function numbers states the policy sees the number, the figure what was observed
    shell: Any = getattr(env, "shell", env)
    points, completed, status = [], [], RUNNING
    try:
        for at, step in enumerate(episode(policy, task, seed, env)):
            row = numbers_of(shell.observation_space, shell.observed)
            points.append((float(row[index[0]]), float(row[index[1]])))
            completed += [(at, name) for name in step.completed]
            status = step.status
    finally:
        env.close()
    return Path(task.name, name, index, tuple(points), tuple(completed), status == SUCCESS, regions)


def draw_path(value: Path) -> Figure:
    """The figure: regions by their names, the way in a colour for each leg, a number where something was completed."""
    import matplotlib
    from matplotlib.patches import Circle, Rectangle

    points = np.array(value.points)
    corners = [np.add(r.centre, side * r.radius) for r in value.regions if r.centre for side in (-1, 1)]
    shown = np.array([*points, *corners])
    low, high = shown.min(axis=0), shown.max(axis=0)
    room = 0.06 * max(*(high - low), 1e-9)
    with styled():
        figure = blank(5.0, 5.0)
        axes = figure.add_subplot(1, 1, 1)
        for region in value.regions:
            if region.centre:
                axes.add_patch(Circle((region.centre[0], region.centre[1]), region.radius, color="#dcefd8", zorder=0))
                at = np.array(region.centre)
            else:
                begin = np.array([low[k] - room if v is None else v for k, v in enumerate(region.above)])
                end = np.array([high[k] + room if v is None else v for k, v in enumerate(region.below)])
                axes.add_patch(Rectangle(tuple(begin), *(end - begin), color="#dcefd8", zorder=0))
                at = (begin + end) / 2
            axes.text(at[0], at[1], region.feature, ha="center", va="center", fontsize=8, color="#444444")
        ends = [0, *(step for step, _ in value.completed), len(points) - 1]
        colours = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.85, max(len(ends), 2)))
        for k, (first, last) in enumerate(pairwise(ends)):
            leg = points[first : last + 1]
            axes.plot(leg[:, 0], leg[:, 1], color=colours[k], linewidth=1.6, marker=".", markersize=3)
        axes.plot(*points[0], marker="o", markersize=7, color="#c0392b")
        marks = dict[tuple[float, float], list[str]]()
        for k, (step, _) in enumerate(value.completed, 1):
            marks.setdefault(value.points[step], []).append(str(k))
        for place, numbers in marks.items():
            text = ", ".join(numbers)
            axes.annotate(text, place, xytext=(4, 4), textcoords="offset points", fontsize=8, fontweight="bold")
        axes.set_xlim(low[0] - room, high[0] + room)
        axes.set_ylim(low[1] - room, high[1] + room)
        axes.set_aspect("equal", adjustable="box")
        axes.set_xlabel(f"observation {value.index[0]}")
        axes.set_ylabel(f"observation {value.index[1]}")
        steps = len(points) - 1
        ending = f"{steps} steps" if value.success else f"no success in {steps} steps"
        axes.set_title(textwrap.fill(f"{value.task}, {value.name}: {ending}", 56), fontsize=10)
    return figure
