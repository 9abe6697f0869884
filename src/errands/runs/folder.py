"""The folders of runs, seeds and sweeps: creating, opening, finding them, and looking for damage."""

from __future__ import annotations

import difflib
import math
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, TypeVar

from errands.errors import ConfigError, SpecError, StoreError
from errands.learners.presets import with_settings
from errands.runs import checkpoint as checkpoints
from errands.runs.checkpoint import HEADER, MAX_TABLE, line, parse, render
from errands.runs.documents import (
    MAX_SWEEP,
    Cell,
    CheckpointDocument,
    ResultDocument,
    RunDocument,
    SweepDocument,
    damaged,
    read_document,
    write_document,
)
from errands.runs.files import NEW, digest, folder_lock, make_folder, read_file, refusing, write_file
from errands.runs.provenance import changes_since
from errands.runs.request import CHECKPOINT_SECONDS, Request
from errands.tables import Evaluation
from errands.tasks.spec import MAX_BYTES
from errands.tasks.task import Task
from errands.worlds.imports import NAMELESS, allowed

RUNS = Path("runs")
HEAD, TASK = "run.json", "task.toml"
_NAMELESS_MARK = f'"{NAMELESS}:'.encode()
"""What task.toml has in place of a Python object."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class RunFolder:
    """One learner on one task, for some seeds."""

    path: Path
    document: RunDocument
    task: Task

    @property
    def name(self) -> str:
        """The name to be typed after `errands resume`."""
        return self.path.name

    @cached_property
    def request(self) -> Request:
        """What it asks for, with its settings read."""
        return Request.stored(self.document, self.task)

    @cached_property
    def changes(self) -> list[str]:
        """The versions, and the commit of errands, that are not those with which the run was made, in words."""
        return changes_since(self.document.versions, self.document.git)

    def known_seed(self, seed: int | None) -> int:
        """The seed that was asked for when the run has it, or its first."""
        known = self.document.seeds
        if seed is not None and seed not in known:
            listed = ", ".join(map(str, known[:10])) + (" and others" if len(known) > 10 else "")
            raise ConfigError(f"{self.name} has no seed {seed}; it has {listed}")
        return known[0] if seed is None else seed

    def seed(self, seed: int) -> SeedFolder:
        """The folder of one seed."""
        return SeedFolder(self.path / f"seed-{seed}", seed, self.document)

    def seeds(self) -> Iterator[SeedFolder]:
        """The folders of all seeds."""
        return (self.seed(seed) for seed in self.document.seeds)

    def parts(self, seed: int) -> list[tuple[int, Request]]:
        """The requests by which a seed was trained, one after the other, each with the step at which it ended."""
        known, request = self.document, self.request
        parts, at = [(known.steps, request)], known.seeds.index(seed)
        for extension in reversed(known.extended):
            if extension.config:
                request = replace(request, config=with_settings(request.config, extension.config, known.learner))
                parts.append((extension.reached[at], request))
        return parts[::-1]

    def results(self) -> list[ResultDocument]:
        """The results of the seeds that have ended; those of one task have one optimum."""
        ended = [result for folder in self.seeds() if (result := folder.result()) is not None]
        optima = {result.optimum: result.seed for result in ended if result.optimum is not None}
        if len(optima) > 1:
            seeds = " and ".join(str(seed) for seed in sorted(optima.values())[:2])
            raise StoreError(f"the results of seeds {seeds} in {self.path} are of different tasks; put them back into their runs")
        return ended

    @property
    def finished(self) -> bool:
        """Whether every seed has ended well."""
        return all(seed.done for seed in self.seeds())


class FolderExists(StoreError):
    """A folder of that name exists."""


T = TypeVar("T")


def create_unique(name: str, make: Callable[[Path], T], runs: Path = RUNS) -> T:
    """What `make` creates in runs/NAME, or in NAME-2, NAME-3, ... where that exists, even since a moment ago."""
    for number in range(1, 10_000):
        with suppress(FolderExists):
            return make(runs / (name if number == 1 else f"{name}-{number}"))
    raise StoreError(f"10,000 folders are called {name} in {runs}; choose a --name")


def create(
    path: Path, request: Request, checkpoint_seconds: float = CHECKPOINT_SECONDS, git: dict[str, str] | None = None
) -> RunFolder:
    """A new run folder; an existing one is never overwritten."""
    text = request.task.stored_text().encode()
    document = request.document(digest(text), checkpoint_seconds, git)
    # A folder without run.json was left by a kill, or by a sweep that noted a refused cell: it may be used.
    with _new(path, _is_leftover):
        # run.json comes last: it holds the checksum of task.toml, and a folder counts as a run only once it is there.
        write_file(path / TASK, text)
        write_document(path / HEAD, document)
    return open_run(path, request.task)


def create_named(
    request: Request, name: str | None = None, checkpoint_seconds: float = CHECKPOINT_SECONDS, runs: Path = RUNS
) -> RunFolder:
    """The new folder of a run under runs/; without a name it is called by task, learner, date and time."""
    if name is not None:
        return create(runs / check_name(name), request, checkpoint_seconds)
    machine = f"-{request.machine}" if request.machine == "boolean" else ""
    stem = f"{slug(request.task.name)}-{request.learner}{machine}-{datetime.now():%Y%m%d-%H%M%S}"
    return create_unique(stem, lambda path: create(path, request, checkpoint_seconds), runs)


def slug(text: str) -> str:
    """A text as part of a folder's name."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in text)
    return safe.strip("-.")[:50] or "task"


