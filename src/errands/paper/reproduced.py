"""What `errands reproduce` found on the tabular domains, as figures and rows, and the files of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from errands.paper.claims import Judged
    from errands.paper.evidence import Exact
    from errands.paper.measured import Measured
    from errands.paper.paper import Panel, Skipped
    from errands.paper.report import Figure, Report

STOPPING = ("scout", "dirl")
"""Methods that end by themselves before the steps are spent: time per million steps would mean nothing."""


class Part(NamedTuple):
    """What one kind of domain adds to a report."""

    figures: tuple[Figure, ...] = ()
    summaries: tuple[dict[str, Any], ...] = ()
    runtimes: tuple[dict[str, Any], ...] = ()
    claims: tuple[Judged, ...] = ()
    rules: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


def tabular_part(panels: tuple[Panel, ...], measured: list[Measured]) -> Part:
    """Figures, rows and verdicts of the tabular panels."""
    from errands.analysis.statistics import spread
    from errands.analysis.summary import summarise
    from errands.paper.claims import judge_all
    from errands.paper.evidence import evidence_of
    from errands.paper.report import TABULAR

    good = [m for m in measured if m.seeds]
    rows = []
    for m in good:
        row = summarise(m.curve).row()
        rows.append({"task": row.pop("task"), "name": row.pop("name"), "preset": m.cell.preset, **row})
    times = []
    for m in (m for m in good if m.cell.method.learner not in STOPPING):
        q1, median, q3 = spread(m.per_million).values
        times.append({"task": m.cell.task, "method": m.cell.method.name, "preset": m.cell.preset,
                      "q1": q1, "median": median, "q3": q3})  # fmt: skip
    seconds = sum(seed.seconds for m in good for seed in m.seeds)
    return Part(
        figures=tuple(figure for panel in panels for figure in _figures(panel, good)),
        summaries=tuple(rows),
        runtimes=tuple(times),
        claims=tuple(judge_all(evidence_of(good, _exact()))),
        rules=(TABULAR,),
        notes=(f"Tabular training took {seconds / 60:.1f} minutes of one core in all, evaluations left out.",),
        errors=tuple(f"{m.cell.name}: {m.error}" for m in measured if m.error),
    )


def _exact() -> dict[str, Exact]:
    """What the oracle says about the tasks of the claim of global optimality."""
    from errands.oracle.one_policy import one_policy_per_subtask
    from errands.paper.evidence import Exact
    from errands.tasks.catalogue import load

    found = {}
    for name in ("delivery-2", "office-3", "office-6", "corridor"):
        single = one_policy_per_subtask(load(name))
        if single.optimum is not None:
            found[name] = Exact(float(single.optimum), None if single.length is None else float(single.length))
    return found


def _figures(panel: Panel, measured: list[Measured]) -> list[Figure]:
    """The figures of a panel, one for each preset; methods of ours stand beside both."""
    found = []
    for preset in ("tuned", "paper"):
        kept = [m for m in measured if m.cell.task in panel.tasks and (m.cell.preset == preset or m.cell.method.ours)]
        if kept:
            draw = _runtime_figure if panel.runtime else _curve_figures
            found += draw(f"{panel.name}-{preset}", f"{panel.title} ({preset} preset)", kept)
    return found


def _runtime_figure(name: str, title: str, measured: list[Measured]) -> list[Figure]:
    from errands.paper.report import Figure
    from errands.plots.runtimes import draw_runtimes, runtimes
    from errands.plots.style import as_svg

    timed = [m for m in measured if m.cell.method.learner not in STOPPING]
    points = [(m.cell.method.name, int(m.cell.task.rsplit("-", 1)[1]), s) for m in timed for s in m.per_million]
    said = (
        "CPU seconds of one core, without evaluations and compilation; methods that stop by themselves are left out",
    )
    return [Figure(name, title, as_svg(draw_runtimes(runtimes(title, points))), said)]


def _curve_figures(name: str, title: str, measured: list[Measured]) -> list[Figure]:
    from errands.analysis.summary import summarise
    from errands.paper.report import Figure
    from errands.plots.bars import bars, draw_bars
    from errands.plots.curves import draw_curves, learning_curves
    from errands.plots.style import as_svg

    curves = [m.curve for m in measured]
    value = learning_curves(curves, title, points=150)
    notes = (f"Median of {measured[0].cell.seeds} seeds, quartiles shaded", *value.notes)
    ends = bars([summarise(curve) for curve in curves], f"{title}: steps to the optimum")
    return [
        Figure(name, title, as_svg(draw_curves(value)), notes),
        Figure(f"{name}-bars", ends.title, as_svg(draw_bars(ends))),
    ]


def joined(name: str, command: str, parts: Sequence[Part], skipped: Sequence[Skipped], notes: Sequence[str]) -> Report:
    """One report of all parts."""
    from errands.paper.report import Report
    from errands.runs.provenance import computer, versions

    columns: Iterable[tuple[tuple[Any, ...], ...]] = zip(*parts, strict=True)
    whole = Part(*(tuple(chain.from_iterable(column)) for column in columns))
    deep = any("Water" in rule for rule in whole.rules)
    return Report(
        name=name,
        command=command,
        versions=versions("cheetah" if deep else "", deep=deep),
        computer={**computer(), **(_device() if deep else {})},
        notes=(*notes, *whole.notes),
        figures=whole.figures,
        summaries=whole.summaries,
        runtimes=whole.runtimes,
        claims=whole.claims,
        rules=whole.rules,
        skipped=tuple(skipped),
        errors=whole.errors,
    )


def _device() -> dict[str, str]:
    """What networks were trained on."""
    import jax

    return {"device": str(jax.devices()[0].device_kind)}


def write(report: Report, output: Path, page: bool = True) -> Path:
    """Write the page (if wanted), the figures and the tables; returns the page."""
    import json

    from errands.paper import report as made
    from errands.runs.files import write_file

    files = {
        **({"report.html": made.html(report)} if page else {}),
        "README.md": made.markdown(report),
        "claims.md": made.markdown_claims(report.claims),
        "claims.json": json.dumps(made.claims_json(report), ensure_ascii=False, indent=1) + "\n",
        "summary.csv": made.as_csv(report.summaries),
        "runtimes.csv": made.as_csv(report.runtimes),
        **{f"{figure.name}.svg": figure.svg for figure in report.figures},
    }
    output.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_file(output / name, text.encode())
    return output / "report.html"
