"""Many runs: the seeds of a run, or a plan that becomes a folder, is priced, and is trained cell by cell."""

from __future__ import annotations

import csv
import io
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from errands.errors import ErrandsError, StoreError
from errands.learners import is_finite
from errands.learners.base import Learner, cores, memory
from errands.learners.presets import config_of
from errands.runs.cost import Cost, cost, quick
from errands.runs.documents import Cell, RunDocument, SweepDocument, int_if_whole, write_document
from errands.runs.engines import share_gpu, train_here, train_in_processes, train_on_ray
from errands.runs.files import WriteError, write_file
from errands.runs.folder import HEAD, SWEEP, RunFolder, SeedFolder, SweepFolder, create, create_sweep, open_run, slug
from errands.runs.plan import Block, expand, is_file
from errands.runs.progress import Progress, progress
from errands.runs.provenance import changes_since, git_state
from errands.runs.request import CHECKPOINT_SECONDS, Request
from errands.runs.train import Job, ended_well, failed, jobs_of, train_job
from errands.tasks.catalogue import load, load_file
from errands.tasks.task import Task
from errands.terminal import clock, harmless, table


def begin(blocks: Sequence[Block], path: Path, checkpoint_seconds: float = CHECKPOINT_SECONDS) -> SweepFolder:
    """A new sweep folder with every cell of a plan; settings that a learner does not have are refused here."""
    return create_sweep(path, planned(blocks, checkpoint_seconds))


def planned(blocks: Sequence[Block], checkpoint_seconds: float = CHECKPOINT_SECONDS) -> SweepDocument:
    """The document of a sweep of every cell of a plan; nothing is written."""
    cells, files = _placed(expand(blocks), 1)
    return SweepDocument(
        cells=cells,
        files=files,
        checkpoint_seconds=checkpoint_seconds,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        git=git_state(Path.cwd()),
    )


def extend(sweep: SweepFolder, blocks: Sequence[Block]) -> SweepFolder:
    """The sweep with those cells of a plan that it lacks; what it has is left as it is."""
    wider = extended(sweep, blocks)
    if wider is not sweep:
        write_document(sweep.path / SWEEP, wider.document)
    return wider


def extended(sweep: SweepFolder, blocks: Sequence[Block]) -> SweepFolder:
    """The same without writing anything."""
    known = sweep.document
    have = {cell.unplaced for cell in known.cells}
    if not (new := [cell for cell in expand(blocks) if cell not in have]):
        return sweep
    cells, files = _placed(new, len(known.cells) + 1)
    if changed := [name for name, text in files.items() if known.files.get(name, text) != text]:
        raise StoreError(f"{changed[0]} is not the file that {sweep.path} was begun with; sweep into another folder")
    update = {"cells": [*known.cells, *cells], "files": {**known.files, **files}}
    return SweepFolder(sweep.path, known.model_copy(update=update))


def _placed(cells: Sequence[Cell], first: int) -> tuple[list[Cell], dict[str, str]]:
    """Cells with their folders, numbered from `first`, and the texts of their task files; settings are read once of each kind."""
    files = {name: load_file(Path(name)).text for name in sorted({c.task for c in cells if is_file(c.task)})}
    for cell in {(cell.learner, cell.preset, cell.settings): cell for cell in cells}.values():
        config_of(cell.learner, cell.preset, load(cell.task, cell.map_seed), cell.settings)
    placed, width = list[Cell](), len(str(first + len(cells) - 1))
    for number, cell in enumerate(cells, first):
        task = slug(Path(cell.task).stem if is_file(cell.task) else cell.task)
        words = [f"{number:0{width}}", task, cell.learner, *([cell.machine] if cell.machine else []), cell.preset]
        placed.append(cell.model_copy(update={"folder": "-".join(words)}))
    return placed, files


def task_of(sweep: SweepFolder, cell: Cell) -> Task:
    """The task of a cell: its stored file, or the catalogue's."""
    text = sweep.document.files.get(cell.task)
    return Task.from_toml(text) if text is not None else load(cell.task, cell.map_seed)


