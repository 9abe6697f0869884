"""The report of a reproduction: figures and tables as one HTML page, and the same tables as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

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
from errands.paper.unordered import draw_gaps
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
    if any(panel.unordered for panel in panels) and evidence.curves:
        title = "Unordered tasks: how far above the optimum the median seed ends"
        note = "Above the shortest way known where the optimum is bounded but not exact; a mean over maps"
        drawn.append(PaperFigure("unordered", title, as_svg(draw_gaps(panels, evidence)), (note,)))
    for panel in (panel for panel in panels if not panel.unordered):
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


def summaries(evidence: Evidence) -> tuple[dict[str, Any], ...]:
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
    return tuple(rows)


def runtime_rows(evidence: Evidence) -> tuple[dict[str, Any], ...]:
    """A row for each method on each task under each preset or network: quartiles and the least over seeds or repeats."""
    rows = []
    for (task, name, under), seconds in evidence.seconds.items():
        q1, median, q3 = spread(seconds).values
        rows.append({"task": task, "method": name, "preset": under, "q1": q1, "median": median, "q3": q3,
                     "least": float(np.min(seconds))})  # fmt: skip
    return tuple(rows)


Row = Mapping[str, Any]


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
    summaries: tuple[Row, ...]
    runtimes: tuple[Row, ...]
    claims: tuple[Judged, ...]
    rules: tuple[str, ...]
    """By what rules the claims were judged."""
    skipped: tuple[Skipped, ...]
    errors: tuple[str, ...] = ()
    unordered: tuple[Row, ...] = ()

    @property
    def facts(self) -> list[str]:
        """How these numbers came to be, in sentences."""
        where = [f"Versions: {listed(self.versions)}.", f"Machine: {listed(self.computer)}."]
        return [f"Command: {self.command}", *self.notes, *where]


def listed(names: Mapping[str, object]) -> str:
    """Names with their values in a row, such as versions."""
    return ", ".join(f"{name} {value}" for name, value in names.items())


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


def tally(claims: Sequence[Judged]) -> str:
    """How many claims have which verdict, under each preset alone."""
    presets = [p for p in dict.fromkeys(p for claim in claims for p in claim.by_preset) if p != "exact"]
    counted = {p: Counter(c.by_preset[p] for c in claims if p in c.by_preset) for p in presets}
    words = {p: ", ".join(f"{n} {v}" for v, n in counts.most_common()) for p, counts in counted.items()}
    said = [f"{p} preset: {counts}" if p in ("tuned", "paper") else f"{p}: {counts}" for p, counts in words.items()]
    return f"Verdicts under one preset or network alone: {'; '.join(said)}." if said else "No claim is about these runs."


def html(report: Report) -> str:
    """One page that needs no other file."""
    facts = "".join(f"<li>{escape(fact)}</li>" for fact in report.facts)
    figures = "".join(_figure(figure) for figure in report.figures)
    rules = "".join(f"<p>{escape(rule)}</p>" for rule in report.rules)
    parts = [
        f"<h1>The paper's results, reproduced ({escape(report.name)})</h1>",
        f"<h2>Verdicts</h2><p>{escape(tally(report.claims))}</p>{_claims(report.claims)}",
        f"<h2>How they were reached</h2>{rules}<ul>{facts}</ul>",
        f"<h2>Figures</h2>{figures}",
        *([f"<h2>Unordered tasks</h2>{_table(report.unordered, {k: k for k in report.unordered[0]})}"] if report.unordered else []),
        f"<h2>All methods</h2>{_table(report.summaries, SUMMARY_COLUMNS)}",
        f"<h2>Runtimes</h2>{_table(report.runtimes, RUNTIME_COLUMNS)}",
        f"<h2>What was not run, and why</h2>{_list([f'{s.method} on {s.task}: {s.reason}' for s in report.skipped])}",
    ]
    if report.errors:
        parts.append(f"<h2>What ended in an error</h2>{_list(report.errors)}")
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>errands reproduce</title><style>{_STYLE}</style>"
    return f"{head}<body>{''.join(parts)}</body></html>\n"


_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;font-size:13px;margin:1rem 0;display:block;overflow-x:auto}
th,td{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
td.t{white-space:nowrap}td.n{text-align:right;font-variant-numeric:tabular-nums}th{border-bottom:2px solid #888}
figure{display:inline-block;margin:.5rem;max-width:36rem}figure svg{width:100%;height:auto}
figcaption{font-size:12px;color:#555}ul.small{margin:0;padding-left:1rem;font-size:12px}
.reproduced{color:#00634a}.partly{color:#7a5a00}.not-reproduced,.refuted{color:#9b2c00}.not-run,.undecided{color:#6b6b6b}code{font-size:12px}"""


