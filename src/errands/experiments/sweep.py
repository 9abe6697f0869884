"""Sweeps: a plan becomes a folder, its cost is predicted, and every seed of every cell is trained once."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from errands.errors import ErrandsError
from errands.experiments.engine_local import train_apart, train_here
from errands.experiments.job import Job, ended_well, failed, jobs_of
from errands.experiments.plan import Block, Cell, expand, is_file
from errands.experiments.progress import Progress, progress
from errands.experiments.settings import with_words
from errands.experiments.setup import CHECKPOINT_SECONDS, plain, prepare
from errands.learners.presets import config_of
from errands.results.documents import RunDocument, neat
from errands.results.files import WriteError, write_file
from errands.results.provenance import git_state
from errands.results.run_folder import HEAD, RunFolder, create, open_run
from errands.results.seed_folder import SeedFolder
from errands.results.sweep_folder import CellDocument, SweepDocument, SweepFolder, create_sweep
from errands.tasks.catalogue import load, load_file
from errands.tasks.task import Task


def begin(blocks: Sequence[Block], path: Path, checkpoint_seconds: float = CHECKPOINT_SECONDS) -> SweepFolder:
    """A new sweep folder with every cell of a plan; settings that a learner does not have are refused here."""
    cells = expand(blocks)
    files = {name: load_file(Path(name)).text for name in sorted({c.task for c in cells if is_file(c.task)})}
    _check_settings(cells)
    width = len(str(len(cells)))
    document = SweepDocument(
        cells=[_stored(cell, f"{number:0{width}}") for number, cell in enumerate(cells, 1)],
        files=files,
        checkpoint_seconds=checkpoint_seconds,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        git=git_state(Path.cwd()),
    )
    return create_sweep(path, document)


def _stored(cell: Cell, number: str) -> CellDocument:
    task = Path(cell.task).stem if is_file(cell.task) else cell.task
    folder = "-".join([number, plain(task), cell.learner, *([cell.machine] if cell.machine else []), cell.preset])
    return CellDocument(**{**vars(cell), "settings": list(cell.settings)}, folder=folder)


def _check_settings(cells: Sequence[Cell]) -> None:
    """Read the settings of each learner once."""
    seen = {(cell.learner, cell.preset, cell.settings): cell for cell in cells}
    for cell in seen.values():
        with_words(config_of(cell.learner, cell.preset, load(cell.task, cell.map_seed)), cell.settings)


def task_of(sweep: SweepFolder, cell: CellDocument) -> Task:
    """The task of a cell: its stored file, or the catalogue's."""
    text = sweep.document.files.get(cell.task)
    return Task.from_toml(text) if text is not None else load(cell.task, cell.map_seed)


def document_of(sweep: SweepFolder, cell: CellDocument, task: Task) -> RunDocument:
    """The document of a cell's run folder."""
    known = sweep.document
    return prepare(
        task, cell.learner, cell.machine, cell.preset, cell.settings, cell.steps, range(cell.seeds),
        known.checkpoint_seconds, known.git,
    )  # fmt: skip


def opened(sweep: SweepFolder, cell: CellDocument) -> RunFolder:
    """The run folder of a cell, created when it was not begun."""
    path = sweep.cell(cell)
    if (path / HEAD).exists():
        return open_run(path)
    task = task_of(sweep, cell)
    return create(path, document_of(sweep, cell, task), task)


def unfinished(sweep: SweepFolder) -> Iterator[tuple[CellDocument, list[int]]]:
    """The cells and seeds that have not ended well."""
    for cell in sweep.document.cells:
        seeds = [k for k in range(cell.seeds) if ended_well(SeedFolder(sweep.cell(cell) / f"seed-{k}", k)) is None]
        if seeds:
            yield cell, seeds


def train_sweep(
    sweep: SweepFolder, workers: int, quiet: bool = False, engine: str = "local", address: str | None = None
) -> None:
    """Train every seed that has not ended; faults are recorded, and only a disk that cannot be written stops all."""
    waiting = list(unfinished(sweep))
    total = sum(len(seeds) for _, seeds in waiting)
    with progress(total, quiet) as told:
        jobs = _jobs(sweep, waiting, told)
        if engine == "ray":
            from errands.experiments.engine_ray import train_on_ray

            train_on_ray(jobs, address, told)
        elif min(workers, total) > 1:
            train_apart(jobs, min(workers, total), told, strict=False)
        else:
            train_here(jobs, told, strict=False)


def _jobs(sweep: SweepFolder, waiting: Sequence[tuple[CellDocument, list[int]]], told: Progress) -> Iterator[Job]:
    """The jobs of a sweep; the folder of a cell is created when its turn comes."""
    for cell, seeds in waiting:
        try:
            jobs = [job for job in jobs_of(opened(sweep, cell)) if job.seed in seeds]
        except WriteError:
            raise
        except ErrandsError as fault:
            for seed in seeds:
                result = failed(seed, fault)
                SeedFolder(sweep.cell(cell) / f"seed-{seed}", seed).end(result)
                told.end(Job(sweep.cell(cell), seed, cell.task, cell.learner), result)
            continue
        yield from jobs


def rows(sweep: SweepFolder) -> list[dict[str, Any]]:
    """One row for each seed that has ended: what it was, and what `train --json` says about it."""
    return [{**_named(cell), **result.row(), "optimum": neat(result.optimum)} for cell, result in sweep.results()]


def _named(cell: CellDocument) -> dict[str, Any]:
    return cell.model_dump(exclude={"steps", "seeds"})


def write_table(sweep: SweepFolder, found: Sequence[dict[str, Any]]) -> Path:
    """results.csv: the rows of a sweep as a spreadsheet opens them."""
    path = sweep.path / "results.csv"
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    for number, row in enumerate(found):
        if not number:
            out.writerow(row)
        out.writerow(" ".join(map(str, value)) if isinstance(value, list) else value for value in row.values())
    write_file(path, text.getvalue().encode())
    return path