def request_of(sweep: SweepFolder, cell: Cell) -> Request:
    """What the run of a cell asks for."""
    task = task_of(sweep, cell)
    return Request.of(task, cell.learner, cell.machine, cell.preset, cell.settings, cell.steps, range(cell.seeds))


def opened(sweep: SweepFolder, cell: Cell) -> RunFolder:
    """The run folder of a cell, created when it was not begun."""
    path, known = sweep.cell(cell), sweep.document
    if (path / HEAD).exists():
        return open_run(path)
    return create(path, request_of(sweep, cell), known.checkpoint_seconds, known.git)


def unfinished(sweep: SweepFolder) -> Iterator[tuple[Cell, list[int]]]:
    """The cells and seeds that have not ended well."""
    for cell in sweep.document.cells:
        seeds = [place.seed for place in sweep.seeds(cell) if ended_well(place) is None]
        if seeds:
            yield cell, seeds


def train_sweep(
    sweep: SweepFolder,
    workers: int,
    quiet: bool = False,
    engine: str = "local",
    address: str | None = None,
    seconds: float | None = None,
    costs: Mapping[str, Cost] | None = None,
) -> None:
    """Train every seed that has not ended; faults are recorded, and only a disk that cannot be written stops all.

    Within `seconds` the cells come in the order of their `costs`, cheapest first, so that as many end as can; the others stay
    for a later sitting.
    """
    waiting = list(unfinished(sweep))
    if seconds is not None and costs is not None:
        waiting.sort(key=lambda pair: costs[pair[0].folder].seconds)
    total = sum(len(seeds) for _, seeds in waiting)
    begun = [head for cell, _ in waiting if (head := sweep.head(cell)) is not None]
    with progress(total, quiet) as reporter:
        _tell_versions(begun, reporter)
        jobs = _jobs(sweep, waiting, reporter, math.inf if seconds is None else time.time() + seconds)
        if engine == "ray":
            train_on_ray(jobs, address, reporter)
        elif min(workers, total) > 1:
            train_in_processes(jobs, min(workers, total), reporter, strict=False)
        else:
            train_here(jobs, reporter, strict=False)


def _tell_versions(runs: Sequence[RunDocument], reporter: Progress) -> None:
    """Say once that runs go on with other versions than those that began them, since their bytes may differ then."""
    made = {(*run.versions.items(), None, *run.git.items()): run for run in runs}
    for changes in dict.fromkeys("; ".join(changes_since(run.versions, run.git)) for run in made.values()):
        if changes:
            reporter.note(f"going on with other versions than those that began it: {changes}")


def _jobs(sweep: SweepFolder, waiting: Waiting, reporter: Progress, end: float) -> Iterator[Job]:
    """The jobs of a sweep, none begun after the end of its time; the folder of a cell is created when its turn comes."""
    for cell, seeds in waiting:
        if time.time() >= end:
            return
        try:
            jobs = jobs_of(opened(sweep, cell), seeds)
        # What cannot be recorded must stop the sweep; every other fault becomes the result of its seeds.
        except WriteError:
            raise
        except ErrandsError as fault:
            for seed in seeds:
                result = failed(seed, fault)
                SeedFolder(sweep.cell(cell) / f"seed-{seed}", seed).end(result)
                reporter.end(Job(sweep.cell(cell), (seed,), cell.task, cell.learner), [result])
            continue
        yield from (replace(job, until=end) for job in jobs)


def rows(sweep: SweepFolder) -> list[dict[str, Any]]:
    """One row for each seed that has ended: what it was, and what `train --json` says about it."""
    named = ((cell.model_dump(exclude={"steps", "seeds"}), result) for cell, result in sweep.results())
    return [{**words, **result.row(), "optimum": int_if_whole(result.optimum)} for words, result in named]


