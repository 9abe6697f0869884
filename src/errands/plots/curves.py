"""Learning curves: greedy episode length against training steps, the median of the seeds in a band of quartiles."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from errands.analysis.compare import reference_of
from errands.analysis.curve import Curve
from errands.plots.style import GREY, blank, looks, styled
from errands.runs.documents import narrowest
from errands.tables import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Values = tuple[float | None, ...]
MAX_TOGETHER = 5
"""The most methods that one chart shows in colours."""
TITLE_LIMIT = 28
"""Characters in one line above a small chart; more would reach into its neighbour's."""


@dataclass(frozen=True)
class Line:
    """One method: median and quartiles of the length; None where that many seeds fail."""

    name: str
    seeds: int
    steps: tuple[int, ...]
    low: Values
    median: Values
    high: Values
    failed: tuple[float, ...] = ()
    """The share of episodes that fail, over all seeds: that of the seeds that fail in a world without chance."""
    evaluated_at_end: bool = False
    """Whether its values are drawn as points: each is a run of its own."""
    success_low: tuple[float, ...] = ()
    success_high: tuple[float, ...] = ()
    """Where there is chance: quartiles of the seeds' success; of one seed, as for its length, the 95 % interval of its means."""


@dataclass(frozen=True)
class LearningCurves:
    """Everything that a figure of learning curves shows."""

    task: str
    optimum: float | None
    """The exact optimum, or None where it is unknown."""
    bounds: dict[str, Any] | None
    """What is known of it: `lower` and `upper`, whether they are `proved` to be it, and `delta`."""
    ceiling: float
    """The top of the axis: above every length that was met."""
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    chance: bool = False
    """Whether an evaluation is more than one episode, so that a policy may fail now and then."""

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {"kind": "curves", **asdict(self)}


def learning_curves(curves: Sequence[Curve], title: str | None = None, points: int = 300) -> LearningCurves:
    """What is drawn of some curves on one task; all of them reach to the last step of the longest."""
    last = max(c.ends_last for c in curves)
    lines = tuple(_line(curve, points, last) for curve in curves)
    met = [x for line in lines for x in (*line.median, *line.high, *line.low) if x is not None]
    optimum = reference_of(curves) if any(c.optimum is not None for c in curves) else None
    bounds = None if optimum is not None else narrowest(c.bounds for c in curves)
    ceiling = 1.15 * max([*met, optimum or 1.0])
    notes = tuple(f"{c.name}: {c.note}" for c in curves if c.note)
    short = [c for c in curves if c.ends_last < last and not c.evaluated_at_end]
    ended = tuple(f"{c.name} ended at step {c.ends_last:,}; its last value is drawn on" for c in short)
    chance = any(c.chances is not None for c in curves)
    return LearningCurves(title or curves[0].task, optimum, bounds, ceiling, lines, notes + ended, chance)


def _line(curve: Curve, points: int, last: int) -> Line:
    """A curve on steps evenly spread on a logarithmic axis, where most changes happen early; else a point per budget."""
    if not curve.evaluated_at_end:
        first = int(curve.steps[0])
        steps = np.unique(np.geomspace(first, max(last, first), points).round().astype(np.int64))
        at = np.searchsorted(curve.steps, steps, side="right") - 1
    else:
        # One point for all seeds where each ended by itself at another step.
        steps = curve.steps if len(set(curve.ends)) == 1 else np.array([np.median(curve.ends)], np.int64)
        at = np.arange(len(curve.steps))[-len(steps) :]
    low, median, high = (tuple(None if np.isinf(x) else float(x) for x in row[at]) for row in length_band(curve))
    failed = tuple((1.0 - curve.success[:, at].mean(axis=0)).tolist())
    ends = [tuple(row[at].tolist()) for row in success_band(curve)]
    return Line(curve.name, curve.seeds, tuple(steps.tolist()), low, median, high, failed, curve.evaluated_at_end, *ends)


def length_band(curve: Curve) -> Floats:
    """[3, T] median and quartiles over the seeds; of one seed that is evaluated by several episodes its interval."""
    rows = curve.quantiles(0.25, 0.5, 0.75)
    if curve.seeds == 1 and curve.intervals:
        sure = np.isfinite(rows[1])
        for row, name in ((0, "length_low"), (2, "length_high")):
            rows[row] = np.where(sure, curve.intervals[name][0], np.inf)
    return rows


