"""Charts of numbers by number of subtasks: runtimes, sizes of the machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from errands.analysis.statistics import spread
from errands.machines.counting import size
from errands.machines.numeric import NumericRM
from errands.plots.style import COLOURS, Look, blank, looks, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LEAST_SPAN = 2.0
"""The least factor between the ends of the axis of seconds."""


@dataclass(frozen=True)
class Point:
    """The seconds of one million training steps on a task with this many subtasks."""

    subtasks: int
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Runtimes:
    """Everything that a figure of runtimes shows."""

    title: str
    lines: Mapping[str, tuple[Point, ...]]

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        lines = {name: [asdict(point) for point in points] for name, points in self.lines.items()}
        return {"kind": "runtimes", "title": self.title, "lines": lines}


def runtimes(title: str, measured: Iterable[tuple[str, int, float]]) -> Runtimes:
    """What is drawn of measurements (method, number of subtasks, seconds per million steps)."""
    grouped: dict[str, dict[int, list[float]]] = {}
    for name, subtasks, seconds in measured:
        grouped.setdefault(name, {}).setdefault(subtasks, []).append(seconds)
    lines = {}
    for name, by_size in grouped.items():
        spreads = [(n, spread(by_size[n])) for n in sorted(by_size)]
        lines[name] = tuple(Point(n, s.low, s.median, s.high) for n, s in spreads)
    return Runtimes(title, lines)


def draw_runtimes(value: Runtimes) -> Figure:
    """The figure."""
    with styled():
        figure = blank(7.2, 4.2)
        axes = figure.add_subplot()
        paint_runtimes(axes, value)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def paint_runtimes(axes: Axes, value: Runtimes) -> None:
    """Draw into axes that someone else has made."""
    from matplotlib.ticker import FuncFormatter

    chosen = looks(list(value.lines))
    for name, points in value.lines.items():
        look, x = chosen[name], [p.subtasks for p in points]
        low, high = [p.low for p in points], [p.high for p in points]
        axes.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0)
        axes.plot(x, [p.median for p in points], color=look.colour, linestyle=look.dashes, marker=look.mark,
                  markersize=5, linewidth=1.7, label=name)  # fmt: skip
    sizes = sorted({p.subtasks for points in value.lines.values() for p in points})
    for name, points in value.lines.items():
        if points[-1].subtasks < sizes[-1]:
            end = points[-1].subtasks, points[-1].median
            axes.plot(*end, "x", color=chosen[name].colour, markersize=11, markeredgewidth=2)
            axes.annotate("stops", end, (4, 4), textcoords="offset points", fontsize=7)
    axes.set_yscale("log")
    met = [x for points in value.lines.values() for p in points for x in (p.low, p.high)]
    if met and max(met) < LEAST_SPAN * min(met):
        # Differences of a few percent are noise: the axis shows a factor of two around them.
        middle, half = np.sqrt(min(met) * max(met)), np.sqrt(LEAST_SPAN)
        axes.set_ylim(middle / half, middle * half)
    plain = FuncFormatter(lambda seconds, _: f"{seconds:g}")
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(plain)
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.set_title(value.title)
    axes.set_xlabel("number of subtasks")
    axes.set_ylabel("seconds per million steps")


_KINDS = {
    "boolean": Look(COLOURS["blue"], ":", "v"),
    "coupled": Look(COLOURS["vermilion"], "-", "o"),
    "agenda": Look(COLOURS["orange"], "--", "s"),
    "policies": Look(COLOURS["green"], "-", "D"),
}


@dataclass(frozen=True)
class MachineSizes:
    """Everything that a figure of sizes shows; counts are exact, whatever their size."""

    title: str
    subtasks: tuple[int, ...]
    counts: Mapping[str, tuple[int, ...]]
    """States by kind of machine, and low-level policies."""

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {"kind": "sizes", "title": self.title, "subtasks": self.subtasks, **self.counts}


def machine_sizes(title: str, machines: Sequence[NumericRM]) -> MachineSizes:
    """What is drawn of machines of growing size; none of them is unfolded."""
    ordered = sorted(machines, key=lambda m: len(m.subtasks))
    counted = [size(machine) for machine in ordered]
    counts = {kind: tuple(getattr(s, kind) for s in counted) for kind in _KINDS}
    return MachineSizes(title, tuple(len(m.subtasks) for m in ordered), counts)


def draw_sizes(value: MachineSizes) -> Figure:
    """The figure; each line carries its name and its last number."""
    with styled():
        figure = blank(6.4, 4.2)
        axes = figure.add_subplot()
        for kind, look in _KINDS.items():
            counts = [float(n) for n in value.counts[kind]]
            axes.plot(value.subtasks, counts, color=look.colour, linestyle=look.dashes, marker=look.mark, markersize=5)
            words = f"{kind}, {count_text(value.counts[kind][-1])}"
            axes.annotate(words, (value.subtasks[-1], counts[-1]), (8, 0), textcoords="offset points", va="center",
                          fontsize=9, color=look.colour, annotation_clip=False)  # fmt: skip
        axes.set_yscale("log")
        ticks = value.subtasks[:: 1 + len(value.subtasks) // 13]
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.set_title(value.title)
        axes.set_xlabel("number of subtasks")
        axes.set_ylabel("states (policies: low-level policies)")
    return figure


def count_text(count: int) -> str:
    """A count as people read it."""
    return f"{count:,}" if count < 1_000_000 else f"{float(count):.1e}".replace("e+0", "e").replace("e+", "e")
