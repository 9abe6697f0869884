"""Looking through a whole run or sweep folder: every file that is not as it was written, by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from errands.errors import StoreError
from errands.results.checkpoint import read_checkpoint, steps
from errands.results.finding import SWEEP
from errands.results.run_folder import open_run
from errands.results.seed_folder import SeedFolder
from errands.results.sweep_folder import open_sweep


def faults(path: Path) -> Iterator[str]:
    """What is wrong with the files of a run or sweep; nothing, when it can be trusted."""
    try:
        if (path / SWEEP).exists():
            sweep = open_sweep(path)
            begun = [sweep.cell(cell) for cell in sweep.document.cells if sweep.cell(cell).exists()]
            for folder in begun:
                yield from faults(folder)
            return
        run = open_run(path)
    except StoreError as fault:
        yield str(fault)
        return
    for place in run.seeds():
        yield from _of_seed(place)


def _of_seed(place: SeedFolder) -> Iterator[str]:
    try:
        if not place.begun:
            return
        place.evaluations()
    except StoreError as fault:
        yield str(fault)
    for step in steps(place.path):
        try:
            read_checkpoint(place.path, place.seed, step)
        except StoreError as fault:
            yield str(fault)
