"""`errands bench`: how fast this machine trains, beside the reference figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from errands.cli.options import Count, Seconds
from errands.cli.tell import Answer
from errands.errors import ConfigError
from errands.terminal import say, table

if TYPE_CHECKING:
    from rich.table import Table


MOST_SECONDS = 3_600
"""A learner is measured for an hour at most."""


@dataclass(frozen=True)
class Arguments:
    """Measure this machine."""

    seconds: Seconds = 1.0
    """CPU seconds after which a learner is stopped that has not yet taken a million steps."""
    sizes: tuple[Count, ...] = (2, 8, 16, 30)
    """Numbers of boxes of Delivery."""
    compile: bool = True
    """Also measure how long each learner takes to compile, in new processes with an empty cache."""
    large: bool = False
    """Also build machines of up to 300,000 states: minutes and a few gigabytes."""
    quiet: bool = False
    """No progress on standard error."""


def run(arguments: Arguments) -> Answer:
    """Measure and tell."""
    from rich.console import Group

    from errands.runs.cost import peak_megabytes
    from errands.runs.provenance import computer, versions

    if not 0 < arguments.seconds <= MOST_SECONDS or any(not 1 <= n <= 60 for n in arguments.sizes):
        raise ConfigError(f"--seconds must lie above 0 and not above {MOST_SECONDS:,}, and --sizes between 1 and 60 boxes")
    rows = _measured(arguments)
    compiled = _compiled(arguments) if arguments.compile else []
    peak = round(peak_megabytes())
    machine = {"computer": computer(), "versions": versions("", deep=False)}
    parts: list[Any] = [
        _table("Delivery: ns per training step (in brackets: the prototypes)", rows, arguments.sizes, _speed),
        _table("Delivery: MB of tables", rows, arguments.sizes, _memory),
        *(f"{r['method']}, {r['subtasks']} boxes: {r['reason']}" for r in rows if r["reason"]),
        _compile_table(compiled),
        f"most memory held by this process: {peak:,} MB",
    ]
    return Answer({"steps": rows, "compile": compiled, "peak_megabytes": peak, **machine}, Group(*parts))


def _measured(arguments: Arguments) -> list[dict[str, Any]]:
    from errands.runs.cost import speeds

    rows = []
    for speed in speeds(arguments.seconds, arguments.sizes, arguments.large):
        rows.append(asdict(speed))
        say(f"{speed.method}, {speed.subtasks} boxes", arguments.quiet)
    return rows


def _compiled(arguments: Arguments) -> list[dict[str, Any]]:
    """Compile times; the Boolean machine has the kernels of the agenda machine."""
    from errands.runs.cost import BENCHED, compile_seconds

    rows = []
    for method in BENCHED:
        if method.machine != "boolean":
            first, again = compile_seconds(method)
            rows.append({"method": method.name, "first_seconds": round(first, 2), "cached_seconds": round(again, 2)})
            say(f"{method.name}: compiled in {first:.1f} s", arguments.quiet)
    return rows


def _table(title: str, rows: list[dict[str, Any]], sizes: tuple[int, ...], cell: Callable[[dict[str, Any]], str]) -> Table:
    learners = table(title, ("learner",), tuple(f"{n} boxes" for n in sizes))
    for name in dict.fromkeys(row["method"] for row in rows):
        learners.add_row(name, *(cell(row) for row in rows if row["method"] == name))
    return learners


def _speed(row: dict[str, Any]) -> str:
    reference = f" ({row['reference']:,.0f})" if row["reference"] is not None else ""
    return ("-" if row["nanoseconds"] is None else f"{row['nanoseconds']:,.0f}") + reference


def _memory(row: dict[str, Any]) -> str:
    return "-" if row["megabytes"] is None else f"{row['megabytes']:,.1f}"


def _compile_table(rows: list[dict[str, Any]]) -> Table:
    learners = table("Seconds to the first steps in a new process", ("learner",), ("nothing compiled", "from the cache"))
    for row in rows:
        learners.add_row(row["method"], f"{row['first_seconds']:.1f}", f"{row['cached_seconds']:.1f}")
    return learners
