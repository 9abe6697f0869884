"""The measuring half of `errands reproduce water cheetah` for a machine with little more than numpy and JAX.

python paper/results/deep/panels.py FOLDER PANEL... [--seconds N] [--jobs N] [--only qcorm,crm] [--preset tuned] ...
Trains all seeds of a cell side by side, JOBS cells at a time (processes; on a GPU start CUDA's multi-process service first),
stops at the clock and continues there next time. What was measured so far is then in FOLDER/learn-TASK.jsonl and
FOLDER/speed.jsonl, in the format that figures.py reads. With --list it only says which cells there are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "src"))

from errands.paper import team_store
from errands.paper.continuous import EXTENTS, TeamCell, team_cells
from errands.paper.panels import chosen
from errands.paper.teams import measure_teams, said


def cells_of(args: argparse.Namespace) -> list[TeamCell]:
    """The cells that were asked for."""
    given = {key: value for key in ("seeds", "steps", "width") if (value := getattr(args, key)) is not None}
    extent = EXTENTS[args.profile]
    extent = replace(extent, **given, cheetah_steps=args.steps or extent.cheetah_steps)
    cells = team_cells(chosen(args.panels, False)[1], extent)
    learners, presets = args.only and args.only.split(","), args.preset and args.preset.split(",")
    return [c for c in cells if (not learners or c.run in learners) and (not presets or c.timed or c.preset in presets)]


def gather(folder: Path, cells: Sequence[TeamCell]) -> None:
    """Write the rows of all cells as figures.py reads them."""
    found: dict[str, list[str]] = {}
    for kept in (team_store.read(folder / "teams", cell) for cell in cells):
        for row in kept.rows:
            found.setdefault("speed" if kept.cell.timed else f"learn-{kept.cell.task}", []).append(json.dumps(row))
    for name, lines in found.items():
        (folder / f"{name}.jsonl").write_text("\n".join([*lines, ""]))


def main() -> None:
    """Measure, or start the processes that do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("panels", nargs="+")
    parser.add_argument("--profile", default="full", choices=list(EXTENTS))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--part", type=int, help="which of the jobs this process does")
    parser.add_argument("--only", help="runs, such as qcorm,crm,hrm/one-hot")
    parser.add_argument("--preset", help="tuned, paper or both")
    parser.add_argument("--list", action="store_true")
    for name in ("seeds", "steps", "width"):
        parser.add_argument(f"--{name}", type=int)
    args = parser.parse_args()
    cells = cells_of(args)
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.list:
        print(*(f"{c.name}: {said(team_store.read(args.folder / 'teams', c))}" for c in cells), sep="\n")
    elif args.part is None and args.jobs > 1:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        again = [[sys.executable, *sys.argv, "--part", str(part)] for part in range(args.jobs)]
        running = [subprocess.Popen(words) for words in again]  # noqa: S603 (this very script)
        for process in running:
            process.wait()
    else:
        mine = cells[args.part or 0 :: args.jobs]
        measure_teams(mine, args.folder / "teams", lambda line: print(line, file=sys.stderr, flush=True), args.seconds)
    gather(args.folder, cells)


if __name__ == "__main__":
    main()
