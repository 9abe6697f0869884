"""Maps: the route of a policy beside the optimal one; the greedy action of every cell as an arrow, coloured by its value."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from errands.errors import TaskError
from errands.learners.base import Learner
from errands.machines.counting import Quotient
from errands.oracle.episode import Policy, TaskStepper, Walk, walk
from errands.oracle.optimum import Optimum
from errands.plots.style import blank, styled
from errands.policies.tables import MachinePolicy, ObjectivePolicy
from errands.tables import FAILURE, RUNNING
from errands.tasks.task import Task
from errands.worlds.grid import GridLayout
from errands.worlds.picture import TINTS, plan, strands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    marks = plan(layout)
    for role, x, y, width, height, _, sign, tint in marks:
        if role == "line":
            axes.plot([x, x + width], [y, y + height], color=_GREY, linewidth=0.6, zorder=0)
        elif role == "wall":
            axes.plot([x, x + width], [y, y + height], color=_INK, linewidth=2.4, solid_capstyle="projecting", zorder=4)
        elif role == "border":
            axes.add_patch(Rectangle((x, y), width, height, fill=False, linewidth=2.4, edgecolor=_INK, zorder=4))
        else:
            colour, order = (TINTS[tint], -1) if role == "place" else (_INK, 1)
            axes.add_patch(Rectangle((x, y), width, height, color=colour, zorder=order))
        if sign:
            axes.text(x + 0.07, y + 0.1, sign, ha="left", va="top", fontsize=7.5, zorder=6,
                      fontweight="bold", color="#444444", path_effects=[halo])  # fmt: skip
    signs = dict.fromkeys((mark.sign, mark.feature) for mark in marks if mark.sign != mark.feature)
    if signs:
        legend = "    ".join(f"{sign}  {name}" for sign, name in signs)
        axes.text(0, layout.height + 0.15, legend, ha="left", va="top", fontsize=8, color="#444444")
    axes.set_xlim(-0.05, layout.width + 0.05)
    axes.set_ylim(layout.height + 0.05, -0.05)
    axes.set_aspect("equal")
    axes.set_axis_off()


_MAX_SHOWN = 400


@dataclass(frozen=True)
class Leg:
    """The cells from one completed objective to the next."""

    cells: tuple[int, ...]
    objective: str | None
    """What was completed at its end; None where the episode ended before."""


@dataclass(frozen=True)
class Route:
    """One episode on the map."""

    title: str
    length: int
    success: bool
    legs: tuple[Leg, ...]


@dataclass(frozen=True)
class Routes:
    """Everything that a figure of routes shows."""

    task: Task
    routes: tuple[Route, ...]

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {"kind": "route", "task": self.task.name, "routes": [asdict(route) for route in self.routes]}


def route(title: str, walked: Walk) -> Route:
    """An episode's cells cut into legs where something was completed."""
    ends: dict[int, list[str]] = {}
    for name, at in zip(walked.order, walked.completed_at, strict=True):
        ends.setdefault(at, []).append(name)
    cuts = [0, *ends]
    legs = [Leg(walked.path[begun : end + 1], " ".join(ends[end])) for begun, end in pairwise(cuts)]
    if cuts[-1] < len(walked.actions):
        legs.append(Leg(walked.path[cuts[-1] :], None))
    return Route(title, len(walked.actions), walked.success, tuple(legs))


def routes(task: Task, best: Optimum | None, policy: Policy | None = None, name: str = "learnt") -> Routes:
    """What is drawn: the route of a policy where there is one, and the optimal route where that is known."""
    layout_of(task)
    drawn = []
    if policy is not None:
        drawn.append(route(name, walk(policy, task)))
    if best is not None and best.policy is not None and best.path:
        drawn.append(route("optimal", walk(best.policy, task)))
    return Routes(task, tuple(drawn))


def draw_routes(value: Routes) -> Figure:
    """The figure: one map for each route."""
    layout = layout_of(value.task)
    with styled():
        wide = min(6.0, max(2.4, 0.42 * layout.width))
        tall = max(1.0, wide * layout.height / layout.width) + 0.7
        figure = blank(max(wide * len(value.routes), 4.0), tall)
        for i, shown in enumerate(value.routes):
            axes = figure.add_subplot(1, len(value.routes), i + 1)
            paint_map(axes, layout)
            _paint_route(axes, layout, shown)
            ending = f"{shown.length} steps" if shown.success else f"no success in {shown.length} steps"
            axes.set_title(f"{value.task.name}, {shown.title}: {ending}", fontsize=10)
    return figure


