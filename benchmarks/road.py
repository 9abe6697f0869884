"""What the road costs besides training: evaluations, judging, storing; and ten deep seeds as one team or each in a process.

python benchmarks/road.py                 # tabular: ns per step of the loop alone, in Python, and into a folder
python benchmarks/road.py --team 10       # deep: seconds of a team of ten seeds beside ten seeds of their own
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import errands
from errands.learners import make_learner
from errands.runs.folder import create
from errands.runs.request import prepare
from errands.runs.sweep import train_run
from errands.tasks import load

STEPS, REPEATS = 2_000_000, 5


def tabular(task: str, learner: str) -> None:
    """CPU nanoseconds per step: the loop alone, `errands.train`, and a run folder; the least and the median of some repeats."""
    errands.train(task, learner, steps=3_000)
    rows: dict[str, list[float]] = {"loop": [], "errands.train": [], "run folder": []}
    for _ in range(REPEATS):
        student = make_learner(load(task), learner)
        student.advance(1)
        began = time.process_time()
        student.advance(STEPS)
        rows["loop"].append(time.process_time() - began)
        began = time.process_time()
        errands.train(load(task), learner, steps=STEPS)
        rows["errands.train"].append(time.process_time() - began)
        with tempfile.TemporaryDirectory() as folder:
            began = time.process_time()
            loaded = load(task)
            train_run(create(Path(folder) / "run", prepare(loaded, learner, steps=STEPS, git={}), loaded), quiet=True)
            rows["run folder"].append(time.process_time() - began)
    for name, seconds in rows.items():
        least, middle = (1e9 * x / STEPS for x in (min(seconds), statistics.median(seconds)))
        print(f"{task} {learner}, {STEPS:,} steps, {name:>13}: {least:6.1f} ns per step (median {middle:.1f})")


def team(seeds: int, steps: int, width: int) -> None:
    """Wall seconds of some deep seeds side by side in one process, and in processes of their own."""
    task = load("water-3")
    for name, size in (("one team", seeds), ("processes", 0)):
        settings = {"width": width}
        document = prepare(task, "qcorm", settings=settings, steps=steps, seeds=range(seeds), git={})
        document = document.model_copy(update={"team": size})
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            train_run(create(Path(folder) / "run", document, task), quiet=True)
            spent = time.perf_counter() - began
            print(f"water-3 qcorm, width {width}, {seeds} seeds of {steps:,} steps, {name:>9}: {spent:.1f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="delivery-8")
    parser.add_argument("--learner", default="qcorm")
    parser.add_argument("--team", type=int, default=0, metavar="SEEDS")
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--width", type=int, default=64, help="of the networks' layers")
    chosen = parser.parse_args()
    if chosen.team:
        team(chosen.team, chosen.steps, chosen.width)
    else:
        tabular(chosen.task, chosen.learner)
