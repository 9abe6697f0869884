"""Checkpoints of one seed (arrays and evaluations under checksums, one kept in reserve) and the table of evaluations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError
from errands.runs.documents import (
    CheckpointDocument,
    ResultDocument,
    damaged,
    read_document,
    write_document,
)
from errands.runs.files import Arrays, digest, pack, read_file, unpack, write_file
from errands.tables import ENDS, Evaluation

MAX_ARRAYS = 1 << 38
_NAME = re.compile(r"checkpoint-(0|[1-9][0-9]{0,15})\.json")
_MOMENT = re.compile(r"moment-(0|[1-9][0-9]{0,15})-([0-9a-f]{16})\.safetensors")
MAX_MOMENT = 2_000_000
"""Bytes of the largest moment that is kept."""
_ROWS = "evaluations"
_COLUMNS: dict[str, type[np.generic]] = {
    "step": np.int64, "episode_length": np.float64, "total_reward": np.float64, "success": np.float64,
    "episodes": np.int64, **dict.fromkeys(ENDS, np.float64),
}  # fmt: skip


@dataclass(frozen=True)
class Checkpoint:
    """Everything that the rest of a seed depends on."""

    document: CheckpointDocument
    arrays: Arrays = field(repr=False)
    evaluations: tuple[Evaluation, ...] = field(repr=False)


def write_checkpoint(
    folder: Path,
    seed: int,
    step: int,
    arrays: Mapping[str, NDArray[Any]],
    evaluations: Sequence[Evaluation],
    seconds: float,
    before: CheckpointDocument | None,
    training_seconds: float = 0.0,
    run: str | None = None,
) -> CheckpointDocument:
    """Store a checkpoint and drop those before the one that it follows."""
    data, table = packed(arrays, evaluations), render(evaluations)
    mark = digest(data)
    document = CheckpointDocument(
        seed=seed,
        step=step,
        arrays_bytes=len(data),
        arrays_sha256=mark,
        evaluations_bytes=len(table),
        evaluations_sha256=digest(table),
        # The mark of the first checkpoint is handed on for ever: verify trains to it long after its file was dropped.
        first_step=before.first_step if before else step,
        first_sha256=before.first_sha256 if before else mark,
        seconds=seconds,
        training_seconds=training_seconds,
        run=run,
    )
    # Arrays, then the document that names them, then the dropping: a kill at any point leaves a good checkpoint. The one
    # before stays in reserve, in case a byte of the newest is damaged later.
    write_file(_arrays(folder, step), data)
    write_document(_document(folder, step), document)
    drop(folder, lambda other: other != step and (before is None or other != before.step))
    return document


def packed(arrays: Mapping[str, NDArray[Any]], evaluations: Sequence[Evaluation]) -> bytes:
    """The file of a checkpoint's arrays, its evaluations among them."""
    columns = {name: [np.nan if (x := getattr(e, name)) is None else x for e in evaluations] for name in _COLUMNS}
    return pack({**arrays, **{f"{_ROWS}.{name}": np.array(columns[name], kind) for name, kind in _COLUMNS.items()}})


def newest(folder: Path, seed: int, run: str | None = None) -> Checkpoint | None:
    """The newest checkpoint whose bytes are those that were written; None where none was begun."""
    faults: list[str] = []
    listed = steps(folder)
    for step in listed:
        try:
            return read_checkpoint(folder, seed, step, run)
        except OtherRun:
            raise
        except StoreError as fault:
            faults.append(str(fault))
    if faults:
        # Who trains meanwhile stores newer ones and drops those that were listed: what is there now is read instead.
        if steps(folder) != listed:
            return newest(folder, seed, run)
        raise StoreError(f"{faults[0]}; no other checkpoint is good: remove {folder} to train it from the start")
    return None


def documents(folder: Path) -> list[CheckpointDocument]:
    """The documents of all checkpoints that have a good one, the newest first; arrays are not looked at."""
    readable = []
    for step in steps(folder):
        try:
            readable.append(read_document(_document(folder, step), CheckpointDocument))
        except StoreError:
            continue
    return readable


def steps(folder: Path) -> list[int]:
    """The steps at which a folder has checkpoints, the latest first."""
    names = (_NAME.fullmatch(p.name) for p in folder.iterdir()) if folder.is_dir() else ()
    return sorted((int(match[1]) for match in names if match), reverse=True)


def drop(folder: Path, unwanted: Callable[[int], bool]) -> None:
    """Remove the checkpoints whose step is unwanted, and arrays that no document names; documents go first."""
    for step in steps(folder):
        if unwanted(step):
            _document(folder, step).unlink(missing_ok=True)
    # Arrays without a document are mere leftovers; a document without its arrays would look like damage.
    wanted = {_arrays(folder, step).name for step in steps(folder)}
    for path in folder.glob("checkpoint-*.safetensors"):
        if path.name not in wanted:
            path.unlink(missing_ok=True)


class OtherRun(StoreError):
    """A file was written for another run, and may be all that is left of it: it is neither read nor overwritten."""


def check_owner(path: Path, document: CheckpointDocument | ResultDocument, run: str | None) -> None:
    """Refuse a file that was written for another run than the one of this id, as when a seed's folder was copied in."""
    # A seed that was refused before its run was begun has nothing but an error to tell, and knows no run.
    refused = isinstance(document, ResultDocument) and document.error is not None
    if run is not None and document.run != run and not refused:
        raise OtherRun(f"{path} belongs to another run: it was not written for this folder's run.json; put it back there")