def copy_run(source: Path, target: Path) -> Path:
    """A copy of a run folder."""
    check_name(target.name)
    if target.exists():
        raise StoreError(f"{target} exists and is never overwritten; choose another path")
    target.parent.mkdir(parents=True, exist_ok=True)
    # Copied under another name and renamed at the end: a kill leaves no half of a run under the wanted name.
    temporary = target.with_name(f".{target.name}.copy")
    shutil.rmtree(temporary, ignore_errors=True)
    # Links stay links: what they name outside the run is not copied in.
    shutil.copytree(source, temporary, symlinks=True)
    temporary.rename(target)
    return target


@contextmanager
def _new(path: Path, leftover: Callable[[str], bool]) -> Iterator[None]:
    """Create a folder and keep others from creating any beside it meanwhile; an old one may hold nothing but leftovers."""
    check_name(path.name)
    with refusing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    # Under a lock of the folder around it: whether a name is free is asked and answered once. It is held for a moment, so
    # that everybody gets his turn, also where a hundred runs are begun at once.
    with folder_lock(path.parent, math.inf):
        try:
            make_folder(path)
        except FileExistsError:
            if not path.is_dir() or not all(leftover(p.name) for p in path.iterdir()):
                hint = f"choose another --name, or go on with 'errands resume {path.name}', and --steps TOTAL to go further"
                raise FolderExists(f"{path} exists and is never overwritten; {hint}") from None
        yield


def _is_leftover(name: str) -> bool:
    """Whether a file may lie in a folder whose run was never begun: it was killed before run.json, or refused."""
    return name in (TASK, f".{TASK}{NEW}", f".{HEAD}{NEW}") or name.startswith("seed-")


def open_run(path: Path, task: Task | None = None) -> RunFolder:
    """The run of a folder; a StoreError says which file is wrong. `task` is needed where no file can hold it."""
    document, text = stored(path)
    if task is not None:
        if digest(task.stored_text().encode()) != document.task_sha256:
            raise StoreError(f"{path} was trained on another task than '{task.name}'; {path / TASK} says what it was")
        world = task.world.fresh()
        return RunFolder(path, document, task if world is task.world else replace(task, world=world))
    if _NAMELESS_MARK in text:
        raise StoreError(
            f"{path} was trained on a task of Python objects that no file can name ({path / TASK} marks them); open it in "
            f"Python and give the task: errands.open('{path}', task=task), or errands.resume to train what is left"
        )
    try:
        return RunFolder(path, document, Task.from_toml(text.decode()))
    except (SpecError, UnicodeDecodeError) as fault:
        if missing := [name for name in document.imports if name not in allowed()]:
            words = " ".join(f"--import {name}" for name in missing)
            raise StoreError(f"{path.name} was trained with code of its own; if you trust it, add {words} to the command") from None
        raise StoreError(f"{path / TASK} holds no task that this version of errands knows: {fault}") from None


def read_head(path: Path) -> RunDocument:
    """What the run of a folder asks for."""
    return read_document(path / HEAD, RunDocument)


def stored(path: Path) -> tuple[RunDocument, bytes]:
    """The head and the task file of a run, the second as it was when the first was written."""
    document, text = read_head(path), read_file(path / TASK, MAX_BYTES)
    if digest(text) != document.task_sha256:
        raise damaged(path / TASK)
    return document, text


def check_name(name: str) -> str:
    """The name itself, when it can name a folder."""
    if not _NAME.fullmatch(name := str(name)) or name == "latest":
        raise StoreError(f"'{name[:100]}' cannot name a run; use letters, digits, '.', '_' and '-', and not 'latest'")
    return name


