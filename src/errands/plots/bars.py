"""Bars: steps to the first optimal evaluation by method, with quartiles and the share of seeds that got there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from errands.analysis.summary import Summary
from errands.plots.style import GREY, blank, looks, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Bar:
    """One method: steps to the first optimum, None where that many seeds never met it."""

    name: str
    low: float | None
    median: float | None
    high: float | None
    reached: int
    """How many seeds met the optimum."""
    seeds: int


@dataclass(frozen=True)
class Bars:
    """Everything that a figure of bars shows."""

    title: str
    steps: int
    """How long the runs were: a bar that ends there stands for 'not within the run'."""
    bars: tuple[Bar, ...]
    missing: tuple[str, ...] = ()
    """Methods that were not run: they stand in grey below the others."""

    @property
    def begin(self) -> int:
        """Where bars begin on the logarithmic axis: the power of ten below everything that is drawn."""
        least = min([self.steps, *(x for bar in self.bars for x in (bar.low, bar.median) if x is not None)])
        return int(10 ** max(0, np.ceil(np.log10(max(least, 1))) - 1))

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {"kind": "bars", **asdict(self)}


def bars(summaries: Sequence[Summary], title: str | None = None, missing: Sequence[str] = ()) -> Bars:
    """What is drawn of the summaries of several methods on one task, the fastest first, and which others were not run."""
    ordered = sorted(summaries, key=lambda s: (s.first_optimal.median, -s.ever_optimal))
    found = tuple(Bar(s.name, *s.first_optimal.values, round(s.ever_optimal * s.seeds), s.seeds) for s in ordered)
    return Bars(title or summaries[0].task, max(s.steps for s in summaries), found, tuple(missing))


def draw_bars(value: Bars) -> Figure:
    """The figure."""
    with styled():
        figure = blank(7.2, 0.75 + 0.38 * max(len(value.bars) + len(value.missing), 3))
        paint_bars(figure.add_subplot(), value)
    return figure


def paint_bars(axes: Axes, value: Bars) -> None:
    """Draw into axes that someone else has made."""
    chosen = looks([bar.name for bar in value.bars])
    for row, bar in enumerate(value.bars):
        colour, never = chosen[bar.name].colour, bar.median is None
        width = value.steps if bar.median is None else bar.median
        face, hatch, alpha = ("white", "////", 0.55) if never else (colour, None, 1.0)
        axes.barh(row, width, 0.66, color=face, edgecolor=colour, hatch=hatch, linewidth=0.8, alpha=alpha)
        if bar.low is not None and not never:
            high = value.steps if bar.high is None else bar.high
            axes.plot([bar.low, high], [row, row], color="#222222", linewidth=1.2, solid_capstyle="butt")
        words = f"{bar.reached} of {bar.seeds} seeds" + ("" if never else f", median {width:,.0f}")
        axes.text(1.01, row, words, transform=axes.get_yaxis_transform(), va="center", fontsize=8.5)
    names = [*(bar.name for bar in value.bars), *value.missing]
    axes.set_yticks(range(len(names)), names)
    for row, label in enumerate(axes.get_yticklabels()):
        if row >= len(value.bars):
            label.set_color(GREY)
            axes.text(1.01, row, "not run", transform=axes.get_yaxis_transform(), va="center", fontsize=8.5, color=GREY)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set_xscale("log")
    axes.set_xlim(left=value.begin)
    axes.set_title(value.title)
    axes.set_xlabel(
        f"steps to the first optimal evaluation\n(bars begin at {value.begin:,}; hatched: most seeds never met it)"
    )