def _paint_route(axes: Axes, layout: GridLayout, shown: Route) -> None:
    import matplotlib
    from matplotlib.patheffects import withStroke

    halo = withStroke(linewidth=1.5, foreground="white")
    colours = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.85, max(len(shown.legs), 2)))
    x, y = centre(layout, layout.start)
    axes.plot([x], [y], marker="o", markersize=7, color="#c0392b", zorder=7)
    ends: dict[int, list[str]] = {}
    for k, leg in enumerate(shown.legs):
        # Each leg lies a little further along the diagonal, so that legs through one cell do not cover each other.
        shift = 0.44 * ((k + 0.5) / len(shown.legs) - 0.5)
        parts = [np.array(strand) + shift for strand in strands(layout, leg.cells[: _MAX_SHOWN + 1])]
        for points in parts:
            style = "-" if leg.objective else ":"
            axes.plot(points[:, 0], points[:, 1], color=colours[k], linewidth=1.6, linestyle=style, zorder=5)
        _arrow(axes, max(parts, key=len), colours[k])
        if leg.objective:
            ends.setdefault(leg.cells[-1], []).append(str(k + 1))
    # The numbers of all legs that end in a cell are one text, three to a line, so that none covers another.
    for cell, numbers in ends.items():
        right, down = centre(layout, cell)
        lines = [" ".join(numbers[i : i + 3]) for i in range(0, len(numbers), 3)]
        axes.text(
            right + 0.46, down + 0.47, "\n".join(lines), ha="right", va="bottom", fontsize=6.5, fontweight="bold",
            color="#222222", zorder=8, linespacing=0.95, path_effects=[halo],
        )  # fmt: skip


def _arrow(axes: Axes, points: np.ndarray, colour: Any) -> None:
    """An arrowhead in the middle of a leg that moves."""
    middle = max(1, len(points) // 2)
    steps = [i for i in range(1, len(points)) if (points[i] != points[i - 1]).any()]
    if steps:
        i = min(steps, key=lambda j: abs(j - middle))
        start, end = points[i - 1], points[i]
        axes.annotate("", tuple(start + 0.75 * (end - start)), tuple(start), zorder=6,
                      arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.2})  # fmt: skip


MAX_MAPS = 16
_ARROWS = ((0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0))


@dataclass(frozen=True)
class PolicyMap:
    """What the policy does in each cell while one objective is pursued."""

    name: str
    """The objective, or the label of the agenda state where policies differ by that."""
    actions: tuple[int, ...]
    values: tuple[float, ...] | None
    """The largest learnt Q of each cell; None where the method keeps none for this map."""


@dataclass(frozen=True)
class PolicyMaps:
    """Everything that a figure of a policy shows."""

    task: Task
    maps: tuple[PolicyMap, ...]
    deadly: tuple[int, ...] = ()
    """Cells that end the episode as a failure; no arrow is drawn there."""
    left_out: int = 0
    """How many more maps there are than can be drawn."""

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        maps = [asdict(shown) for shown in self.maps]
        return {"kind": "policy", "task": self.task.name, "maps": maps, "deadly": self.deadly, "left_out": self.left_out}


def policy_maps(task: Task, policy: Policy, learner: Learner | None = None) -> PolicyMaps:
    """What is drawn: one map per objective where each has its own policy, else one per stage of the greedy episode."""
    layout = layout_of(task)
    if isinstance(policy, ObjectivePolicy):
        maps = [
            PolicyMap(name, tuple(policy.actions[:, k].tolist()), _values(learner, k))
            for k, name in enumerate(policy.objectives)
        ]
    else:
        maps = _stages(task, policy, learner, layout)
    return PolicyMaps(task, tuple(maps[:MAX_MAPS]), _deadly(task), max(0, len(maps) - MAX_MAPS))