def _figure(figure: PaperFigure) -> str:
    drawn = figure.svg[figure.svg.index("<svg") :]
    # Figures are drawn apart, so their ids repeat; within one page every figure needs its own.
    for mark in ('id="', 'href="#', "url(#"):
        drawn = drawn.replace(mark, f"{mark}{figure.name}-")
    notes = " ".join(escape(f"{note}.") for note in figure.notes)
    return f'<figure role="img" aria-label="{escape(figure.title)}">{drawn}<figcaption>{notes}</figcaption></figure>'


def _claims(claims: Sequence[Judged]) -> str:
    rows = []
    for claim in claims:
        checks = "".join(
            f"<li><b>{escape(p)}</b>: {escape('; '.join(said))}</li>" for p, said in claim.measured.items()
        )
        each = ", ".join(f"{p}: {v}" for p, v in claim.by_preset.items())
        rows.append(
            f"<tr><td>{escape(claim.where)}</td><td>{escape(claim.text)}{_reading(claim)}</td>"
            f'<td class="{claim.verdict.replace(" ", "-")}"><b>{escape(claim.verdict)}</b><br><small>{escape(each)}</small></td>'
            f'<td><ul class="small">{checks}</ul></td><td><code>{escape(claim.command)}</code></td></tr>'
        )
    head = "".join(f"<th>{name}</th>" for name in ("where", "claim", "verdict", "measured", "command"))
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _reading(claim: Judged) -> str:
    return f"<br><small>Read as: {escape(claim.reading)}</small>" if claim.reading else ""


def _table(rows: Sequence[Row], columns: Mapping[str, str]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns.values())
    body = "".join("<tr>" + "".join(_cell(row.get(key)) for key in columns) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    kind = "t" if isinstance(value, str) else "n"
    return f"<td class={kind}>{escape(shown(value))}</td>"


def _list(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else "<p>Nothing.</p>"


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
    """The report without its figures' drawings, for a folder that also holds them as files."""
    rules = [line for rule in report.rules for line in (rule, "")]
    parts = ["# The paper's results, reproduced", "", "## Verdicts", "", tally(report.claims), "",
             markdown_claims(report.claims), "## How they were reached", "", *rules, *(f"- {fact}" for fact in report.facts), "",
             "## Figures", ""]  # fmt: skip
    for figure in report.figures:
        parts += [
            f"### {figure.title}",
            "",
            f"![{figure.title}]({figure.name}.svg)",
            "",
            *(f"{n}." for n in figure.notes),
            "",
        ]
    left = [f"- {s.method} on {s.task}: {s.reason}" for s in report.skipped]
    if report.unordered:
        parts += ["## Unordered tasks", "", _markdown_table(report.unordered, {name: name for name in report.unordered[0]}), ""]
    parts += ["## All methods", "", _markdown_table(report.summaries, SUMMARY_COLUMNS), "", "## Runtimes", "",
              _markdown_table(report.runtimes, RUNTIME_COLUMNS), "", "## What was not run, and why", "", *left, "",
              *(["## What ended in an error", "", *(f"- {e}" for e in report.errors), ""] if report.errors else [])]  # fmt: skip
    return "\n".join(parts)


def _markdown_table(rows: Sequence[Row], columns: Mapping[str, str]) -> str:
    head = f"| {' | '.join(columns.values())} |\n|{'---|' * len(columns)}"
    return "\n".join([head, *(f"| {' | '.join(shown(row.get(key)) for key in columns)} |" for row in rows)])


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


def write(report: Report, output: Path, page: bool = True) -> Path:
    """Write the page (if wanted), the figures and the tables; returns the page."""
    files = {
        **({"report.html": html(report)} if page else {}),
        "README.md": markdown(report),
        "claims.md": markdown_claims(report.claims),
        "claims.json": json.dumps(claims_json(report), ensure_ascii=False, indent=1) + "\n",
        "summary.csv": as_csv(report.summaries),
        "runtimes.csv": as_csv(report.runtimes),
        **({"unordered.csv": as_csv(report.unordered)} if report.unordered else {}),
        **{f"{figure.name}.svg": figure.svg for figure in report.figures},
    }
    output.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_file(output / name, text.encode())
    return output / "report.html"
