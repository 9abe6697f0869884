"""The report of a reproduction: figures and tables in Markdown, the tables as CSV, the claims as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from errands.analysis.compare import reference_of, summarise
from errands.analysis.curve import Curve
from errands.analysis.statistics import spread
from errands.paper.claims import Judged
from errands.paper.evidence import Evidence
from errands.paper.panels import (
    DEEP,
    NETWORKS,
    PANELS,
    STOPPING,
    TABULAR,
    Panel,
    Skipped,
    by_networks,
    subtasks_of,
    task_and_map,
    task_name,
)
from errands.paper.pictures import draw_domain, draw_overlay
from errands.plots.charts import draw_runtimes, runtimes
from errands.plots.curves import draw_curves, learning_curves
from errands.plots.style import as_svg
from errands.runs.documents import int_if_whole
from errands.runs.files import write_file

METHODS = tuple(dict.fromkeys(method.name for method in (*TABULAR, *DEEP)))
POINTS = 150


@dataclass(frozen=True)
class PaperFigure:
    """A drawn figure and what to say about it."""

    name: str
    title: str
    svg: str
    notes: tuple[str, ...] = ()


def figures(panels: Sequence[Panel], evidence: Evidence, skipped: Sequence[Skipped] = ()) -> tuple[PaperFigure, ...]:
    """The figures of some panels, one for each preset, map or kind of network; methods of ours stand beside the tuned preset.

    Methods with other settings than a preset's have a figure of their own, beside the methods that they are variants of.
    """
    drawn = list[PaperFigure]()
    for panel in panels:
        if panel.domain:
            drawn.append(PaperFigure(panel.name, panel.title, as_svg(draw_domain(panel.tasks[0], panel.title))))
            continue
        if panel.runtime:
            for under in NETWORKS if panel.deep else ("tuned", "paper"):
                drawn += _runtimes(panel, under, evidence, [s for s in skipped if s.task in panel.tasks])
            continue
        missing = [s for s in skipped if s.task in panel.tasks]
        for name in (
            name
            for task in panel.tasks
            for name in evidence.maps(task)
            if (task_and_map(name)[1] > 0) == (panel.maps != (0,))
        ):
            for preset in ("tuned", "paper"):
                mine = {key[1:]: c for key, c in evidence.curves.items() if key[0] == name}
                own = {method: c for (method, under), c in mine.items() if under == preset}
                if own:
                    for which, curves in _sheets(own):
                        drawn += _curves(panel, name, preset, curves, missing, which)
    return tuple(drawn)


def _sheets(curves: Mapping[str, Curve]) -> Iterator[tuple[str, list[Curve]]]:
    """The methods in their order; and their variants, behind the methods that those are variants of."""
    main = [curves[method] for method in METHODS if method in curves]
    variants = {method: c for method, c in curves.items() if method not in METHODS}
    if main:
        yield "", main
    if variants:
        # The longest name that a variant begins with: "qcorm printed", not "qcorm".
        plain = {max((m for m in METHODS if f"{variant} ".startswith(f"{m} ")), key=len, default="") for variant in variants}
        yield ", variants", [*(curves[m] for m in METHODS if m in plain and m in curves), *variants.values()]


def _runtimes(panel: Panel, under: str, evidence: Evidence, missing: Sequence[Skipped]) -> list[PaperFigure]:
    points = [
        (name, subtasks_of(task), min(each))
        for (task, name, kind), each in evidence.seconds.items()
        if task in panel.tasks and kind == under and name.split()[0] not in STOPPING
    ]
    if not points:
        return []
    stops = [f"{s.method} was not run on {s.task}: {s.reason}" for s in missing]
    kinds = {"heads": "one head per objective or state", "one-hot": "one-hot input"}
    title = f"{panel.title} ({kinds.get(under, f'{under} preset')})"
    note = (
        "CPU seconds of one core, without evaluations and compilation, the least of all seeds; methods that stop by "
        "themselves are left out"
    )
    if panel.deep:
        note = "Seconds for a million steps of all seeds together, once compiled, evaluations left out; the least where repeated"
    return [PaperFigure(f"{panel.name}-{under}", title, as_svg(draw_runtimes(runtimes(title, points))), (note, *stops))]


def _curves(
    panel: Panel, name: str, preset: str, curves: list[Curve], missing: Sequence[Skipped], which: str
) -> list[PaperFigure]:
    """Learning curves, all on one axis and each apart; every line of a network ends where its runs end."""
    task, number = task_and_map(name)
    # A panel of other maps shows several tasks: each by its own name.
    title = f"{task_name(PANELS.get(task, panel).title, number)} ({preset} preset{which})"
    name = f"{name.replace(', map ', '-map-')}-{preset}{which.replace(', ', '-')}"
    value = learning_curves(curves, title, points=POINTS)
    together = PaperFigure(name, title, as_svg(draw_overlay(value, curves)), (f"All methods, median of {curves[0].seeds} seeds",))
    notes = [f"Median of {max(c.seeds for c in curves)} seeds, quartiles shaded"]
    if not by_networks(task):
        reasons = tuple(f"{s.method} was not run: {s.reason}" for s in missing)
        return [together, PaperFigure(f"{name}-each", title, as_svg(draw_curves(value)), (*notes, *value.notes, *reasons))]
    value = replace(value, lines=tuple(learning_curves([c], points=POINTS).lines[0] for c in curves), notes=())
    shortest, last = reference_of(curves), max(c.ends_last for c in curves)
    best = "The optimum" if curves[0].optimum is not None else "The shortest episode that any seed met"
    notes += [f"{best} has {shortest:g} steps"] if shortest is not None else []
    notes += [f"{c.name} was run to step {c.ends_last:,}" for c in curves if c.ends_last < last]
    return [together, PaperFigure(f"{name}-each", title, as_svg(draw_curves(value)), tuple(notes))]


Row = Mapping[str, Any]


@dataclass(frozen=True)
class ReportTable:
    """A table: what stands above its columns by key, and the file that it is stored as."""

    title: str
    file: str
    columns: Mapping[str, str]
    rows: tuple[Row, ...]


SUMMARY_COLUMNS = {
    "task": "task", "name": "method", "preset": "preset", "seeds": "seeds", "steps": "steps",
    "reference": "optimum, or shortest met",
    "final_median": "final median", "gap": "above the optimum",
    "final_q1": "q1", "final_q3": "q3", "success": "succeed", "optimal": "optimal",
    "first_optimal_median": "steps to first optimum", "first_near_median": "steps to within 10 %",
    "settled": "median stays within 10 % from", "iqm": "IQM score", "iqm_low": "low", "iqm_high": "high",
}  # fmt: skip
RUNTIME_COLUMNS = {
    "task": "task", "method": "method", "preset": "preset or network",
    "q1": "q1", "median": "seconds per 1e6 steps", "q3": "q3", "least": "least",
}  # fmt: skip


def summaries(evidence: Evidence) -> ReportTable:
    """A row for each method on each task under each preset; all methods on a task are measured by one reference."""
    rows = []
    for task in dict.fromkeys(key[0] for key in evidence.curves):
        mine = {key: curve for key, curve in evidence.curves.items() if key[0] == task}
        # One reference for all methods and presets of a task: by its own best each method would look good.
        reference = reference_of(list(mine.values()))
        for (_, name, preset), curve in mine.items():
            row = {**summarise(curve, reference).row(), "name": name}
            lengths = {key: int_if_whole(row[key]) for key in ("optimum", "reference", "gap")}
            rows.append({"task": row.pop("task"), "name": row.pop("name"), "preset": preset, **row, **lengths})
    return ReportTable("All methods", "summary.csv", SUMMARY_COLUMNS, tuple(rows))


def runtime_rows(evidence: Evidence) -> ReportTable:
    """A row for each method on each task under each preset or network: quartiles and the least over seeds or repeats."""
    rows = []
    for (task, name, under), seconds in evidence.seconds.items():
        spreads = dict(zip(("q1", "median", "q3"), spread(seconds).values, strict=True))
        rows.append({"task": task, "method": name, "preset": under, **spreads, "least": float(min(seconds))})
    return ReportTable("Runtimes", "runtimes.csv", RUNTIME_COLUMNS, tuple(rows))


@dataclass(frozen=True)
class Report:
    """Everything that a reproduction found."""

    name: str
    """The profile, or where the numbers were collected."""
    command: str
    versions: Mapping[str, str]
    computer: Mapping[str, str | int]
    notes: tuple[str, ...]
    """How much was run and for how long, in sentences."""
    figures: tuple[PaperFigure, ...]
    tables: tuple[ReportTable, ...]
    claims: tuple[Judged, ...]
    rules: tuple[str, ...]
    """By what rules the claims were judged."""
    skipped: tuple[Skipped, ...]
    errors: tuple[str, ...] = ()

    @property
    def facts(self) -> list[str]:
        """How these numbers came to be, in sentences."""
        where = [f"Versions: {listed(self.versions)}.", f"Machine: {listed(self.computer)}."]
        return [f"Command: {self.command}", *self.notes, *where]


def listed(names: Mapping[str, object]) -> str:
    """Names with their values in a row, such as versions."""
    return ", ".join(f"{name} {value}" for name, value in names.items())


def tally(claims: Sequence[Judged]) -> str:
    """How many claims have which verdict, under each preset alone."""
    presets = [p for p in dict.fromkeys(p for claim in claims for p in claim.by_preset) if p != "exact"]
    counted = {p: Counter(c.by_preset[p] for c in claims if p in c.by_preset) for p in presets}
    words = {p: ", ".join(f"{n} {v}" for v, n in counts.most_common()) for p, counts in counted.items()}
    said = [f"{p} preset: {counts}" if p in ("tuned", "paper") else f"{p}: {counts}" for p, counts in words.items()]
    return f"Verdicts under one preset or network alone: {'; '.join(said)}." if said else "No claim is about these runs."


def shown(value: Any) -> str:
    """A value in a table: what never happened is a dash."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 or value.is_integer() else f"{value:.3g}"
    return str(value)


