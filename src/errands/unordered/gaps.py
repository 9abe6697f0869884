"""What is known of each optimum, and how far above it methods end: the table, the figure and the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from errands.analysis.curve import Curve
from errands.analysis.statistics import spread
from errands.errors import TaskError
from errands.learners.scout.tabular import known_bounds
from errands.oracle.optimum import optimum
from errands.paper.evidence import Evidence, Origin, gather
from errands.paper.panels import by_networks, subtasks_of, task_and_map
from errands.paper.report import PaperFigure, Report, ReportTable, runtime_rows, summaries
from errands.paper.reproduction import Reproduction, how_made
from errands.plots.style import as_svg, blank, looks, styled
from errands.runs.files import write_file
from errands.runs.provenance import computer, versions
from errands.tasks.catalogue import load
from errands.unordered.plan import EXTENTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Known = Mapping[str, tuple[float, float]]
"""The least and the most that the optimum of each task can be; the same where it is exact."""
FAILS = 4.0
"""Where methods that fail are drawn: above every gap that is."""


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
    """The same evidence measured by what is known of the optima; a shorter way that was met is one."""
    curves = dict(evidence.curves)
    for key, curve in curves.items():
        lower, upper = known[key[0]][0], min(known[key[0]][1], evidence.shortest(key[0]))
        between = {"lower": lower, "upper": upper, "proved": lower == upper, "delta": None}
        curves[key] = replace(curve, optimum=lower if lower == upper else None, bounds=between)
    return replace(evidence, curves=curves)


def by_task(evidence: Evidence) -> dict[str, dict[str, Curve]]:
    """The curves of each task and map by method."""
    found: dict[str, dict[str, Curve]] = {}
    for (task, method, _), curve in evidence.curves.items():
        found.setdefault(task, {})[method] = curve
    return found


def gap_rows(evidence: Evidence) -> ReportTable:
    """A row for each task and map: what is known of the optimum, and each method's median seed with its gap."""
    rows = []
    for name, curves in by_task(evidence).items():
        bounds = next(iter(curves.values())).bounds or {}
        lower, upper = bounds["lower"], bounds["upper"]
        best = f"{lower:g}" if lower == upper else f"{lower:g} to {upper:g}"
        said = {method: _said(curve, upper) for method, curve in curves.items()}
        rows.append({"task": name, "N": subtasks_of(name), "optimum": best, **said})
    columns = dict.fromkeys(key for row in rows for key in row)
    filled = tuple({key: row.get(key) for key in columns} for row in rows)
    return ReportTable("Unordered tasks", "unordered.csv", {key: key for key in columns}, filled)


def _said(curve: Curve, best: float) -> str:
    median = float(spread(curve.final).median)
    well = int(np.isfinite(curve.final).sum())
    gap = f"{median:g} ({100 * (median / best - 1):+.0f} %)" if np.isfinite(median) else "fails"
    return gap if well == curve.seeds else f"{gap}, {well} of {curve.seeds} succeed"


def draw_gaps(evidence: Evidence) -> Figure:
    """For each domain the gap to the optimum, or to the shortest way known, against the number of subtasks."""
    domains = list(dict.fromkeys(key[0].partition("-")[0] for key in evidence.curves))
    chosen = looks(list(dict.fromkeys(key[1] for key in evidence.curves)))
    with styled():
        figure = blank(3.1 * len(domains) + 1.5, 3.6)
        for number, domain in enumerate(domains, 1):
            axes = figure.add_subplot(1, len(domains), number)
            gaps: dict[str, dict[int, list[float]]] = {}
            for (name, method, _), curve in evidence.curves.items():
                if name.startswith(f"{domain}-") and curve.bounds:
                    gap = float(spread(curve.final).median) / curve.bounds["upper"] - 1
                    gaps.setdefault(method, {}).setdefault(subtasks_of(name), []).append(min(gap, FAILS))
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
            axes.set_title(f"{domain.capitalize()}, any order")
            axes.set_xlabel("number of subtasks")
        lines = {str(line.get_label()): line for other in figure.axes for line in other.get_lines()}
        axes.legend(list(lines.values()), list(lines), loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.axes[0].set_ylabel("above the optimum")
    return figure


def report(wanted: Reproduction, command: str) -> Report:
    """What the sweep folder holds so far."""
    gathered = gather(wanted.sweep)
    known = known_of(dict.fromkeys(key[0] for key in gathered.evidence.curves), wanted.sweep.path / "optima.json")
    evidence = measured_by(gathered.evidence, known)
    title = "Unordered tasks: how far above the optimum the median seed ends"
    note = "Above the shortest way known where the optimum is bounded but not exact; a mean over maps"
    figures = [PaperFigure("unordered", title, as_svg(draw_gaps(evidence)), (note,))] if evidence.curves else []
    deep = any(by_networks(cell.task) for cell in wanted.sweep.document.cells)
    origin = gathered.origins[0][0] if gathered.origins else Origin(versions("", deep=deep), computer())
    return Report(
        name=wanted.profile.name, command=command, versions=origin.versions, computer=origin.computer,
        notes=(_amounts(wanted), *how_made(gathered)), figures=tuple(figures),
        tables=(gap_rows(evidence), summaries(evidence), runtime_rows(evidence)),
        claims=(), rules=(), skipped=wanted.skipped, errors=gathered.errors,
    )  # fmt: skip


def _amounts(wanted: Reproduction) -> str:
    profile, copies = wanted.profile, EXTENTS[wanted.profile.name].batched_steps
    tables, networks = f"{profile.seeds} seeds of {profile.steps:,}", f"{profile.deep_seeds} of {profile.water_steps:,}"
    much = f"{tables} steps with tables, {networks} with networks"
    return f"Profile {profile.name}, unordered tasks: {much} (pqn and skills {copies:,}); scout stops with a proof."
