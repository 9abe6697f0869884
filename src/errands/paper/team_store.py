"""What is kept of a cell whose seeds train side by side: its rows, and the arrays from which a cut one continues."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.learners.presets import as_document
from errands.paper.continuous import TeamCell, task_of
from errands.runs.files import NEW, digest, refusal, write_file

Row = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Kept:
    """A cell as far as it was measured: one row for each evaluation of all seeds, or one row with their pace."""

    cell: TeamCell
    rows: tuple[Row, ...] = ()
    ended: bool = False
    step: int = 0
    """Where the arrays were taken; 0 where there are none."""
    seconds: float = 0.0
    """Time spent up to there, compilation and evaluations included."""
    error: str = ""
    arrays: Arrays | None = field(default=None, repr=False, compare=False)

    @property
    def reached(self) -> int:
        """The step of the last row."""
        return int(self.rows[-1].get("step", 0)) if self.rows else 0


def mark_of(cell: TeamCell) -> str:
    """What a kept cell must have been made of: task, settings, steps and seeds."""
    asked = {**asdict(cell), "config": as_document(cell.config), "text": task_of(cell.task).to_toml()}
    return digest(json.dumps(asked, sort_keys=True).encode())


def read(folder: Path, cell: TeamCell, arrays: bool = False) -> Kept:
    """A kept cell; nothing where there is none or it was made of something else; without good arrays it starts anew."""
    path = _document(folder, cell)
    try:
        kept = json.loads(path.read_bytes())
        if kept["mark"] != mark_of(cell):
            return Kept(cell)
        found = Kept(cell, tuple(kept["rows"]), bool(kept["ended"]), int(kept["step"]), float(kept["seconds"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Kept(cell)
    if not arrays or found.ended:
        return found
    held = _read_arrays(_arrays(folder, cell, found.step))
    if held is None:
        return Kept(cell)
    rows = tuple(row for row in found.rows if row["step"] <= found.step)
    return Kept(cell, rows, False, found.step, found.seconds, arrays=held)


def write(folder: Path, kept: Kept) -> None:
    """Store the rows; arrays that belong to another step are dropped afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    text = {"mark": mark_of(kept.cell), "ended": kept.ended, "step": kept.step, "seconds": round(kept.seconds, 3)}
    write_file(_document(folder, kept.cell), json.dumps({**text, "rows": kept.rows}).encode())
    current = _arrays(folder, kept.cell, kept.step)
    for path in folder.glob(f"{_stem(kept.cell)}@*.npz"):
        if kept.ended or path != current:
            path.unlink(missing_ok=True)


def write_arrays(folder: Path, cell: TeamCell, step: int, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store the arrays of a step beside those of the one before; they count once `write` has named their step."""
    folder.mkdir(parents=True, exist_ok=True)
    path = _arrays(folder, cell, step)
    new = path.with_name(f".{path.name}{NEW}")
    try:
        with open(new, "wb") as out:
            np.savez(out, allow_pickle=False, **dict(arrays))
            out.flush()
            os.fsync(out.fileno())
        os.replace(new, path)
    except OSError as fault:
        new.unlink(missing_ok=True)
        raise refusal(path, fault) from None


def _read_arrays(path: Path) -> Arrays | None:
    """The arrays of a file whose checksums are good, else None."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        return None


def _stem(cell: TeamCell) -> str:
    return cell.name.replace(" ", "_")


def _document(folder: Path, cell: TeamCell) -> Path:
    return folder / f"{_stem(cell)}.json"


def _arrays(folder: Path, cell: TeamCell, step: int) -> Path:
    return folder / f"{_stem(cell)}@{step}.npz"