def read_checkpoint(folder: Path, seed: int, step: int, run: str | None = None) -> Checkpoint:
    """The checkpoint of one step; a StoreError when a byte of it is not as it was written."""
    path = _arrays(folder, step)
    document = read_document(_document(folder, step), CheckpointDocument)
    if document.step != step or document.seed != seed:
        other = f"seed {document.seed}, step {document.step}"
        raise StoreError(f"{_document(folder, step)} belongs to {other}; put it back there")
    check_owner(_document(folder, step), document, run)
    data = read_file(path, min(MAX_ARRAYS, document.arrays_bytes))
    if len(data) != document.arrays_bytes or digest(data) != document.arrays_sha256:
        raise damaged(path)
    arrays = unpack(data, path)
    return Checkpoint(document, arrays, evaluations_in(arrays, path))


def evaluations_in(arrays: Arrays, path: Path) -> tuple[Evaluation, ...]:
    """Take the evaluations out of arrays that `packed` has written."""
    try:
        columns = [arrays.pop(f"{_ROWS}.{name}").tolist() for name in _COLUMNS]
        return tuple(_restored(row) for row in zip(*columns, strict=True))
    except (KeyError, ValueError, TypeError):
        raise StoreError(f"{path} has no evaluations; it was not written by errands") from None


def _restored(row: Sequence[Any]) -> Evaluation:
    step, length, total, success, episodes, *ends = row
    # The columns are floats; a single episode gets its whole numbers and its yes or no back.
    if episodes == 1:
        return Evaluation(step, int(length), total, bool(success))
    return Evaluation(step, length, total, success, episodes, *(None if x is None or np.isnan(x) else x for x in ends))


def write_moment(folder: Path, step: int, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Keep what a seed had learnt at a step, for those who watch it learn; nothing where that is large."""
    # Asked before they are packed: the bytes of a large table take as much memory again.
    if sum(array.nbytes for array in arrays.values()) > MAX_MOMENT:
        return
    data = pack(arrays)
    if len(data) <= MAX_MOMENT:
        # A moment has no document beside it: the beginning of its checksum stands in its name.
        write_file(folder / f"moment-{step}-{digest(data)[:16]}.safetensors", data)


def moments(folder: Path) -> Iterator[tuple[int, Arrays]]:
    """What was kept by `write_moment`, by steps; a file whose bytes are not as they were written is left out."""
    names = (_MOMENT.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
    for step, mark, name in sorted((int(name[1]), name[2], name[0]) for name in names if name):
        data = read_file(folder / name, MAX_MOMENT)
        if digest(data)[:16] == mark:
            yield step, unpack(data, folder / name)


def damaged_moments(folder: Path) -> list[Path]:
    """The files of `write_moment` whose bytes are not as they were written."""
    files = {path: _MOMENT.fullmatch(path.name) for path in sorted(folder.glob("moment-*.safetensors"))}
    return [path for path, name in files.items() if name is None or digest(read_file(path, MAX_MOMENT))[:16] != name[2]]


def _document(folder: Path, step: int) -> Path:
    return folder / f"checkpoint-{step}.json"


def _arrays(folder: Path, step: int) -> Path:
    return folder / f"checkpoint-{step}.safetensors"


HEADER = ",".join(_COLUMNS).encode() + b"\n"
MAX_TABLE = 2_000_000_000
_WHOLE, _NUMBER = rb"(0|[1-9][0-9]{0,15})", rb"(-?[0-9a-z.+-]{1,30})"
_LINE = re.compile(rb",".join([_WHOLE, _NUMBER, _NUMBER, _NUMBER, _WHOLE, *[_NUMBER + b"?"] * 4]) + rb"\n")


def line(evaluation: Evaluation) -> bytes:
    """One evaluation as a line; numbers are the shortest that read back the same, and those of one episode are whole."""
    e = evaluation
    length, success = (int(e.episode_length), int(e.success)) if e.episodes == 1 else (float(e.episode_length), float(e.success))
    ends = ("" if (x := getattr(e, end)) is None else repr(float(x)) for end in ENDS)
    return f"{e.step},{length!r},{float(e.total_reward)!r},{success!r},{e.episodes},{','.join(ends)}\n".encode()


def render(evaluations: Iterable[Evaluation]) -> bytes:
    """The whole table."""
    return HEADER + b"".join(map(line, evaluations))


def parse(data: bytes, path: Path) -> list[Evaluation]:
    """The evaluations of a table; `path` is named where a line cannot be read."""
    if not data.startswith(HEADER):
        raise StoreError(f"{path} is not a table of evaluations: its first line is not '{HEADER.decode().strip()}'")
    lines = data[len(HEADER) :].splitlines(keepends=True)
    rows = [_parsed(text, number, path) for number, text in enumerate(lines, 2)]
    if any(later.step <= earlier.step for earlier, later in pairwise(rows)):
        raise StoreError(f"{path} is damaged: its steps do not grow; run 'errands resume' to write it again")
    return rows


def _parsed(text: bytes, number: int, path: Path) -> Evaluation:
    try:
        if fields := _LINE.fullmatch(text):
            step, episodes, *numbers = (float(x) if x else None for x in fields.group(1, 5, 2, 3, 4, 6, 7, 8, 9))
            if not any(x != x for x in numbers):  # NaN
                return _restored([int(step or 0), *numbers[:3], int(episodes or 0), *numbers[3:]])
    except (ValueError, OverflowError):
        pass
    raise StoreError(f"{path} is damaged in line {number}; run 'errands resume' to write it again")
