"""What `sweep` and `resume` print about a sweep folder."""

from __future__ import annotations

import statistics
import sys
from typing import Any

from errands.cli.answer import Answer
from errands.runs.folder import SweepFolder


def finish(sweep: SweepFolder, jobs: int | None, quiet: bool, engine: str, address: str | None) -> Answer:
    """Predict and train what is left of a sweep, and tell what came out; when interrupted, say how to go on."""
    from rich.console import Console

    from errands.runs.engine_local import cores
    from errands.runs.sweep import look_ahead, rows, train_sweep, write_table

    ahead = look_ahead(sweep, jobs or cores())
    if not quiet and ahead.runs:
        Console(stderr=True).print(ahead.table() if sys.stderr.isatty() else ahead.words())
    try:
        train_sweep(sweep, ahead.workers, quiet, engine, address)
    except KeyboardInterrupt:
        print(f"errands: stopped; type 'errands resume {sweep.path.name}' to go on", file=sys.stderr)
        raise
    found = rows(sweep)
    write_table(sweep, found)
    return answer(sweep, found, ahead.document())


def answer(sweep: SweepFolder, found: list[dict[str, Any]], predicted: dict[str, Any]) -> Answer:
    """The document and the table of a sweep; exit code 1 when a run failed."""
    faults = sum(row["error"] is not None for row in found)
    document = {
        "sweep": sweep.path.name,
        "folder": str(sweep.path),
        "finished": len(found) - faults,
        "failed": faults,
        "predicted": predicted,
        "runs": found,
    }
    return Answer(document, _Shown(sweep, found, faults), int(faults > 0))


class _Shown:
    """One line for each cell and one sentence; made when it is printed."""

    def __init__(self, sweep: SweepFolder, found: list[dict[str, Any]], faults: int) -> None:
        self.sweep, self.found, self.faults = sweep, found, faults

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table

        table = Table(title=self.sweep.path.name, title_justify="left")
        table.add_column("task")
        table.add_column("learner")
        for name in ("seeds", "optimum", "length", "optimal", "first optimal", "seconds"):
            table.add_column(name, justify="right")
        cells: dict[str, list[dict[str, Any]]] = {}
        for row in self.found:
            cells.setdefault(row["folder"], []).append(row)
        for some in cells.values():
            table.add_row(*_line(some))
        yield table
        yield "Length, first optimal step and seconds are medians over seeds."
        yield f"{len(self.found) - self.faults:,} runs ended, {self.faults:,} failed; stored in {self.sweep.path}"


def _line(some: list[dict[str, Any]]) -> list[str]:
    """What a cell's seeds found, by their medians."""
    first = some[0]
    good = [row for row in some if row["error"] is None]
    learner = " ".join(filter(None, (first["learner"], first["machine"], first["preset"], *first["settings"])))
    words = [first["task"], learner]
    if not good:
        return [*words, str(len(some)), "-", first["error"][:60], "-", "-", "-"]
    best = good[0]["optimum"]
    lengths = statistics.median(row["final_length"] if row["final_success"] else float("inf") for row in good)
    optimal = sum(best is not None and row["final_success"] and row["final_length"] <= best for row in good)
    reached = [row["first_optimal_step"] for row in good if row["first_optimal_step"] is not None]
    median = f"{statistics.median(reached):,.0f}" if 2 * len(reached) > len(good) else "-"
    seconds = f"{statistics.median(row['wall_seconds'] for row in good):.2f}"
    shown = "-" if best is None else f"{best:g}"
    return [*words, str(len(some)), shown, f"{lengths:g}", f"{optimal}/{len(some)}", median, seconds]