def markdown_claims(claims: Sequence[Judged]) -> str:
    """The claims as a Markdown table."""
    lines = ["| where | claim | read as | verdict | measured | command |", "|---|---|---|---|---|---|"]
    for claim in claims:
        said = "<br>".join(
            f"**{p}** ({claim.by_preset[p]}): {'; '.join(checks)}" for p, checks in claim.measured.items()
        )
        what = f"{claim.where} | {claim.text} | {claim.reading or '-'}"
        lines.append(f"| {what} | **{claim.verdict}** | {said} | `{claim.command}` |")
    return "\n".join([*lines, ""])


def markdown(report: Report) -> str:
    """The report; its figures lie beside it as files."""
    parts = ["# The paper's results, reproduced", "", "## Verdicts", "", tally(report.claims), "", markdown_claims(report.claims)]
    parts += ["## How they were reached", "", *(line for rule in report.rules for line in (rule, ""))]
    parts += [*_list(report.facts), "## Figures", ""]
    for figure in report.figures:
        drawn = f"![{figure.title}]({figure.name}.svg)"
        parts += [f"### {figure.title}", "", drawn, "", *(f"{note}." for note in figure.notes), ""]
    for table in report.tables:
        parts += [f"## {table.title}", "", f"| {' | '.join(table.columns.values())} |", f"|{'---|' * len(table.columns)}"]
        parts += [*(f"| {' | '.join(shown(row.get(key)) for key in table.columns)} |" for row in table.rows), ""]
    parts += ["## What was not run, and why", "", *_list(f"{s.method} on {s.task}: {s.reason}" for s in report.skipped)]
    parts += ["## What ended in an error", "", *_list(report.errors)] if report.errors else []
    return "\n".join(parts)


def _list(lines: Iterable[str]) -> list[str]:
    return [*(f"- {line}" for line in lines), ""]


def as_csv(rows: Sequence[Row]) -> str:
    """Rows as a table that a spreadsheet opens."""
    text = io.StringIO()
    names = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def claims_json(report: Report) -> dict[str, Any]:
    """The claims with how they were judged, for other pages to be written from."""
    said = {"command": report.command, "profile": report.name, "versions": dict(report.versions)}
    return {
        **said,
        "rules": " ".join(report.rules),
        "tally": tally(report.claims),
        "claims": [{**asdict(claim), "words": claim.words} for claim in report.claims],
    }


def write(report: Report, output: Path) -> Path:
    """Write README.md, the figures and the tables; returns the first."""
    files = {
        "README.md": markdown(report),
        "claims.md": markdown_claims(report.claims),
        "claims.json": json.dumps(claims_json(report), ensure_ascii=False, indent=1) + "\n",
        **{table.file: as_csv(table.rows) for table in report.tables},
        **{f"{figure.name}.svg": figure.svg for figure in report.figures},
    }
    output.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_file(output / name, text.encode())
    return output / "README.md"