LOCK_SECONDS = 10.0
"""Seconds for which another process that trains a seed is waited for: it may just be ending."""


@dataclass(frozen=True)
class SeedFolder:
    """Where one seed of a run is kept."""

    path: Path
    seed: int
    head: RunDocument | None = None
    """What its run asks for, where that is known; files that were written for another run are refused."""

    @property
    def run(self) -> str | None:
        """The id of its run."""
        return self.head.id if self.head else None

    @property
    def done(self) -> bool:
        """Whether it has ended well after all steps that its run plans; its files are not looked through."""
        result = self.result()
        return result is not None and self.head is not None and result.done(self.head.steps)

    @property
    def table(self) -> Path:
        """The file of its evaluations."""
        return self.path / "evaluations.csv"

    @property
    def finish(self) -> Path:
        """The file of its result."""
        return self.path / "result.json"

    @property
    def begun(self) -> bool:
        """Whether anything was stored for this seed; a link in its place is refused."""
        if self.path.is_symlink():
            raise StoreError(f"{self.path} is a link; a run keeps its seeds in its own folder: put the real one there")
        return self.path.is_dir()

    @contextmanager
    def locked(self, seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """Keep other processes out, and sweep up what a killed one left."""
        if not self.begun:
            try:
                make_folder(self.path)
            except FileExistsError:
                if not self.begun:
                    raise StoreError(f"{self.path} is a file, and a folder is wanted; move it away") from None
        with folder_lock(self.path, seconds):
            # Only under the lock: without it this could be the file that another process is just writing.
            for leftover in self.path.glob(f".*{NEW}"):
                leftover.unlink(missing_ok=True)
            yield

    def result(self) -> ResultDocument | None:
        """How the seed ended; None while it has not."""
        # A link to nothing does not exist, yet must be refused by the reading, not be taken for a seed under way.
        if not self.begun or not (self.finish.exists() or self.finish.is_symlink()):
            return None
        document = read_document(self.finish, ResultDocument)
        if document.seed != self.seed:
            raise StoreError(f"{self.finish} belongs to seed {document.seed}; put it back into its own folder")
        checkpoints.check_owner(self.finish, document, self.run)
        return document

    def evaluations(self) -> list[Evaluation]:
        """The evaluations that are certain: all of a finished seed, else those up to its newest checkpoint."""
        result = self.result()
        if result is not None and result.evaluations_sha256 is not None:
            known: ResultDocument | CheckpointDocument = result
            data = read_file(self.table, result.evaluations_bytes)
        elif stored := checkpoints.documents(self.path):
            known = stored[0]
            checkpoints.check_owner(self.path, known, self.run)
            # Lines after the newest checkpoint are in no checksum yet; a resumed seed makes them again.
            data = read_file(self.table, MAX_TABLE, growing=True)[: known.evaluations_bytes]
        else:
            return []
        if len(data) != known.evaluations_bytes or digest(data) != known.evaluations_sha256:
            raise StoreError(f"{damaged(self.table)}, or run 'errands resume' to write it again")
        return parse(data, self.table)

    def go_on_from(self, document: CheckpointDocument) -> None:
        """Let a checkpoint be the newest; later ones are removed."""
        checkpoints.drop(self.path, lambda step: step > document.step)

    def reopen(self) -> None:
        """Take the result away, since training goes on: it would vouch for a table that is being continued."""
        with refusing(self.finish):
            self.finish.unlink(missing_ok=True)

    @contextmanager
    def table_from(self, evaluations: Sequence[Evaluation]) -> Iterator[Table]:
        """The table cut back to these evaluations and open to be continued."""
        # Rows that were written after the checkpoint go: training from the checkpoint will write the same ones again.
        write_file(self.table, render(evaluations))
        with refusing(self.table), open(self.table, "ab", buffering=1 << 16) as out:
            yield Table(out, self.table, list(evaluations))

    def end(self, result: ResultDocument) -> ResultDocument:
        """Store how the seed ended, and of which run it is; what was stored."""
        with refusing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        stamped = result.model_copy(update={"run": self.run})
        write_document(self.finish, stamped)
        return stamped


@dataclass
class Table:
    """A table of evaluations that is being continued."""

    out: BinaryIO
    path: Path
    evaluations: list[Evaluation]

    def add(self, evaluation: Evaluation) -> None:
        """One more line; it reaches the disk with the next `sync` at the latest."""
        self.evaluations.append(evaluation)
        with refusing(self.path):
            self.out.write(line(evaluation))

    def show(self) -> None:
        """Hand the lines to the operating system, so that others can read them."""
        with refusing(self.path):
            self.out.flush()

    def sync(self) -> None:
        """Force the lines to disk."""
        self.show()
        with refusing(self.path):
            os.fsync(self.out.fileno())


def live(folder: SeedFolder) -> list[Evaluation]:
    """What can be read of a seed in progress, without checksums; a last line still being written is left out."""
    data = read_file(folder.table, MAX_TABLE, growing=True)
    whole = data[: data.rfind(b"\n") + 1]
    return parse(whole, folder.table) if len(whole) >= len(HEADER) else []


@dataclass(frozen=True)
class SweepFolder:
    """A sweep that was begun."""

    path: Path
    document: SweepDocument

    def cell(self, cell: Cell) -> Path:
        """The run folder of a cell."""
        return self.path / cell.folder

    def results(self) -> Iterator[tuple[Cell, ResultDocument]]:
        """The results of all seeds that have ended, in the order of the plan; only the small files are read."""
        for cell in self.document.cells:
            path = self.cell(cell)
            if path.is_symlink():
                raise StoreError(f"{path} is a link; a sweep keeps its runs in its own folder: put the real one there")
            for place in self.seeds(cell):
                result = place.result()
                if result is not None:
                    yield cell, result

    def seeds(self, cell: Cell) -> Iterator[SeedFolder]:
        """The seed folders of a cell, begun or not; its task is not read."""
        path, head = self.cell(cell), self.head(cell)
        return (SeedFolder(path / f"seed-{seed}", seed, head) for seed in range(cell.seeds))

    def head(self, cell: Cell) -> RunDocument | None:
        """What was stored about a cell when it was begun; None before that."""
        path = self.cell(cell)
        return read_head(path) if (path / HEAD).exists() else None


def create_sweep(path: Path, document: SweepDocument) -> SweepFolder:
    """A new sweep folder; an existing one is never overwritten."""
    with _new(path, lambda name: name == f".{SWEEP}{NEW}"):
        write_document(path / SWEEP, document)
    return SweepFolder(path, document)


def open_sweep(path: Path) -> SweepFolder:
    """The sweep of a folder; a StoreError says which file is wrong."""
    return SweepFolder(path, read_document(path / SWEEP, SweepDocument, MAX_SWEEP))


SWEEP = "sweep.json"


def find(name: str, runs: Path = RUNS) -> Path:
    """The folder of a run or sweep: 'latest', a name under runs/, or a path."""
    if name == "latest":
        begun = folders(runs)
        if not begun:
            raise StoreError(f"there is no run in {runs}/ yet; begin one with 'errands train TASK'")
        return begun[-1]
    for path in (runs / name, Path(name)):
        if is_run(path):
            return path
    known = [path.name for path in folders(runs)]
    near = difflib.get_close_matches(name, known, n=1)
    newest = f"{', '.join(known[:-7:-1])}{' and older ones' if len(known) > 6 else ''}"
    hint = f"did you mean '{near[0]}'?" if near else f"{runs}/ has no runs" if not known else f"{runs}/ has {newest}"
    raise StoreError(f"'{name[:200]}' is no run or sweep: it has neither {HEAD} nor {SWEEP}; {hint}")


def find_run(name: str) -> Path:
    """The folder of a run, not of a sweep."""
    path = find(name)
    if not (path / HEAD).is_file():
        one = next((inner for inner in sorted(path.iterdir()) if inner.is_dir()), path / "CELL")
        raise StoreError(f"{path} is a sweep of several runs; take one of its folders, such as {one}")
    return path


def folders(runs: Path = RUNS) -> list[Path]:
    """All runs and sweeps of a folder, the latest last."""
    if not runs.is_dir():
        return []
    begun = []
    for path in filter(is_run, runs.iterdir()):
        with suppress(FileNotFoundError):  # it was removed just now
            # The head is written when the run is planned: its time does not move when its seeds are resumed.
            head = path / HEAD if (path / HEAD).is_file() else path / SWEEP
            begun.append((head.stat().st_mtime_ns, path.name, path))
    return [path for *_, path in sorted(begun)]


def is_run(path: Path) -> bool:
    """Whether a folder holds a run or a sweep that was begun."""
    try:
        return (path / HEAD).is_file() or (path / SWEEP).is_file()
    except (OSError, ValueError):
        return False
