"""What two reproductions of the tabular domains do not share: python paper/differences.py OLD NEW.

Folders of runs (`errands reproduce --output`) are compared byte by byte, every evaluation of every seed that both have; reports
(paper/results) number by number, every column of every method. Times are no outcomes and are left out. Ends with 1 where
anything differs.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from errands.runs.folder import SWEEP, open_sweep

Cell = tuple[str, ...]


def seeds_of(folder: Path) -> dict[tuple[object, int], Path]:
    """The evaluations of every seed that has ended, by what was asked for, but for the number of seeds, and seed."""
    sweep = open_sweep(folder)
    places = ((cell.unplaced.model_copy(update={"seeds": 1}), sweep.cell(cell)) for cell in sweep.document.cells)
    return {
        (cell, int(end.parent.name.removeprefix("seed-"))): end.parent / "evaluations.csv"
        for cell, path in places
        for end in path.glob("seed-*/result.json")
    }


def compare_runs(old: Path, new: Path) -> int:
    """Print which seeds were evaluated otherwise; how many did."""
    first, second = seeds_of(old), seeds_of(new)
    shared = first.keys() & second.keys()
    other = sorted(str(key) for key in shared if first[key].read_bytes() != second[key].read_bytes())
    print(
        f"{len(shared)} seeds are in both ({len(first)} and {len(second)}); {len(shared) - len(other)} have the same bytes"
    )
    print(*other, sep="\n")
    return len(other)


def summary(folder: Path) -> dict[Cell, dict[str, str]]:
    """The rows of a report by task, method and preset."""
    with (folder / "summary.csv").open(newline="") as file:
        return {(row["task"], row["name"], row["preset"]): row for row in csv.DictReader(file)}


def compare_reports(old: Path, new: Path) -> int:
    """Print which cells have other numbers; how many do."""
    first, second = summary(old), summary(new)
    other = 0
    for cell in first.keys() & second.keys():
        before, after = first[cell], second[cell]
        if before["seeds"] != after["seeds"]:
            print(f"{' '.join(cell)}: {before['seeds']} seeds became {after['seeds']}")
            continue
        changed = [
            f"{name} {value} became {after.get(name)}" for name, value in before.items() if after.get(name) != value
        ]
        other += bool(changed)
        if changed:
            print(f"{' '.join(cell)}: {'; '.join(changed)}")
    print(
        f"{len(first.keys() & second.keys())} cells are in both ({len(first)} and {len(second)}); {other} have other numbers"
    )
    for cell in sorted(first.keys() ^ second.keys()):
        print(f"only in the {'first' if cell in first else 'second'}: {' '.join(cell)}")
    return other


def main() -> None:
    """Compare runs where both folders have some, reports otherwise."""
    old, new = map(Path, sys.argv[1:3])
    runs = (old / SWEEP).exists() and (new / SWEEP).exists()
    raise SystemExit(int((compare_runs if runs else compare_reports)(old, new) > 0))


if __name__ == "__main__":
    main()