def success_band(curve: Curve) -> list[Floats]:
    """The same of success, without the middle; nothing where there is no chance."""
    if curve.chances is None:
        return []
    if curve.seeds == 1 and curve.intervals:
        return [curve.intervals["success_low"][0], curve.intervals["success_high"][0]]
    return [*np.quantile(curve.chances, (0.25, 0.75), axis=0)]


def draw_curves(value: LearningCurves) -> Figure:
    """One chart of up to five methods; of more, a small one for each, the others grey behind it."""
    with styled():
        if len(value.lines) > MAX_TOGETHER:
            return _small_multiples(value)
        failing = any(share for line in value.lines for share in line.failed)
        figure = blank(7.2, 5.2 + value.chance if failing else 4.2)
        heights = (3, 2) if value.chance else (4, 1)
        grid = figure.add_gridspec(1 + failing, 1, height_ratios=heights if failing else None)
        axes = figure.add_subplot(grid[0])
        paint_curves(axes, value)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        if failing:
            below = figure.add_subplot(grid[1], sharex=axes)
            paint_failures(below, value)
            axes.set_xlabel("")
            axes.tick_params(labelbottom=False)
    return figure


def _small_multiples(value: LearningCurves) -> Figure:
    columns = 3 if len(value.lines) % 3 == 0 or len(value.lines) > 8 else 4 if len(value.lines) > 6 else 2
    rows = -(-len(value.lines) // columns)
    figure = blank(2.9 * columns, 2.9 * rows + 0.4)
    figure.suptitle(value.task, fontweight="bold", fontsize=11)
    grid = figure.add_gridspec(2 * rows, columns, height_ratios=(4, 1) * rows)
    first: Axes | None = None
    for i, line in enumerate(value.lines):
        row, column = divmod(i, columns)
        axes = figure.add_subplot(grid[2 * row, column], sharex=first, sharey=first)
        below = figure.add_subplot(grid[2 * row + 1, column], sharex=axes)
        first = first or axes
        paint_curves(axes, value, line.name)
        paint_failures(below, value, line.name)
        axes.set_title(textwrap.fill(line.name, TITLE_LIMIT), fontsize=10)
        axes.tick_params(labelbottom=False, labelleft=column == 0)
        below.tick_params(labelleft=column == 0, labelbottom=i + columns >= len(value.lines))
        axes.set_xlabel("")
        if column:
            axes.set_ylabel("")
            below.set_ylabel("")
        if i + columns < len(value.lines):
            below.set_xlabel("")
    return figure


def paint_failures(axes: Axes, value: LearningCurves, only: str | None = None) -> None:
    """The share of seeds that fail, or of episodes that succeed, below the lengths: of all methods, or of `only` one."""
    chosen = looks([line.name for line in value.lines])
    for line in value.lines:
        if only not in (None, line.name):
            continue
        # Success itself where it is a matter of chance, and a whole seed's failure elsewhere.
        look, shares = chosen[line.name], [100 * abs(value.chance - share) for share in line.failed]
        if line.evaluated_at_end:
            axes.plot(line.steps, shares, color=look.colour, marker=look.mark, linestyle="none", markersize=5)
            continue
        axes.step(line.steps, shares, where="post", color=look.colour, linestyle=look.dashes, linewidth=1.4)
        if line.success_low:
            low, high = (100 * np.array(ends) for ends in (line.success_low, line.success_high))
            axes.fill_between(line.steps, low, high, step="post", color=look.colour, alpha=0.15, linewidth=0)
        elif only:
            axes.fill_between(line.steps, 0, shares, step="post", color=look.colour, alpha=0.25, linewidth=0)
    axes.set_ylim(-4, 104)
    axes.set_yticks([0, 50, 100], ["0", "50", "100"])
    axes.set_xlabel("training steps")
    axes.set_ylabel("% success" if value.chance else "% fail" if only else "% of seeds fail")


def paint_curves(axes: Axes, value: LearningCurves, only: str | None = None) -> None:
    """Draw into axes that someone else has made; with `only`, that method in its colour before the others in grey."""
    chosen = looks([line.name for line in value.lines])
    for line in value.lines:
        if only not in (None, line.name):
            axes.step(line.steps, _drawn(line.median), where="post", color="#d0d0d0", linewidth=1.0, zorder=1)
            continue
        look = chosen[line.name]
        low, median, high = _drawn(line.low), _drawn(line.median), _drawn(line.high)
        if line.evaluated_at_end:
            spread = np.abs(np.array([low, high]) - median)
            axes.errorbar(
                line.steps, median, spread, color=look.colour, fmt=look.mark, markersize=6, capsize=3, label=line.name
            )
            continue
        # Where a quarter of the seeds fail the band is open upwards; where half of them do the line has a gap.
        top = np.where(np.isnan(high) & ~np.isnan(low), value.ceiling, high)
        axes.fill_between(line.steps, low, top, step="post", color=look.colour, alpha=0.15, linewidth=0)
        # Marks are spread over what is drawn; matplotlib cannot spread them over nothing.
        marks = None if np.isnan(median).all() else (0.05 + 0.02 * value.lines.index(line), 0.25)
        axes.step(
            line.steps, median, where="post", color=look.colour, linestyle=look.dashes, linewidth=1.7,
            marker=look.mark, markevery=marks, markersize=5, label=line.name,
        )  # fmt: skip
    if value.optimum is not None:
        axes.axhline(value.optimum, color=GREY, linewidth=1, linestyle=(0, (1, 2)))
        axes.text(0.995, 0.97 * value.optimum, f"optimum {value.optimum:g}", transform=axes.get_yaxis_transform(),
                  ha="right", va="top", fontsize=8, color="#555555")  # fmt: skip
    lowest = value.optimum or value.ceiling
    if value.bounds is not None and value.bounds["lower"] and value.bounds["upper"]:
        lowest, upper = value.bounds["lower"], value.bounds["upper"]
        axes.axhspan(lowest, upper, color=GREY, alpha=0.3, linewidth=0)
        axes.text(0.995, 0.97 * lowest, f"optimum {lowest:g} to {upper:g}", transform=axes.get_yaxis_transform(),
                  ha="right", va="top", fontsize=8, color="#555555")  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    floor = min([lowest, *(x for line in value.lines for x in line.low if x is not None)])
    axes.set_ylim(0.8 * floor, value.ceiling)
    _length_axis(axes, 0.8 * floor, value.ceiling)
    _step_axis(axes, [step for line in value.lines for step in line.steps], few=only is not None)
    axes.set_title(value.task)
    axes.set_xlabel("training steps")
    axes.set_ylabel("length of the greedy episode" if only is None else "length")


def _drawn(row: Values) -> np.ndarray:
    """The values with gaps for failures."""
    return np.array([np.nan if x is None else x for x in row])


def _step_axis(axes: Axes, steps: list[int], few: bool) -> None:
    """Plain numbers on the axis of steps: powers of ten, and what lies between them where there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    wide = few or max(steps, default=1) > 100 * max(min(steps, default=1), 1)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda step, _: _short(step) if few else f"{step:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _short(count: float) -> str:
    """A number of steps in little room."""
    return f"{count / 1e6:g} M" if count >= 1e6 else f"{count / 1e3:g} k" if count >= 1e3 else f"{count:g}"


def _length_axis(axes: Axes, low: float, ceiling: float) -> None:
    """Plain numbers on the axis of lengths, few enough to be read."""
    from matplotlib.ticker import NullFormatter, NullLocator

    ticks = length_ticks(low, ceiling)
    axes.set_yticks(ticks, [f"{t:,g}" for t in ticks])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())


def length_ticks(low: float, ceiling: float) -> list[float]:
    """Round lengths between two."""
    from matplotlib.ticker import MaxNLocator

    ticks: list[float] = [m * 10**e for e in range(7) for m in (1, 1.5, 2, 3, 5, 7) if low <= m * 10**e <= ceiling]
    if len(ticks) < 3:  # all lengths lie close together
        ticks = [float(t) for t in MaxNLocator(5).tick_values(low, ceiling) if low <= t <= ceiling]
    return ticks
