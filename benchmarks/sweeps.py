"""Large sweeps: how long a plan of 10,000 runs takes to expand (at most 2 s) and 10,000 finished runs to be summarised (10 s)."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from errands.runs.plan import expand, make_block
from errands.runs.sweep import begin, opened, rows, train_sweep, unfinished, write_table


def main() -> int:
    """Measure and print; 1 when a limit is missed."""
    plan = {"task": "delivery-2..11", "learner": "qcorm,crm", "map_seed": "0..49", "seeds": 10, "steps": 1000}
    began = time.perf_counter()
    cells = expand([make_block(plan)])
    spent = time.perf_counter() - began
    print(f"a plan of {sum(c.seeds for c in cells):,} runs expands in {spent:.2f} s")
    folder = Path(tempfile.mkdtemp(prefix="sweeps-"))
    try:
        sweep = begin([make_block({**plan, "task": "delivery-2", "learner": "qcorm", "map_seed": "0..999"})], folder / "sweep")
        _fill(folder, sweep.path, [cell.folder for cell in sweep.document.cells])
        began = time.perf_counter()
        found = rows(sweep)
        write_table(sweep, found)
        summarised = time.perf_counter() - began
        print(f"{len(found):,} finished runs are summarised, and written as a table, in {summarised:.2f} s")
        began = time.perf_counter()
        assert not list(unfinished(sweep))
        print(f"a resume checks them in {time.perf_counter() - began:.2f} s")
    finally:
        shutil.rmtree(folder)
    return int(spent > 2 or summarised > 10)


def _fill(folder: Path, path: Path, names: list[str]) -> None:
    """Finished runs for all cells: one is trained, the others are its files under other seeds and names."""
    small = begin([make_block({"task": "delivery-2", "learner": "qcorm", "seeds": 10, "steps": 1000})], folder / "one")
    train_sweep(small, 1, quiet=True)
    model = opened(small, small.document.cells[0])
    assert model.finished
    for name in names:
        shutil.copytree(model.path, path / name, ignore=shutil.ignore_patterns("*.safetensors"))


if __name__ == "__main__":
    sys.exit(main())
