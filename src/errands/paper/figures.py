"""The figures and tables of a reproduction, panel by panel, from evidence; what was not run is grey and named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errands.analysis.curve import Curve
from errands.analysis.statistics import spread
from errands.analysis.summary import reference_of, summarise
from errands.paper.evidence import Evidence
from errands.paper.panels import DEEP, NETWORKS, STOPPING, TABULAR, Panel, Skipped, subtasks_of
from errands.plots.charts import bars, draw_bars, draw_runtimes, runtimes
from errands.plots.curves import draw_curves, learning_curves
from errands.plots.style import as_svg
from errands.runs.documents import neat

OURS = tuple(method.name for method in (*TABULAR, *DEEP) if method.ours)
POINTS = 150


@dataclass(frozen=True)
class Figure:
    """A drawn figure and what to say about it."""

    name: str
    title: str
    svg: str
    notes: tuple[str, ...] = ()


def figures(panels: Sequence[Panel], evidence: Evidence, skipped: Sequence[Skipped] = ()) -> tuple[Figure, ...]:
    """The figures of some panels, one for each preset, map or kind of network; methods of ours stand beside both presets."""
    drawn = list[Figure]()
    for panel in panels:
        if panel.runtime:
            for under in NETWORKS if panel.deep else ("tuned", "paper"):
                drawn += _runtimes(panel, under, evidence)
            continue
        missing = [s for s in skipped if s.task in panel.tasks]
        for name in (
            name for task in panel.tasks for name in evidence.maps(task) if (", map " in name) == (panel.maps != (0,))
        ):
            for preset in ("tuned", "paper"):
                mine = {key[1:]: c for key, c in evidence.curves.items() if key[0] == name}
                curves = [c for (method, under), c in mine.items() if under == preset or method in OURS]
                if any(under == preset for _, under in mine):
                    drawn += _curves(panel, name, preset, curves, missing)
    return tuple(drawn)


def _runtimes(panel: Panel, under: str, evidence: Evidence) -> list[Figure]:
    points = [
        (name, subtasks_of(task), seconds)
        for (task, name, kind), each in evidence.seconds.items()
        if task in panel.tasks
        and (kind == under or (name in OURS and not panel.deep))
        and name.split()[0] not in STOPPING
        for seconds in (each if not panel.deep else [min(each)])
    ]
    if not points:
        return []
    kinds = {"heads": "one head per objective or state", "one-hot": "one-hot input"}
    title = f"{panel.title} ({kinds.get(under, f'{under} preset')})"
    note = "CPU seconds of one core, without evaluations and compilation; methods that stop by themselves are left out"
    if panel.deep:
        note = "Seconds for a million steps of all seeds together, once compiled, evaluations left out; the least where repeated"
    return [Figure(f"{panel.name}-{under}", title, as_svg(draw_runtimes(runtimes(title, points))), (note,))]


def _curves(panel: Panel, task: str, preset: str, curves: list[Curve], missing: Sequence[Skipped]) -> list[Figure]:
    """Learning curves in which every line of a network ends where its runs end; and steps to the optimum, where it is known."""
    name = f"{task.replace(', map ', '-map-')}-{preset}"
    where = task.split(", ")[1:]
    title = f"{panel.title}{''.join(f', {m}' for m in where)} ({preset} preset)"
    value = learning_curves(curves, title, points=POINTS)
    notes = [f"Median of {max(c.seeds for c in curves)} seeds, quartiles shaded"]
    if curves[0].optimum is not None:
        rows = [summarise(curve) for curve in curves]
        ends = bars(rows, f"{title}: steps to the optimum", [s.method for s in missing])
        reasons = tuple(f"{s.method} was not run: {s.reason}" for s in missing)
        return [
            Figure(name, title, as_svg(draw_curves(value)), (*notes, *value.notes, *reasons)),
            Figure(f"{name}-bars", ends.title, as_svg(draw_bars(ends)), reasons),
        ]
    value = replace(value, lines=tuple(learning_curves([c], points=POINTS).lines[0] for c in curves), notes=())
    shortest, last = reference_of(curves), max(c.ends_last for c in curves)
    notes += [f"The shortest episode that any seed met has {shortest:g} steps"] if shortest is not None else []
    notes += [f"{c.name} was run to step {c.ends_last:,}" for c in curves if c.ends_last < last]
    return [Figure(name, title, as_svg(draw_curves(value)), tuple(notes))]


def summaries(evidence: Evidence) -> tuple[dict[str, Any], ...]:
    """A row for each method on each task under each preset; all methods on a task are measured by one reference."""
    rows = []
    for task in dict.fromkeys(key[0] for key in evidence.curves):
        mine = {key: curve for key, curve in evidence.curves.items() if key[0] == task}
        reference = reference_of(list(mine.values()))
        for (_, name, preset), curve in mine.items():
            row = {**summarise(curve, reference).row(), "name": name}
            lengths = {key: neat(row[key]) for key in ("optimum", "reference")}
            rows.append({"task": row.pop("task"), "name": row.pop("name"), "preset": preset, **row, **lengths})
    return tuple(rows)


def runtime_rows(evidence: Evidence) -> tuple[dict[str, Any], ...]:
    """A row for each method on each task under each preset or network: quartiles and the least over seeds or repeats."""
    rows = []
    for (task, name, under), seconds in evidence.seconds.items():
        q1, median, q3 = spread(seconds).values
        rows.append({"task": task, "method": name, "preset": under, "q1": q1, "median": median, "q3": q3,
                     "least": float(np.min(seconds))})  # fmt: skip
    return tuple(rows)
