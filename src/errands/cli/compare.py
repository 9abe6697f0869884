"""`errands compare`: several runs or sweeps in one table, with what differs between them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group
from rich.table import Table

from errands.analysis.compare import Compared, Summary, compared, differences, improvements, overall, summarise_all
from errands.analysis.statistics import Interval
from errands.cli.summary import between
from errands.cli.verbs import Answer, Positional
from errands.errors import ConfigError
from errands.runs.documents import narrowest
from errands.terminal import table


@dataclass(frozen=True)
class Arguments:
    """Compare runs."""

    runs: Positional[tuple[str, ...]]
    """Names under runs/, paths, or 'latest'; runs and whole sweeps."""


def run(arguments: Arguments) -> Answer:
    """Read, summarise, and tell."""

    if not arguments.runs:
        raise ConfigError("no run was named; run for example: errands compare latest")
    runs = compared(arguments.runs)
    curves = [c.curve for c in runs]
    rows, differ = summarise_all(curves), differences(_settings(runs))
    scores, (first, chances) = overall(curves), improvements(curves)
    over = {name: asdict(chance) for name, chance in chances.items()}
    document: dict[str, Any] = {"runs": [row.row() for row in rows]}
    document["overall"] = {name: asdict(score) for name, score in scores.items()}
    document |= {"improvement": {"of": first, "over": over}, "differences": differ}
    document["claims"] = {f"{c.curve.task} {c.curve.name}": list(c.claims) for c in runs if c.claims}
    parts = [*_tables(rows), *(_claims(c) for c in runs if c.claims)]
    if len({c.task for c in curves}) > 1:  # over one task the scores stand in its table
        parts += [f"IQM over all tasks, {name}: {_interval(score)}" for name, score in scores.items()]
    parts += [f"P({first} ends shorter than {name}) = {_interval(x)}, ties as one half" for name, x in chances.items()]
    parts += _differences(differ)
    return Answer(document, Group(*parts))


def _claims(one: Compared) -> str:
    """The widest claim of a method's seeds, in words."""
    widest = max(one.claims, key=lambda claim: float(claim["upper"] - claim["lower"]))
    return f"{one.curve.task}, {one.curve.name}: {len(one.claims)} seeds claim; seed {widest['seed']}: {widest['sentence']}"


def _interval(x: Interval) -> str:
    return f"{x.value:.2f} ({x.low:.2f}, {x.high:.2f})"


def _tables(rows: tuple[Summary, ...]) -> list[Any]:
    """A table for each task, and what must be said about seeds of unequal length."""
    tasks = dict.fromkeys(row.task for row in rows)
    tables = [_table([row for row in rows if row.task == task]) for task in tasks]
    return [*tables, *(f"{row.task}, {row.name}: {row.note}" for row in rows if row.note)]


def _table(rows: list[Summary]) -> Table:
    """One row for each method on a task, narrow enough for a terminal of 80 columns."""
    known, shortest = rows[0].optimum, rows[0].reference
    best = f"optimum {known:g}" if known is not None else "optimum unknown"
    if known is None and shortest is not None:
        best = f"against the shortest met here, {shortest:g} ({between(narrowest(row.bounds for row in rows))})"
    title = f"{rows[0].task}, {best}: final greedy episodes and steps, medians over seeds"
    numbers = ("n", "length", "q1-q3", "ok", "optimal" if known is not None else "shortest", "first at", "10 % at", "IQM", "95 %")
    methods = table(title, ("method",), numbers)
    for row in rows:
        median, quartiles = _lengths(row)
        methods.add_row(
            row.name, str(row.seeds), median, quartiles,
            f"{row.success:.0%}", f"{row.optimal:.0%}",
            _number(row.first_optimal.values[1], "never"), _number(row.first_near.values[1], "never"),
            f"{row.score.value:.2f}", f"{row.score.low:.2f}-{row.score.high:.2f}",
        )  # fmt: skip
    return methods


def _lengths(row: Summary) -> tuple[str, str]:
    """Median and quartiles of the final lengths; expected steps behind a ~ where the policies of half the seeds may fail."""
    if row.expected is not None and row.final.values[1] is None:
        low, median, high = (f"{x:,.4g}" for x in (row.expected.low, row.expected.median, row.expected.high))
        return f"~{median}", f"{low}-{high}"
    low, median, high = (_number(x, "fails") for x in row.final.values)
    return median, median if low == high == "fails" else f"{low}-{high}"


def _number(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:,.6g}"


def _differences(differ: dict[str, dict[str, Any]]) -> list[Table]:
    """The settings that runs have with different values; what only some of them have is in the document."""
    shown = {key: values for key, values in differ.items() if len({repr(v) for v in values.values()}) > 1}
    runs = list(dict.fromkeys(run for values in shown.values() for run in values))
    if not shown:
        return []
    listed = table("Settings that differ", ("setting",))
    for run in runs:
        listed.add_column(run, overflow="fold")
    for key, values in shown.items():
        # A learner that was given no machine runs on its own.
        said = {run: "its own" if key == "machine" and value is None else str(value) for run, value in values.items()}
        listed.add_row(key, *(said.get(run, "") for run in runs))
    return [listed]


def _settings(runs: list[Compared]) -> dict[str, dict[str, Any]]:
    """The settings by method where a method has the same on all its tasks, else by task and method."""
    without = {id(c): {k: v for k, v in c.settings.items() if k != "task"} for c in runs}
    alike = {
        c.curve.name: all(without[id(c)] == without[id(o)] for o in runs if o.curve.name == c.curve.name)
        for c in runs
    }
    return {c.curve.name if alike[c.curve.name] else f"{c.curve.task} {c.curve.name}": without[id(c)] for c in runs}
