"""Finding runs and sweeps by name, by path, or as the latest."""

from __future__ import annotations

import difflib
from pathlib import Path

from errands.errors import StoreError
from errands.results.run_folder import HEAD, RUNS

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
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
    hint = f"did you mean '{near[0]}'?" if near else f"{runs}/ has no runs" if not known else f"try '{known[-1]}'"
    raise StoreError(f"'{name[:200]}' is no run or sweep: it has neither {HEAD} nor {SWEEP}; {hint}")


def folders(runs: Path = RUNS) -> list[Path]:
    """All runs and sweeps of a folder, the latest last."""
    if not runs.is_dir():
        return []
    return sorted((path for path in runs.iterdir() if is_run(path)), key=lambda path: (_time(path), path.name))


def is_run(path: Path) -> bool:
    """Whether a folder holds a run or a sweep that was begun."""
    try:
        return (path / HEAD).is_file() or (path / SWEEP).is_file()
    except (OSError, ValueError):
        return False


def _time(path: Path) -> int:
    head = path / HEAD if (path / HEAD).is_file() else path / SWEEP
    return head.stat().st_mtime_ns
