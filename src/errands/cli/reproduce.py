"""`errands reproduce`: the paper's tabular panels, measured, drawn and judged in one command."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from errands.cli.answer import Answer

if TYPE_CHECKING:
    from errands.experiments.evidence import Exact
    from errands.experiments.measured import Measured
    from errands.experiments.paper import Cell, Panel, Profile, Skipped
    from errands.experiments.report import Figure, Report

STOPPING = ("scout", "dirl")
"""Methods that end by themselves before the steps are spent: time per million steps would mean nothing."""


@dataclass(frozen=True)
class Arguments:
    """Reproduce the paper's tabular results."""

    figures: tyro.conf.Positional[tuple[str, ...]] = ()
    """delivery-2, delivery-8, delivery-runtime, office-3, office-6, office-runtime; all when none is named."""
    profile: Literal["quick", "full"] = "quick"
    """quick: 3 seeds of 100,000 steps; full: 10 seeds of 1,000,000 steps, as in the paper."""
    boolean_large: bool = False
    """Also run CRM and HRM on Boolean machines of seven and eight boxes, which takes hours."""
    seeds: int | None = None
    """Another number of seeds."""
    steps: int | None = None
    """Another number of steps."""
    output: Path | None = None
    """The folder of the report; reproduction-PROFILE unless said otherwise. What it holds is not measured again."""
    jobs: int | None = None
    """How many runs at the same time; all cores unless said otherwise."""
    dry_run: bool = False
    """Only say what would be run, and how long it would take."""
    quiet: bool = False
    """No progress on standard error."""


def run(arguments: Arguments) -> Answer:
    """Forecast, measure, judge, draw and write the report."""
    from errands.cli.typed import typed
    from errands.experiments.engine_local import cores
    from errands.experiments.measured import measure_all
    from errands.experiments.paper import cells, chosen

    profile, panels = _profile(arguments), chosen(arguments.figures)
    wanted, skipped = cells(panels, profile, arguments.boolean_large)
    output, workers = arguments.output or Path(f"reproduction-{profile.name}"), arguments.jobs or cores()
    predicted = _forecast(arguments, wanted, output / "cells", workers)
    for left in skipped:
        _say(arguments, f"not run: {left.method} on {left.task}: {left.reason}")
    document: dict[str, Any] = {"profile": profile.name, "cells": len(wanted), "forecast_seconds": round(predicted, 1)}
    if arguments.dry_run:
        return Answer(document, f"{len(wanted)} cells, about {predicted / 60:.1f} minutes of one core")
    measured = measure_all(wanted, output / "cells", workers, lambda line: _say(arguments, line))
    again = dataclasses.replace(arguments, output=None, jobs=None, quiet=False)
    report = _report(panels, measured, profile, skipped, typed("reproduce", again))
    page = write(report, output)
    document |= {"report": str(page), "claims": {claim.name: claim.verdict for claim in report.claims}}
    document["not_run"] = [dataclasses.asdict(left) for left in skipped]
    lines = [f"{claim.verdict:15} {claim.where:13} {claim.text}" for claim in report.claims]
    return Answer(document, "\n".join([*lines, f"wrote {page}"]), int(bool(report.errors)))


def _profile(arguments: Arguments) -> Profile:
    from errands.errors import ConfigError
    from errands.experiments.paper import PROFILES

    given = {key: value for key in ("seeds", "steps") if (value := getattr(arguments, key)) is not None}
    if any(value < 1 for value in given.values()):
        raise ConfigError("--seeds and --steps must be at least 1")
    return dataclasses.replace(PROFILES[arguments.profile], **given)


def _forecast(arguments: Arguments, wanted: list[Cell], folder: Path, workers: int) -> float:
    """The seconds of one core for what the folder does not hold yet, told before anything is measured."""
    from errands.experiments.measured import forecast, stored, warm

    rest = [cell for cell in wanted if stored(folder, cell) is None]
    _say(arguments, f"{len(wanted)} cells, {len(wanted) - len(rest)} of them already in {folder}; compiling")
    warm(rest)
    predicted = sum(forecast(cell) for cell in rest)
    _say(arguments, f"forecast: {predicted / 60:.1f} minutes of one core, {predicted / 60 / workers:.1f} on {workers}")
    return predicted


def _say(arguments: Arguments, line: str) -> None:
    if not arguments.quiet:
        print(line, file=sys.stderr, flush=True)


def _report(
    panels: tuple[Panel, ...],
    measured: list[Measured],
    profile: Profile,
    skipped: list[Skipped],
    command: str,
) -> Report:
    from errands.experiments.claims import judge_all
    from errands.experiments.evidence import evidence_of
    from errands.experiments.report import Report
    from errands.results.provenance import computer, versions
    from errands.results.statistics import spread
    from errands.results.summary import summarise

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
    return Report(
        profile=profile,
        command=command,
        versions=versions("", deep=False),
        computer=computer(),
        trained=sum(seed.seconds for m in good for seed in m.seeds),
        figures=tuple(figure for panel in panels for figure in _figures(panel, good)),
        summaries=tuple(rows),
        runtimes=tuple(times),
        claims=tuple(judge_all(evidence_of(good, _exact()))),
        skipped=tuple(skipped),
        errors=tuple(f"{m.cell.name}: {m.error}" for m in measured if m.error),
    )


def _exact() -> dict[str, Exact]:
    """What the oracle says about the tasks of the claim of global optimality."""
    from errands.experiments.evidence import Exact
    from errands.oracle.one_policy import one_policy_per_subtask
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
    from errands.experiments.report import Figure
    from errands.plots.runtimes import draw_runtimes, runtimes
    from errands.plots.style import as_svg

    timed = [m for m in measured if m.cell.method.learner not in STOPPING]
    points = [(m.cell.method.name, int(m.cell.task.rsplit("-", 1)[1]), s) for m in timed for s in m.per_million]
    said = ("CPU seconds of one core, without evaluations and compilation; methods that stop by themselves are left out",)
    return [Figure(name, title, as_svg(draw_runtimes(runtimes(title, points))), said)]


def _curve_figures(name: str, title: str, measured: list[Measured]) -> list[Figure]:
    from errands.experiments.report import Figure
    from errands.plots.bars import bars, draw_bars
    from errands.plots.curves import draw_curves, learning_curves
    from errands.plots.style import as_svg
    from errands.results.summary import summarise

    curves = [m.curve for m in measured]
    value = learning_curves(curves, title, points=150)
    notes = (f"Median of {measured[0].cell.seeds} seeds, quartiles shaded", *value.notes)
    ends = bars([summarise(curve) for curve in curves], f"{title}: steps to the optimum")
    return [
        Figure(name, title, as_svg(draw_curves(value)), notes),
        Figure(f"{name}-bars", ends.title, as_svg(draw_bars(ends))),
    ]


def write(report: Report, output: Path) -> Path:
    """Write the page, the figures and the tables; returns the page."""
    import json

    from errands.experiments import report as made
    from errands.results.files import write_file

    files = {
        "report.html": made.html(report),
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
