"""The benchmark of unordered tasks: what is known of each optimum, and how far above it methods end as tasks grow."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from errands.analysis.curve import Curve
from errands.analysis.statistics import spread
from errands.errors import TaskError
from errands.learners.scout.tabular import known_bounds
from errands.oracle.optimum import optimum
from errands.paper.evidence import Evidence
from errands.paper.panels import Panel, subtasks_of, task_and_map
from errands.plots.style import blank, looks, styled
from errands.runs.files import write_file
from errands.tasks.catalogue import load
from errands.worlds.imports import allow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Known = Mapping[str, tuple[float, float]]
"""The least and the most that the optimum of each task can be; the same where it is exact."""
FAILS = 4.0
"""Where methods that fail are drawn: above every gap that is."""


def add_sb3() -> None:
    """Make the learners of Stable-Baselines3 methods like any other, here and in workers, where it is installed."""
    if importlib.util.find_spec("stable_baselines3") is not None:
        allow("errands.paper.sb3")


def bounds_of(name: str) -> tuple[float, float]:
    """The exact optimum of a task, or certified bounds of it."""
    task = load(*task_and_map(name))
    try:
        exact = optimum(task, orders=False).length
    except TaskError:
        found = known_bounds(task)
        return (0.0, np.inf) if found is None else (found.lower, found.upper)
    return (0.0, np.inf) if exact is None else (exact, exact)


def known_of(names: Iterable[str], path: Path) -> Known:
    """What is known of the optima of some tasks, computed once for a folder."""
    known = {k: tuple(v) for k, v in json.loads(path.read_text()).items()} if path.exists() else {}
    for name in names:
        if name not in known:
            known[name] = bounds_of(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, json.dumps(known, indent=1).encode())
    return known


def measured_by(evidence: Evidence, known: Known) -> Evidence:
    """The same evidence, curves of these tasks measured by what is known of their optima; a shorter way that was met is one."""
    curves = dict(evidence.curves)
    for key, curve in curves.items():
        if key[0] in known:
            lower, upper = known[key[0]][0], min(known[key[0]][1], evidence.shortest(key[0]))
            between = {"lower": lower, "upper": upper, "proved": lower == upper, "delta": None}
            curves[key] = replace(curve, optimum=lower if lower == upper else None, bounds=between)
    return replace(evidence, curves=curves)


def unordered_rows(panels: Sequence[Panel], evidence: Evidence) -> tuple[dict[str, Any], ...]:
    """A row for each task and map: what is known of the optimum, and each method's median seed with its gap."""
    rows = []
    for task in (task for panel in panels if panel.unordered for task in panel.tasks):
        for name in evidence.maps(task):
            mine = {key[1]: c for key, c in evidence.curves.items() if key[0] == name and key[2] == "tuned" and c.bounds}
            if not mine:
                continue
            bounds = next(iter(mine.values())).bounds or {}
            same = bounds["lower"] == bounds["upper"]
            best = f"{bounds['lower']:g}" if same else f"{bounds['lower']:g} to {bounds['upper']:g}"
            said = {method: _said(curve, bounds["upper"]) for method, curve in mine.items()}
            rows.append({"task": name, "N": subtasks_of(name), "optimum": best, **said})
    columns = dict.fromkeys(key for row in rows for key in row)
    return tuple({key: row.get(key) for key in columns} for row in rows)


def _said(curve: Curve, best: float) -> str:
    median = float(spread(curve.final).median)
    well = int(np.isfinite(curve.final).sum())
    gap = f"{median:g} ({100 * (median / best - 1):+.0f} %)" if np.isfinite(median) else "fails"
    return gap if well == curve.seeds else f"{gap}, {well} of {curve.seeds} succeed"


def draw_gaps(panels: Sequence[Panel], evidence: Evidence) -> Figure:
    """For each domain the gap to the optimum, or to the shortest way known, against the number of subtasks."""
    wanted = [panel for panel in panels if panel.unordered]
    chosen = looks(list(dict.fromkeys(key[1] for key in evidence.curves)))
    with styled():
        figure = blank(3.1 * len(wanted) + 1.5, 3.6)
        for number, panel in enumerate(wanted, 1):
            axes = figure.add_subplot(1, len(wanted), number)
            gaps: dict[str, dict[int, list[float]]] = {}
            for task in panel.tasks:
                for (name, method, _), curve in evidence.curves.items():
                    if task_and_map(name)[0] == task and curve.bounds:
                        gap = float(spread(curve.final).median) / curve.bounds["upper"] - 1
                        gaps.setdefault(method, {}).setdefault(subtasks_of(task), []).append(min(gap, FAILS))
            for method, by_size in gaps.items():
                look, sizes = chosen[method], sorted(by_size)
                axes.plot(sizes, [np.mean(by_size[n]) for n in sizes], color=look.colour, linestyle=look.dashes,
                          marker=look.mark, markersize=5, label=method)  # fmt: skip
            met = sorted({n for by_size in gaps.values() for n in by_size})
            axes.set_yscale("symlog", linthresh=0.01)
            axes.set_xscale("log", base=2)
            axes.set_xticks(met, [str(n) for n in met])
            axes.minorticks_off()
            axes.set_ylim(-0.005, 1.2 * FAILS)
            ticks = (0.0, 0.01, 0.1, 1.0, FAILS)
            axes.set_yticks(ticks, [*(f"{100 * t:g} %" for t in ticks[:-1]), "fails"] if number == 1 else [""] * len(ticks))
            axes.set_title(panel.title)
            axes.set_xlabel("number of subtasks")
        lines = {str(line.get_label()): line for other in figure.axes for line in other.get_lines()}
        axes.legend(list(lines.values()), list(lines), loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.axes[0].set_ylabel("above the optimum")
    return figure

