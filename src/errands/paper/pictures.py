"""Pictures as the paper's: all methods of a panel on one axis, and the three domains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from errands.analysis.curve import Curve
from errands.errors import ErrandsError
from errands.plots.curves import LearningCurves, Line, length_ticks
from errands.plots.style import GREY, blank, looks, styled
from errands.tasks.catalogue import load
from errands.worlds.cheetah import BACKWARD, FORWARD

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_overlay(value: LearningCurves, curves: Sequence[Curve]) -> Figure:
    """Every method in its colour against training steps on a linear axis; a cross where one stops before the last step.

    Where half of the seeds fail the line runs along the upper edge, which says so.
    """
    last, chosen = max(c.ends_last for c in curves), looks([line.name for line in value.lines])
    top = 1.1 * value.ceiling
    with styled():
        figure = blank(7.6, 4.4)
        axes = figure.add_subplot()
        for line, curve in zip(value.lines, curves, strict=True):
            look, end = chosen[line.name], last if line.evaluated_at_end else curve.ends_last
            at, low, median, high = _until(line, end, top)
            if line.evaluated_at_end:
                axes.plot(at, median, look.mark, color=look.colour, linestyle=":", linewidth=1, markersize=5, label=line.name)
                continue
            axes.fill_between(at, low, high, step="post", color=look.colour, alpha=0.12, linewidth=0)
            axes.step(at, median, where="post", color=look.colour, linestyle=look.dashes, linewidth=1.7, label=line.name)
            if end < last:
                axes.plot(at[-1], median[-1], color=look.colour, marker="x", markersize=9, markeredgewidth=2, clip_on=False)
        if value.optimum is not None:
            axes.axhline(value.optimum, color=GREY, linewidth=1, linestyle=(0, (1, 2)))
            axes.text(last, 0.98 * value.optimum, f"optimum {value.optimum:g}", ha="right", va="top", fontsize=8, color="#555555")
        lowest = min([value.optimum or top, *(x for line in value.lines for x in line.low if x is not None)])
        axes.set_yscale("log")
        axes.set_ylim(0.85 * lowest, top)
        ticks = length_ticks(0.85 * lowest, 0.85 * top)
        axes.set_yticks([*ticks, top], [*(f"{t:g}" for t in ticks), "fails"])
        axes.minorticks_off()
        axes.set_xlim(0, last)
        axes.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}")
        axes.set_xlabel("training steps")
        axes.set_ylabel("length of the greedy episode")
        axes.set_title(value.task)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), title="× stops there" if _stops(curves, last) else None)
    return figure


def _stops(curves: Sequence[Curve], last: int) -> bool:
    return any(c.ends_last < last and not c.evaluated_at_end for c in curves)


def _until(line: Line, end: int, top: float) -> list[np.ndarray]:
    """Steps, quartiles and median up to a step; what fails stands at the top."""
    steps = np.array(line.steps)
    upto = steps <= max(end, steps[0])
    rows = (np.array([top if x is None else x for x in row]) for row in (line.low, line.median, line.high))
    at = [steps[upto], *(row[upto] for row in rows)]
    return at if at[0][-1] >= end else [np.append(at[0], end), *(np.append(row, row[-1]) for row in at[1:])]


def draw_domain(task_name: str, title: str) -> Figure:
    """A domain as its episodes begin; of HalfCheetah the track with its places as well."""
    task = load(task_name)
    env = task.world.env("rgb_array")
    try:
        env.reset(seed=0)
        picture = np.asarray(env.render())
    except ErrandsError:
        picture = None  # a machine that cannot render: the track is drawn all the same
    finally:
        env.close()
    with styled():
        figure = blank(4.6, 4.6)
        axes = figure.add_subplot()
        axes.set_title(title)
        axes.set_axis_off()
        if task_name.startswith("cheetah"):
            axes.set_xlim(-3.0, 7.0)
            axes.set_ylim(-1.5, 8.5)
            axes.plot([-3, 7], [0, 0], color="black", linewidth=1)
            for name, x in (*BACKWARD, ("A", 0.0), *FORWARD):
                axes.plot([x, x], [-0.15, 0.15], color="black")
                axes.text(x, -0.4, f"{name}\n{x:g}", ha="center", va="top", fontsize=9)
            axes.plot(0, 0, "o", color="#e69f00", markersize=7)
            if picture is not None:
                axes.imshow(picture, extent=(-3, 7, 0.6, 8.4), aspect="auto")
        elif picture is not None:
            axes.imshow(picture)
    return figure