def write_table(sweep: SweepFolder, results: Sequence[dict[str, Any]]) -> Path:
    """results.csv: the rows of a sweep as a spreadsheet opens them."""
    path = sweep.path / "results.csv"
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    # What a row says only where it applies has its column all the same; a diagnosis is for reading, not for spreadsheets.
    names = list(dict.fromkeys(name for row in results for name in row if name != "diagnosis"))
    out.writerow(names)
    for row in results:
        words = (" ".join(map(str, value)) if isinstance(value := row.get(name, ""), list) else value for name in names)
        out.writerow(harmless(word) if isinstance(word, str) else word for word in words)
    write_file(path, text.getvalue().encode())
    return path


CALIBRATION_SECONDS, NETWORK_SECONDS = 5.0, 60.0
"""Seconds after which no more cells are measured, with tables and with networks."""
SHOWN = 40
Waiting = Sequence[tuple[Cell, list[int]]]


@dataclass(frozen=True)
class Forecast:
    """What is left to do and what it will cost."""

    waiting: Waiting
    costs: Mapping[str, Cost]
    """By the folder of a cell: the cost of one of its seeds."""
    workers: int
    """How many seeds are trained at the same time: fewer than asked for when memory would not hold them."""

    @property
    def runs(self) -> int:
        """How many seeds are left."""
        return sum(len(seeds) for _, seeds in self.waiting)

    @property
    def seconds(self) -> float:
        """The expected time."""
        return self.seconds_of(self.waiting)

    def seconds_of(self, waiting: Waiting) -> float:
        """The expected time of some of the cells."""
        each = [(self.costs[cell.folder].seconds + self.costs[cell.folder].start, len(seeds)) for cell, seeds in waiting]
        work = sum(seconds * count for seconds, count in each)
        # The work shared by all processes, but never less than the longest seed, which only one of them can train.
        return max([work / max(1, min(self.workers, self.runs)), *(seconds for seconds, _ in each)])

    @property
    def bytes(self) -> int:
        """The expected memory of tables, when the largest are trained at the same time."""
        return _largest(self.waiting, self.costs, self.workers)

    def document(self) -> dict[str, Any]:
        """For --json."""
        return {"runs": self.runs, "seconds": round(self.seconds, 1), "bytes": self.bytes, "workers": self.workers}

    def summary(self) -> str:
        """One line."""
        tables = f"{self.bytes / 1e6:,.0f} MB of tables"
        return f"{self.runs:,} runs on {self.workers} processes: about {clock(self.seconds)}, {tables}"

    def table(self) -> Any:
        """Cell by cell, the first ones of a long plan."""
        cells = table(self.summary(), ("task",), ("runs", "seconds a run", "MB"), words=("learner",))
        for cell, seeds in self.waiting[:SHOWN]:
            each = self.costs[cell.folder]
            about = "" if each.measured else "~"
            learner = " ".join(filter(None, (cell.learner, cell.machine, cell.preset, *cell.settings)))
            cells.add_row(cell.task, learner, str(len(seeds)), f"{about}{each.seconds:.2f}", f"{each.bytes / 1e6:,.1f}")
        if len(self.waiting) > SHOWN:
            cells.add_row(f"and {len(self.waiting) - SHOWN:,} more")
        return cells


def forecast(
    sweep: SweepFolder, workers: int, calibration_seconds: float = CALIBRATION_SECONDS, available: float | None = None
) -> Forecast:
    """What is left of a sweep and what it will cost on so many processes, in `available` bytes: all memory by default."""
    if workers > 1:
        share_gpu()  # before networks are measured here: this process must leave the others room too
    waiting = list(unfinished(sweep))
    each = _costs(sweep, waiting, calibration_seconds)
    # A fifth of the memory is left to everything that is not a table.
    while workers > 1 and _largest(waiting, each, workers) > 0.8 * (memory() if available is None else available):
        workers -= 1
    return Forecast(waiting, each, workers)


