"""What `train` and `resume` print about a run folder: the same document, whether it has just ended or long ago."""

from __future__ import annotations

import sys
from typing import Any

from errands.cli.answer import Answer
from errands.learners import entry_of
from errands.runs.documents import ResultDocument, neat
from errands.runs.folder import RunFolder


def finish(folder: RunFolder, jobs: int | None, quiet: bool) -> Answer:
    """Train what is left of a run and tell what came out; when interrupted, say how to go on."""
    from errands.runs.sweep import train_run

    try:
        train_run(folder, jobs, quiet)
    except KeyboardInterrupt:
        print(f"errands: stopped; type 'errands resume {folder.name}' to go on", file=sys.stderr)
        raise
    return answer(folder)


def answer(folder: RunFolder) -> Answer:
    """The document and the table of a run; exit code 1 when a seed ended in an error."""
    results = folder.results()
    return Answer(document(folder, results), _Shown(folder, results), int(any(r.error for r in results)))


def document(folder: RunFolder, results: list[ResultDocument]) -> dict[str, Any]:
    """The document of `errands train --json`."""
    known = folder.document
    best = next((r.optimum for r in results if r.optimum is not None), None)
    return {
        "task": known.task,
        "learner": known.learner,
        "machine": known.machine or entry_of(known.learner).own,
        "preset": known.preset,
        "optimum": neat(best),
        "runs": [result.row() for result in results],
        "folder": str(folder.path),
    }


class _Shown:
    """A table of seeds and one sentence; made when it is printed."""

    def __init__(self, folder: RunFolder, results: list[ResultDocument]) -> None:
        self.folder, self.results = folder, results

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table

        known = self.folder.document
        machine = f" ({known.machine})" if known.machine else ""
        table = Table(title=f"{known.task}, {known.learner}{machine}, {known.preset}", title_justify="left")
        for name in ("seed", "steps", "length", "success", "first optimal", "seconds"):
            table.add_column(name, justify="right")
        table.add_column("order")
        for r in self.results:
            first = "-" if r.first_optimal_step is None else f"{r.first_optimal_step:,}"
            length = "-" if r.final_length is None else str(r.final_length)
            success, order = "yes" if r.final_success else "no", r.error or " ".join(r.order)
            table.add_row(str(r.seed), f"{r.steps:,}", length, success, first, f"{r.wall_seconds:.2f}", order)
        yield table
        yield sentence(self.results)
        yield f"stored in {self.folder.path}"


def sentence(results: list[ResultDocument]) -> str:
    """What the seeds found, in words."""
    good = [r for r in results if r.error is None]
    if len(good) == 1:
        return words(good[0])
    best = next((r.optimum for r in good if r.optimum is not None), None)
    succeeded = sum(r.final_success for r in good)
    if best is None:
        return f"{succeeded} of {len(results)} seeds succeed; the optimum is not known."
    optimal = sum(r.final_success and r.final_length is not None and r.final_length <= best for r in good)
    proved = sum(r.proved for r in good)
    after = sorted({r.proved_step for r in good if r.proved and r.proved_step is not None})
    when = f" after {' to '.join(f'{n:,}' for n in sorted({after[0], after[-1]}))} steps" if after else ""
    tail = f", {proved} with a proof{when}" if proved else ""
    return f"{optimal} of {len(results)} seeds end at the optimum of {best:g} steps{tail}; {succeeded} succeed."


def words(result: ResultDocument) -> str:
    """What one seed found; a proof of its own is told first."""
    if result.proved and result.final_success:
        return f"{result.final_length} steps, proved optimal after {result.proved_step:,} steps"
    return result.certificate or f"{result.final_length} steps, {'success' if result.final_success else 'no success'}"
