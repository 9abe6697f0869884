"""Run folders: runs/<name>/ with the task and settings as given, and one folder for each seed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from errands.errors import SpecError, StoreError
from errands.results.documents import ResultDocument, RunDocument, damaged, read_document, write_document
from errands.results.files import NEW, digest, make_folder, read_file, write_file
from errands.results.seed_folder import SeedFolder
from errands.tasks.spec import MAX_BYTES
from errands.tasks.task import Task

RUNS = Path("runs")
HEAD, TASK = "run.json", "task.toml"
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

    def seed(self, seed: int) -> SeedFolder:
        """The folder of one seed."""
        return SeedFolder(self.path / f"seed-{seed}", seed)

    def seeds(self) -> Iterator[SeedFolder]:
        """The folders of all seeds."""
        return (self.seed(seed) for seed in self.document.seeds)

    def results(self) -> list[ResultDocument]:
        """The results of the seeds that have ended."""
        return [found for folder in self.seeds() if (found := folder.result()) is not None]

    @property
    def finished(self) -> bool:
        """Whether every seed has ended without an error."""
        return all((found := folder.result()) is not None and found.error is None for folder in self.seeds())


def create(path: Path, document: RunDocument, task: Task) -> RunFolder:
    """A new run folder; an existing one is never overwritten."""
    check_name(path.name)
    text = task.to_toml().encode()
    try:
        make_folder(path)
    except FileExistsError:
        if not path.is_dir() or not all(_leftover(p.name) for p in path.iterdir()):
            hint = f"choose another --name, or type 'errands resume {path.name}'"
            raise StoreError(f"{path} exists and is never overwritten; {hint}") from None
    write_file(path / TASK, text)
    write_document(path / HEAD, document.model_copy(update={"task_sha256": digest(text)}))
    return open_run(path)


def _leftover(name: str) -> bool:
    """Whether a file may lie in a folder whose run was never begun: it was killed before run.json, or refused."""
    return name in (TASK, f".{TASK}{NEW}", f".{HEAD}{NEW}") or name.startswith("seed-")


def open_run(path: Path) -> RunFolder:
    """The run of a folder; a StoreError says which file is wrong."""
    document = read_document(path / HEAD, RunDocument)
    text = read_file(path / TASK, MAX_BYTES)
    if digest(text) != document.task_sha256:
        raise damaged(path / TASK)
    try:
        return RunFolder(path, document, Task.from_toml(text.decode()))
    except (SpecError, UnicodeDecodeError) as fault:
        raise StoreError(f"{path / TASK} holds no task that this version of errands knows: {fault}") from None


def check_name(name: str) -> str:
    """The name itself, when it can name a folder."""
    if not _NAME.fullmatch(name) or name == "latest":
        raise StoreError(f"'{name[:100]}' cannot name a run; use letters, digits, '.', '_' and '-', and not 'latest'")
    return name
