"""What was found on Water and HalfCheetah, as figures, rows and verdicts; also for rows that were collected elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from errands.paper.reproduced import Part

if TYPE_CHECKING:
    from errands.analysis.curve import Curve
    from errands.paper.collected import Collected
    from errands.paper.evidence import Key
    from errands.paper.paper import Panel
    from errands.paper.report import Figure
    from errands.paper.team_store import Kept


def teams_part(panels: Sequence[Panel], kept: Sequence[Kept]) -> Part:
    """Figures, rows and verdicts of measured cells; cells that were cut short count as far as they came."""
    from errands.paper.collected import collected

    part = collected_part(panels, collected(row for k in kept for row in k.rows))
    cut = [k for k in kept if not k.ended and not k.error]
    seconds = sum(k.rows[-1].get("seconds", 0.0) for k in kept if k.rows)
    notes = [f"Training of teams took {seconds / 60:.1f} minutes in all, evaluations and compilation included."]
    if cut:
        begun = [f"{k.cell.name} at {at:,} of {k.cell.steps:,}" for k in cut if (at := max(k.reached, k.step))]
        where = ", ".join([*begun, f"{len(cut) - len(begun)} cells not begun"])
        notes.append(f"Not at the end yet; the same command continues: {where}.")
    errors = tuple(f"{k.cell.name}: {k.error}" for k in kept if k.error)
    return part._replace(notes=(*notes, *part.notes), errors=errors)


def collected_part(panels: Sequence[Panel], found: Collected) -> Part:
    """Figures, rows and verdicts of rows, wherever they were measured."""
    from errands.analysis.statistics import spread
    from errands.analysis.summary import reference_of, summarise
    from errands.paper.claims import judge_all
    from errands.paper.continuous_claims import CONTINUOUS, RULES

    rows: list[dict[str, Any]] = []
    for task in dict.fromkeys(key[0] for key in found.curves):
        mine = {key: curve for key, curve in found.curves.items() if key[0] == task}
        reference = reference_of(list(mine.values()))
        for (_, name, preset), curve in mine.items():
            row = summarise(curve, reference).row()
            rows.append({**row, "task": task, "name": name, "preset": preset})
    times = []
    for (task, name, network), seconds in found.paces.items():
        q1, median, q3 = spread(seconds).values
        row = {"task": task, "method": name, "preset": network, "q1": q1, "median": median, "q3": q3}
        times.append({**row, "least": min(seconds)})
    return Part(
        figures=tuple(figure for panel in panels for figure in _figures(panel, found)),
        summaries=tuple(rows),
        runtimes=tuple(times),
        claims=tuple(judge_all(found.evidence(), CONTINUOUS)),
        rules=(RULES,),
        notes=_doubts(found),
    )


def _doubts(found: Collected) -> tuple[str, ...]:
    """Which verdicts hang on how many evaluations a value is the median of."""
    from errands.paper.claims import judge_all
    from errands.paper.collected import OTHER_WINDOWS, WINDOW
    from errands.paper.continuous_claims import CONTINUOUS

    said = []
    judged = judge_all(found.evidence(), CONTINUOUS)
    for window in OTHER_WINDOWS:
        pairs = zip(judged, judge_all(found.evidence(window), CONTINUOUS), strict=True)
        other = [f"'{a.text}' would be {b.verdict} instead of {a.verdict}" for a, b in pairs if a.verdict != b.verdict]
        values = "single evaluations" if window == 1 else f"medians of {window} evaluations"
        said.append(f"With {values} instead of medians of {WINDOW}, {'; '.join(other) or 'all verdicts are the same'}.")
    return tuple(said)


def _figures(panel: Panel, found: Collected) -> list[Figure]:
    if panel.runtime:
        return [f for network in ("heads", "one-hot") for f in _runtimes(panel, network, found.paces)]
    figures = []
    for task in dict.fromkeys(key[0] for key in found.curves if key[0].split(",")[0] in panel.tasks):
        mine = {key[1:]: curve for key, curve in found.curves.items() if key[0] == task}
        for preset in dict.fromkeys(preset for _, preset in mine):
            ours = [c for (name, p), c in mine.items() if p == preset or name == "qcorm-plus"]
            figures.append(
                _curves(f"{task.replace(', map ', '-map-')}-{preset}", f"{panel.title} ({preset} preset)", ours)
            )
    return figures


def _runtimes(panel: Panel, network: str, paces: Mapping[Key, tuple[float, ...]]) -> list[Figure]:
    from errands.paper.continuous import task_of
    from errands.paper.report import Figure
    from errands.plots.runtimes import draw_runtimes, runtimes
    from errands.plots.style import as_svg

    points = [
        (name, len(task_of(task).machine.subtasks), min(seconds))
        for (task, name, net), seconds in paces.items()
        if net == network and task in panel.tasks
    ]
    if not points:
        return []
    title = f"{panel.title} ({'one head per objective or state' if network == 'heads' else 'one-hot input'})"
    note = "Seconds for a million steps of all seeds together, once compiled, evaluations left out; the least of some repeats"
    return [Figure(f"{panel.name}-{network}", title, as_svg(draw_runtimes(runtimes(title, points))), (note,))]


def _curves(name: str, title: str, curves: list[Curve]) -> Figure:
    """Learning curves in which every line ends where its runs end."""
    from errands.analysis.summary import reference_of
    from errands.paper.report import Figure
    from errands.plots.curves import draw_curves, learning_curves
    from errands.plots.style import as_svg

    value = learning_curves(curves, title, points=150)
    value = replace(value, lines=tuple(learning_curves([c], points=150).lines[0] for c in curves), notes=())
    shortest = reference_of(curves)
    notes = [f"Median of {max(c.seeds for c in curves)} seeds, quartiles shaded"]
    notes += [f"The shortest episode that any seed met has {shortest:g} steps"] if shortest is not None else []
    last = max(c.ends_last for c in curves)
    notes += [f"{c.name} was run to step {c.ends_last:,}" for c in curves if c.ends_last < last]
    return Figure(name, title, as_svg(draw_curves(value)), tuple(notes))
