"""The files of one seed: a table that grows, checkpoints, and at the end the result; one process at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from errands.errors import StoreError
from errands.records import Evaluation
from errands.results import checkpoint as checkpoints
from errands.results.documents import ResultDocument, damaged, read_document, write_document
from errands.results.evaluations import HEADER, MAX_TABLE, line, parse, render
from errands.results.files import NEW, digest, make_folder, read_file, refusal, write_file

PATIENCE = 10.0


@dataclass(frozen=True)
class SeedFolder:
    """Where one seed of a run is kept."""

    path: Path
    seed: int

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
    def locked(self) -> Iterator[None]:
        """Keep other processes out; the lock is on the open folder: it ends with the process and leaves no file."""
        if not self.begun:
            try:
                make_folder(self.path)
            except FileExistsError:
                if not self.begun:
                    raise StoreError(f"{self.path} is a file, and a folder is wanted; move it away") from None
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as fault:
            raise refusal(self.path, fault) from None
        try:
            _lock(descriptor, self.path)
            for leftover in self.path.glob(f".*{NEW}"):
                leftover.unlink(missing_ok=True)
            yield
        finally:
            os.close(descriptor)

    def result(self) -> ResultDocument | None:
        """How the seed ended; None while it has not."""
        if not self.begun or not (self.finish.exists() or self.finish.is_symlink()):
            return None
        found = read_document(self.finish, ResultDocument)
        if found.seed != self.seed:
            raise StoreError(f"{self.finish} belongs to seed {found.seed}; put it back into its own folder")
        return found

    def evaluations(self) -> list[Evaluation]:
        """The evaluations that are certain: all of a finished seed, else those up to its newest checkpoint."""
        result = self.result()
        if result is not None and result.evaluations_sha256 is not None:
            size, mark = result.evaluations_bytes, result.evaluations_sha256
            data = read_file(self.table, size)
        else:
            stored = checkpoints.documents(self.path)
            if not stored:
                return []
            size, mark = stored[0].evaluations_bytes, stored[0].evaluations_sha256
            data = read_file(self.table, MAX_TABLE)[:size]
        if len(data) != size or digest(data) != mark:
            raise StoreError(f"{damaged(self.table)}, or type 'errands resume' to write it again")
        return parse(data, self.table)

    def newest(self) -> checkpoints.Checkpoint | None:
        """The newest good checkpoint; newer ones, which are damaged, are removed."""
        found = checkpoints.newest(self.path, self.seed)
        if found is not None:
            kept = found.document.step
            checkpoints.drop(self.path, lambda step: step > kept)
        return found

    @contextmanager
    def table_from(self, evaluations: Sequence[Evaluation]) -> Iterator[Table]:
        """The table cut back to these evaluations and open to be continued."""
        write_file(self.table, render(evaluations))
        try:
            with open(self.table, "ab", buffering=1 << 16) as out:
                yield Table(out, self.table)
        except OSError as fault:
            raise refusal(self.table, fault) from None

    def end(self, result: ResultDocument) -> None:
        """Store how the seed ended."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise refusal(self.path, fault) from None
        write_document(self.finish, result)


@dataclass(frozen=True)
class Table:
    """A table of evaluations that is being continued."""

    out: BinaryIO
    path: Path

    def add(self, evaluation: Evaluation) -> None:
        """One more line; it reaches the disk with the next `sync` at the latest."""
        self._write(lambda: self.out.write(line(evaluation)))

    def show(self) -> None:
        """Hand the lines to the operating system, so that others can read them."""
        self._write(self.out.flush)

    def sync(self) -> None:
        """Force the lines to disk."""
        self._write(self.out.flush)
        self._write(lambda: os.fsync(self.out.fileno()))

    def _write(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as fault:
            raise refusal(self.path, fault) from None


def live(folder: SeedFolder) -> list[Evaluation]:
    """What can be read of a seed in progress, without checksums; a last line still being written is left out."""
    data = read_file(folder.table, MAX_TABLE)
    whole = data[: data.rfind(b"\n") + 1]
    return parse(whole, folder.table) if len(whole) >= len(HEADER) else []


def _lock(descriptor: int, path: Path) -> None:
    """Wait a while for a process that is just ending, then refuse."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:  # only where the system has no such locks
        return None
    patience = time.monotonic() + PATIENCE
    while True:
        try:
            return flock(descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > patience:
                raise StoreError(f"another process is training in {path}; wait for it or stop it") from None
            time.sleep(0.05)
