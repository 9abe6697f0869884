"""The paper's learners on many tasks, 10^6 steps: how many end exactly optimal, seed by seed.

python benchmarks/subsets.py [offices] [delivery-4] [delivery-8] [visit-8] [seeds=10]
python benchmarks/subsets.py readings [jobs=N] [to=FILE]
    the three readings of Theorem 1's reward and QCoRM-0, alpha 1e-6 to 1, on all 257 tasks; a row for every run goes to
    paper/rows/readings.csv, and what is there already is not run again
python benchmarks/subsets.py table    the counts of those rows
"""

from __future__ import annotations

import csv
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import combinations, repeat
from multiprocessing import get_context
from pathlib import Path

from errands.learners import make_learner
from errands.learners.presets import config_of
from errands.oracle.optimum import optimum
from errands.tasks import Task, load
from errands.tasks.phrases import any_order, avoid
from errands.worlds import Office

LEARNERS: dict[str, dict[str, str]] = {
    "crm": {},
    "qcorm-0": {},
    "qcorm": {},
}
STEPS = 1_000_000
READINGS = Path(__file__).parents[1] / "paper" / "rows" / "readings.csv"


def offices() -> list[Task]:
    """All 57 subsets of two to six offices."""
    names = [c for n in range(2, 7) for c in combinations([f"o{i}" for i in range(1, 7)], n)]
    return [Task("-".join(c), Office(), avoid("decoration", any_order(*c, before="coffee"))) for c in names]


def tasks_of(kind: str) -> list[Task]:
    count = 100 if kind == "delivery-4" else 50
    return offices() if kind == "offices" else [load(kind, map_seed=seed) for seed in range(1_000, 1_000 + count)]


def ends_optimal(variant: str, task: Task, best: int, seed: int) -> bool:
    name = variant.split(",")[0]
    config = replace(config_of(name, "tuned", task), **LEARNERS[variant])  # type: ignore[arg-type]
    learner = make_learner(task, name, seed, config=config)
    learner.advance(STEPS)
    last = learner.evaluate()
    return last.success and last.episode_length == best


KINDS = ("offices", "delivery-4", "delivery-8", "visit-8")
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
DELTAS = ("episode", "gated", "printed", "none")
"""The readings of Theorem 1's reward; `none` is QCoRM-0."""
COLUMNS = ("tasks", "task", "alpha", "delta", "optimum", "length", "success")


@cache
def solved(kind: str) -> list[tuple[Task, float]]:
    """The tasks of a kind, each with its optimum."""
    return [(task, optimum(task, orders=False).length) for task in tasks_of(kind)]


def with_reading(kind: str, place: int, alpha: float, delta: str) -> tuple[object, ...]:
    """The row of one run: seed 0, all but alpha and the reading as tuned."""
    task, best = solved(kind)[place]
    joint = {"joint": True, "delta": delta} if delta != "none" else {"joint": False}
    learner = make_learner(task, "qcorm", 0, settings={"alpha": alpha, **joint})
    learner.advance(STEPS)
    last = learner.evaluate()
    return kind, place, f"{alpha:g}", delta, best, last.episode_length, int(last.success)


def readings(jobs: int, path: Path) -> None:
    """Every task with every alpha and reading, in `jobs` processes; rows are written as they come."""
    path.touch()
    with path.open(newline="") as file:
        stored = {tuple(row[:4]) for row in csv.reader(file)}
    with path.open("a", newline="") as file, ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        rows = csv.writer(file, lineterminator="\n")
        if not stored:
            rows.writerow(COLUMNS)
        for kind in KINDS:
            cells = [
                (kind, place, alpha, delta)
                for alpha in ALPHAS
                for delta in DELTAS
                for place in range(len(tasks_of(kind)))
            ]
            left = [cell for cell in cells if (kind, str(cell[1]), f"{cell[2]:g}", cell[3]) not in stored]
            for number, row in enumerate(pool.map(with_reading, *zip(*left, strict=True)) if left else (), 1):
                rows.writerow(row)
                if number % 50 == 0 or number == len(left):
                    file.flush()
                    print(f"{kind}: {number} of {len(left)}", flush=True)


def table(path: Path) -> None:
    """How many runs end exactly optimal with each reading, and in brackets how many succeed where not all do."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    sizes = {kind: len({row["task"] for row in rows if row["tasks"] == kind}) for kind in KINDS}
    print("| alpha | " + " | ".join(f"{size} {kind}" for kind, size in sizes.items()) + " |\n" + "|---" * 5 + "|")
    for alpha in (f"{alpha:g}" for alpha in ALPHAS):
        columns = []
        for kind in KINDS:
            counts = []
            for delta in DELTAS:
                mine = [row for row in rows if (row["tasks"], row["alpha"], row["delta"]) == (kind, alpha, delta)]
                well = [row for row in mine if row["success"] == "1"]
                best = sum(float(row["length"]) == float(row["optimum"]) for row in well)
                counts.append(f"{best}" if len(well) == len(mine) else f"{best} ({len(well)})")
            columns.append(" · ".join(counts))
        print(f"| {alpha} | " + " | ".join(columns) + " |")


def main() -> None:
    words = sys.argv[1:]
    if words and words[0] in ("readings", "table"):
        options = dict(word.split("=", 1) for word in words[1:])
        path = Path(options.get("to", READINGS))
        table(path) if words[0] == "table" else readings(int(options.get("jobs", 2)), path)
        return
    seeds = next((int(word.removeprefix("seeds=")) for word in words if word.startswith("seeds=")), 1)
    kinds = [word for word in words if not word.startswith("seeds=")]
    for kind in kinds or ["offices", "delivery-4", "delivery-8", "visit-8"]:
        tasks = tasks_of(kind)
        best = [optimum(task, orders=False).length for task in tasks]
        for name in LEARNERS:
            solved = []
            for seed in range(seeds):
                with ThreadPoolExecutor(2) as pool:
                    solved.append(sum(pool.map(ends_optimal, repeat(name), tasks, best, repeat(seed))))
            print(f"{kind}: {name} ends optimal on {' '.join(map(str, solved))} of {len(tasks)}", flush=True)


if __name__ == "__main__":
    main()