def _deadly(task: Task) -> tuple[int, ...]:
    """The cells in which an episode that has just begun fails: nothing is ever done there."""
    task_stepper = TaskStepper(task)
    table, stepper = task_stepper.table, task_stepper.stepper
    # How the machine stands after its first step, by the label of the step; the world's own end is a failure, too.
    statuses = [stepper.status[stepper.step(stepper.start, label).state[0]] for label in task_stepper.world.labels]
    after = np.array(statuses)[table.label]
    return tuple(np.unique(table.next[(after == FAILURE) | (after == RUNNING) & table.ends]).tolist())


def _stages(task: Task, policy: Policy, learner: Learner | None, layout: GridLayout) -> list[PolicyMap]:
    """The greedy episode, and in each agenda state that it passes what the policy would do in every cell."""
    task_stepper, quotient = TaskStepper(task), Quotient(task.machine)
    cell, state, memory, status = layout.start, task_stepper.stepper.start, None, RUNNING
    maps: dict[str, PolicyMap] = {}
    names: dict[tuple[int, int], str] = {}
    passed: set[Hashable] = set()
    # Where it comes back to, memory included, it goes round for ever: there is nothing new to be seen.
    while (cell, state, memory) not in passed and len(passed) < task.world.limit:
        passed.add((cell, state, memory))
        if state not in names:
            names[state] = str(quotient.label(state))
        if (name := names[state]) not in maps:
            actions = tuple(policy.act(c, state, memory)[0] for c in range(layout.cells))
            row = policy.states.locate(state, memory)[0] if isinstance(policy, MachinePolicy) else None
            maps[name] = PolicyMap(name, actions, None if row is None else _values(learner, row))
        # What was asked of the other cells above left the memory as it was: the episode itself goes on from here.
        action, memory = policy.act(cell, state, memory)
        result = task_stepper.step(cell, state, action)
        cell, state, status = result.world_state, result.machine_state, result.status
        if status != RUNNING:
            break
    return list(maps.values())


def _values(learner: Learner | None, column: int) -> tuple[float, ...] | None:
    """The value of each cell, for the methods that keep one for an objective or a machine state."""
    values = learner.values_of(column) if learner else None
    return None if values is None else tuple(values.tolist())


def draw_policies(value: PolicyMaps) -> Figure:
    """The figure: small maps in rows."""
    layout = layout_of(value.task)
    columns = min(4, max(1, len(value.maps)))
    rows = -(-len(value.maps) // columns)
    with styled():
        wide = min(4.0, max(2.2, 0.3 * layout.width))
        figure = blank(wide * columns, (max(0.8, wide * layout.height / layout.width) + 0.4) * rows)
        for i, shown in enumerate(value.maps):
            axes = figure.add_subplot(rows, columns, i + 1)
            paint_map(axes, layout)
            _paint_policy(axes, layout, shown, value.deadly)
            axes.set_title(shown.name, fontsize=9)
        if value.left_out:
            figure.supxlabel(f"{value.left_out} more maps are in the data beside this file", fontsize=8)
    return figure


def _paint_policy(axes: Axes, layout: GridLayout, shown: PolicyMap, deadly: tuple[int, ...]) -> None:
    cells = [c for c in range(layout.cells) if c not in layout.blocked and c not in deadly]
    if shown.values is not None:
        _paint_values(axes, layout, shown.values, cells)
    places = np.array([centre(layout, c) for c in cells])
    arrows = np.array([_ARROWS[shown.actions[c]] for c in cells])
    tails = places - 0.3 * arrows
    axes.quiver(tails[:, 0], tails[:, 1], arrows[:, 0], arrows[:, 1], angles="xy", scale_units="xy", scale=1.65,
                width=0.006, headwidth=4.5, color="#333333", zorder=3)  # fmt: skip


def _paint_values(axes: Axes, layout: GridLayout, values: tuple[float, ...], cells: list[int]) -> None:
    """Cells shaded by the logarithm of their value, which counts steps where values are powers of gamma."""
    known = np.array([values[c] for c in cells])
    if not (known > 0).any():
        return
    shades = np.full(layout.cells, np.nan)
    shades[cells] = np.log(np.where(known > 0, known, np.nan))
    axes.imshow(shades.reshape(layout.height, layout.width), extent=(0, layout.width, layout.height, 0),
                cmap="Blues", alpha=0.75, zorder=-0.5, interpolation="nearest")  # fmt: skip