def _costs(sweep: SweepFolder, waiting: Waiting, calibration_seconds: float) -> dict[str, Cost]:
    """What a seed of each cell costs; tables are never priced by networks, nor networks by those of another domain.

    Seeds that have ended tell best. Else tables are measured while there is time, and of networks one of each domain, then,
    while there is time, one of each kind. What is left costs a step what its nearest of kind cost.
    """
    known, costs, ended = defaultdict[str, list[tuple[Cost, int]]](list), dict[str, Cost](), set[str]()

    def note(cell: Cell, found: Cost, steps: int) -> None:
        for kind in _kinds(sweep, cell):
            known[kind].append((found, steps))

    def measure(cell: Cell) -> None:
        try:
            request = request_of(sweep, cell)
            costs[cell.folder] = cost(request)
            note(cell, costs[cell.folder], request.steps)
        except ErrandsError:  # recorded when its turn comes
            costs[cell.folder] = Cost(0.0, 0, False)

    for cell, result in sweep.results():
        if result.error is None and result.training_seconds is not None and result.steps:
            ended.add(cell.folder)
            note(cell, Cost(result.training_seconds, 0, True), result.steps)
    new = [cell for cell, _ in waiting if cell.folder not in ended]
    tables, networks = ([cell for cell in new if is_finite(task_of(sweep, cell)) is finite] for finite in (True, False))
    began = time.perf_counter()
    for cell in tables:
        if time.perf_counter() - began > calibration_seconds:
            break
        measure(cell)
    began = time.perf_counter() if networks else began
    for rank, cell in product((0, 1), networks):
        # The first of each domain is measured in any case: nothing else tells what networks cost here.
        if _kinds(sweep, cell)[rank] not in known and (rank == 0 or time.perf_counter() - began < NETWORK_SECONDS):
            measure(cell)
    return {cell.folder: costs.get(cell.folder) or _alike(sweep, cell, known) for cell, _ in waiting}


def _kinds(sweep: SweepFolder, cell: Cell) -> tuple[str, str]:
    """What cells have in common whose steps cost alike: tables, or the networks of a domain; then also learner and settings."""
    wide = "tables" if is_finite(task_of(sweep, cell)) else f"networks of {cell.task.partition('-')[0]}"
    return wide, " ".join([wide, cell.learner, cell.machine or "", cell.preset, *cell.settings])


def _alike(sweep: SweepFolder, cell: Cell, known: Mapping[str, Sequence[tuple[Cost, int]]]) -> Cost:
    """What a seed of a cell costs by others of its kind, each with its steps."""
    wide, narrow = _kinds(sweep, cell)
    if not (near := known.get(narrow) or known.get(wide)):
        return Cost(0.0, 0, False)
    # The mean of the times a step, but the largest memory: to expect too little of that would end in a killed process.
    steps = cell.steps or request_of(sweep, cell).steps
    seconds, start = (sum(each) / len(near) for each in zip(*((c.seconds / n * steps, c.start) for c, n in near), strict=True))
    return Cost(seconds, max(c.bytes for c, _ in near), False, start)


def _largest(waiting: Waiting, costs: Mapping[str, Cost], workers: int) -> int:
    sizes = (costs[cell.folder].bytes for cell, seeds in waiting for _ in range(min(len(seeds), workers)))
    return sum(sorted(sizes, reverse=True)[:workers])


def train_run(run: RunFolder, jobs: int | None = None, quiet: bool = False, learner: Learner | None = None) -> None:
    """Train every seed of a run to its end, from where each was left; the first fault is raised.

    `learner` is the learner of the run's one seed, where it was built already.
    """
    left = [seed for seed in run.document.seeds if ended_well(run.seed(seed)) is None]
    waiting = jobs_of(run, left)
    workers = min(jobs or cores(), len(waiting))
    with progress(len(left), quiet) as reporter:
        _tell_versions([run.document] if left else [], reporter)
        if len(waiting) == 1:
            reporter.end(waiting[0], train_job(run, waiting[0], partial(reporter.update, waiting[0]), learner))
        elif workers > 1 and not quick(run.request, len(waiting)):
            train_in_processes(waiting, workers, reporter, strict=True)
        else:
            train_here(waiting, reporter, strict=True)
