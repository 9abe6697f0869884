"""`errands compare`: several runs or sweeps in one table, with what differs between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from errands.cli.answer import Answer

if TYPE_CHECKING:
    from rich.table import Table

    from errands.results.compared import Compared
    from errands.results.summary import Summary


@dataclass(frozen=True)
class Arguments:
    """Compare runs."""

    runs: tyro.conf.Positional[tuple[str, ...]]
    """Names under runs/, paths, or 'latest'; runs and whole sweeps."""
    plot: Path | None = None
    """Also draw the learning curves into this file (.svg, .pdf or .png); runs must be on one task."""


def run(arguments: Arguments) -> Answer:
    """Read, summarise, and tell."""
    from dataclasses import asdict

    from errands.errors import ConfigError
    from errands.results.compared import compared
    from errands.results.summary import differences, improvement, overall, summarise_all

    if not arguments.runs:
        raise ConfigError("no run was named; type for example: errands compare latest")
    found = compared(arguments.runs)
    curves = [c.curve for c in found]
    rows = summarise_all(curves)
    names = list(dict.fromkeys(c.name for c in curves))
    by_name = {name: [c for c in curves if c.name == name] for name in names}
    chances = {name: improvement(by_name[names[0]], by_name[name]) for name in names[1:]}
    scores = overall(curves) if len({c.task for c in curves}) > 1 else {}
    differ = differences(_settings(found))
    document: dict[str, Any] = {
        "runs": [row.row() for row in rows],
        "overall": {name: asdict(score) for name, score in scores.items()},
        "improvement": {
            "of": names[0], "over": {name: asdict(chance) for name, chance in chances.items() if chance is not None},
        },
        "differences": differ,
    }  # fmt: skip
    if arguments.plot is not None:
        document["plot"] = str(arguments.plot)
        _plot(arguments, found)
    from rich.console import Group

    tasks = dict.fromkeys(row.task for row in rows)
    parts: list[Any] = [_table([row for row in rows if row.task == task]) for task in tasks]
    parts += [row.note + f" ({row.task}, {row.name})" for row in rows if row.note]
    parts += [f"IQM over tasks, {name}: {x.value:.3f} ({x.low:.3f}, {x.high:.3f})" for name, x in scores.items()]
    for name, chance in chances.items():
        if chance is not None:
            interval = f"{chance.value:.2f} ({chance.low:.2f}, {chance.high:.2f})"
            parts.append(f"P({names[0]} ends shorter than {name}) = {interval}")
    if differ:
        parts.append(_differences(differ))
    parts += [f"wrote {arguments.plot}"] if arguments.plot is not None else []
    return Answer(document, Group(*parts))


def _table(rows: list[Summary]) -> Table:
    """One row for each method on a task, narrow enough for a terminal of 80 columns."""
    from rich.table import Table

    best = "unknown" if rows[0].optimum is None else f"{rows[0].optimum:g}"
    title = f"{rows[0].task}, optimum {best}: final greedy episodes and steps, medians over seeds"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("method", "n", "length", "q1-q3", "ok", "optimal", "first at", "10 % at", "IQM", "95 %"):
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=name == "method")
    for row in rows:
        low, median, high = (_number(x, "fails") for x in row.final.values)
        table.add_row(
            row.name, str(row.seeds), median, median if low == high == "fails" else f"{low}-{high}",
            f"{row.success:.0%}", f"{row.optimal:.0%}",
            _number(row.first_optimal.values[1], "never"), _number(row.first_near.values[1], "never"),
            f"{row.score.value:.2f}", f"{row.score.low:.2f}-{row.score.high:.2f}",
        )  # fmt: skip
    return table


def _number(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:,.6g}"


def _differences(differ: dict[str, dict[str, Any]]) -> Table:
    """The settings that runs have with different values; what only some of them have is in the document."""
    from rich.table import Table

    table = Table(title="Settings that differ", title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    shown = {key: values for key, values in differ.items() if len({repr(v) for v in values.values()}) > 1}
    runs = list(dict.fromkeys(run for values in shown.values() for run in values))
    for name in ("setting", *runs):
        table.add_column(name)
    for key, values in shown.items():
        table.add_row(key, *(str(values[run]) if run in values else "" for run in runs))
    return table


def _settings(found: list[Compared]) -> dict[str, dict[str, Any]]:
    """The settings by method where a method has the same on all its tasks, else by task and method."""
    without = {id(c): {k: v for k, v in c.settings.items() if k != "task"} for c in found}
    alike = {c.curve.name: all(without[id(c)] == without[id(o)] for o in found if o.curve.name == c.curve.name) for c in found}
    return {c.curve.name if alike[c.curve.name] else f"{c.curve.task} {c.curve.name}": without[id(c)] for c in found}


def _plot(arguments: Arguments, found: list[Compared]) -> None:
    from errands.cli.typed import typed
    from errands.errors import ConfigError
    from errands.plots.curves import draw_curves, learning_curves
    from errands.plots.style import save

    tasks = {c.curve.task for c in found}
    if arguments.plot is None or len(tasks) > 1:
        raise ConfigError(f"a figure of curves is drawn for one task; these runs are on {', '.join(sorted(tasks))}")
    value = learning_curves([c.curve for c in found])
    save(draw_curves(value), arguments.plot, value.as_json(), typed("compare", arguments))
