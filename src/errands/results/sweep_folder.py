"""Sweep folders: the plan as given, and one run folder for each of its cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from errands.errors import StoreError
from errands.results.documents import Document, Name, ResultDocument, RunDocument, read_document, write_document
from errands.results.files import NEW, make_folder
from errands.results.finding import SWEEP
from errands.results.run_folder import HEAD, check_name
from errands.results.seed_folder import SeedFolder

MAX_SWEEP = 128_000_000


class CellDocument(Document):
    """One learner on one task, for seeds 0..seeds-1."""

    task: Annotated[str, Field(min_length=1, max_length=1000)]
    map_seed: Annotated[int, Field(ge=0, lt=2**63)]
    learner: Name
    machine: Name | None
    preset: Name
    settings: list[str]
    steps: Annotated[int, Field(ge=1, lt=2**53)] | None
    seeds: Annotated[int, Field(ge=1, le=100_000)]
    folder: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class SweepDocument(Document):
    """sweep.json: all cells of the plan, the task files among them, and when it was begun."""

    kind: Literal["errands sweep"] = "errands sweep"
    format: Literal[1] = 1
    cells: list[CellDocument] = Field(min_length=1)
    files: dict[str, str]
    """The text of each task that was given as a file."""
    checkpoint_seconds: float = Field(gt=0)
    created: str
    git: dict[str, str]


@dataclass(frozen=True)
class SweepFolder:
    """A sweep that was begun."""

    path: Path
    document: SweepDocument

    def cell(self, cell: CellDocument) -> Path:
        """The run folder of a cell."""
        return self.path / cell.folder

    def results(self) -> Iterator[tuple[CellDocument, ResultDocument]]:
        """The results of all seeds that have ended, in the order of the plan; only the small files are read."""
        for cell in self.document.cells:
            path = self.cell(cell)
            if path.is_symlink():
                raise StoreError(f"{path} is a link; a sweep keeps its runs in its own folder: put the real one there")
            for seed in range(cell.seeds):
                found = SeedFolder(path / f"seed-{seed}", seed).result()
                if found is not None:
                    yield cell, found

    def head(self, cell: CellDocument) -> RunDocument | None:
        """What was stored about a cell when it was begun; None before that."""
        path = self.cell(cell) / HEAD
        return read_document(path, RunDocument) if path.exists() else None


def create_sweep(path: Path, document: SweepDocument) -> SweepFolder:
    """A new sweep folder; an existing one is never overwritten."""
    check_name(path.name)
    try:
        make_folder(path)
    except FileExistsError:
        if not path.is_dir() or any(p.name != f".{SWEEP}{NEW}" for p in path.iterdir()):
            hint = f"choose another --name, or type 'errands resume {path.name}'"
            raise StoreError(f"{path} exists and is never overwritten; {hint}") from None
    write_document(path / SWEEP, document)
    return SweepFolder(path, document)


def open_sweep(path: Path) -> SweepFolder:
    """The sweep of a folder; a StoreError says which file is wrong."""
    return SweepFolder(path, read_document(path / SWEEP, SweepDocument, MAX_SWEEP))
