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
from typing import Any, NamedTuple

from errands.errors import ErrandsError, StoreError
from errands.learners import is_finite
from errands.learners.base import Learner, cores, memory
from errands.learners.presets import config_of
from errands.runs.cost import Cost, cost, quick
from errands.runs.documents import Cell, RunDocument, SweepDocument, int_if_whole, write_document
from errands.runs.engines import share_gpu, train_here, train_in_processes
from errands.runs.files import WriteError, write_file
from errands.runs.folder import (
    HEAD,
    SWEEP,
    RunFolder,
    SeedFolder,
    SweepFolder,
    create,
    create_sweep,
    open_run,
    slug,
)
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
    cells = expand(blocks)
    files = {name: load_file(Path(name)).text for name in sorted({c.task for c in cells if is_file(c.task)})}
    _check_settings(cells)
    width = len(str(len(cells)))
    return SweepDocument(
        cells=[_placed(cell, f"{number:0{width}}") for number, cell in enumerate(cells, 1)],
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
    cells = [cell for cell in expand(blocks) if cell not in have]
    if not cells:
        return sweep
    files = {name: load_file(Path(name)).text for name in sorted({c.task for c in cells if is_file(c.task)})}
    if changed := [name for name, text in files.items() if known.files.get(name, text) != text]:
        raise StoreError(f"{changed[0]} is not the file that {sweep.path} was begun with; sweep into another folder")
    _check_settings(cells)
    first = len(known.cells) + 1
    added = [_placed(cell, f"{number:0{len(str(first))}}") for number, cell in enumerate(cells, first)]
    document = known.model_copy(update={"cells": [*known.cells, *added], "files": {**known.files, **files}})
    return SweepFolder(sweep.path, document)


def _placed(cell: Cell, number: str) -> Cell:
    task = Path(cell.task).stem if is_file(cell.task) else cell.task
    folder = "-".join([number, slug(task), cell.learner, *([cell.machine] if cell.machine else []), cell.preset])
    return cell.model_copy(update={"folder": folder})


def _check_settings(cells: Sequence[Cell]) -> None:
    """Read the settings of each learner once."""
    seen = {(cell.learner, cell.preset, cell.settings): cell for cell in cells}
    for cell in seen.values():
        config_of(cell.learner, cell.preset, load(cell.task, cell.map_seed), cell.settings)


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
            from errands.runs.engines import train_on_ray

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
    return [{**_named(cell), **result.row(), "optimum": int_if_whole(result.optimum)} for cell, result in sweep.results()]


def _named(cell: Cell) -> dict[str, Any]:
    return cell.model_dump(exclude={"steps", "seeds"})


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
    """What a seed of each cell costs, by its own kind: tables are never priced by networks, nor networks by tables.

    Seeds that have ended tell best. Else tables are measured while there is time, and of networks one of each domain, then,
    while there is time, one of each size, learner and task. What is left costs a step what its nearest of kind costs.
    """
    prices = _Prices(sweep)
    cells = [cell for cell, _ in waiting if cell.folder not in prices.ended]
    tables = [cell for cell in cells if not prices.kinds(cell)[0].networks]
    networks = [cell for cell in cells if prices.kinds(cell)[0].networks]
    began = time.perf_counter()
    for cell in tables:
        if time.perf_counter() - began > calibration_seconds:
            break
        prices.measure(cell)
    began = time.perf_counter() if networks else began
    for rank, cell in product((1, 2, 3, 4), networks):
        # The first of each domain is measured in any case: nothing else tells what networks cost here.
        if prices.kinds(cell)[rank] not in prices.known and (rank == 1 or time.perf_counter() - began < NETWORK_SECONDS):
            prices.measure(cell)
    return {cell.folder: prices.of(cell) for cell, _ in waiting}


class _Prices:
    """What cells of a sweep were found to cost, by each of their kinds."""

    def __init__(self, sweep: SweepFolder) -> None:
        self.sweep = sweep
        self.known: dict[Kind, list[tuple[Cost, int]]] = defaultdict(list)
        """Costs of seeds, and of how many steps."""
        self.measured: dict[str, Cost] = {}
        self.ended: set[str] = set()
        """The cells of which a seed has ended."""
        for cell, result in sweep.results():
            if result.error is None and result.training_seconds is not None and result.steps:
                self.ended.add(cell.folder)
                self._note(cell, Cost(result.training_seconds, 0, True), result.steps)

    def kinds(self, cell: Cell) -> tuple[Kind, ...]:
        """The kinds of a cell, the widest first."""
        task, method = task_of(self.sweep, cell), f"{cell.learner} {cell.machine or ''}"
        if is_finite(task):
            return Kind(False), Kind(False, method=method)
        config = config_of(cell.learner, cell.preset, task, cell.settings)
        size = " ".join(str(getattr(config, name, "")) for name in ("width", "depth", "batch"))
        words = (cell.task.split("-")[0], size, method, cell.task)
        return tuple(Kind(True, *words[:rank]) for rank in range(5))

    def measure(self, cell: Cell) -> None:
        """Measure a cell; a fault of its own is recorded when its turn comes."""
        try:
            request = request_of(self.sweep, cell)
            self.measured[cell.folder] = found = cost(request)
            self._note(cell, found, request.steps)
        except ErrandsError:
            self.measured[cell.folder] = Cost(0.0, 0, False)

    def _note(self, cell: Cell, found: Cost, steps: int) -> None:
        for kind in self.kinds(cell):
            self.known[kind].append((found, steps))

    def of(self, cell: Cell) -> Cost:
        """What a seed of a cell costs."""
        if cell.folder in self.measured:
            return self.measured[cell.folder]
        near = next((self.known[kind] for kind in reversed(self.kinds(cell)) if kind in self.known), None)
        if near is None:
            return Cost(0.0, 0, False)
        # The mean of the times a step, but the largest memory: to expect too little of that would end in a killed process.
        steps = cell.steps or request_of(self.sweep, cell).steps
        seconds, start = (sum(each) / len(near) for each in zip(*((c.seconds / n * steps, c.start) for c, n in near), strict=True))
        return Cost(seconds, max(c.bytes for c, _ in near), False, start)


class Kind(NamedTuple):
    """What cells have in common; empty words where a wider kind leaves it open."""

    networks: bool
    domain: str = ""
    size: str = ""
    method: str = ""
    task: str = ""


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
