"""What the road costs besides training: evaluations, judging, storing, compiling; ten deep seeds as one team or apart.

python benchmarks/road.py                            # ns per step of the loop, of errands.train and of a run folder; a first run
python benchmarks/road.py --base PATH_OF_OLD_CHECKOUT    # the same of both, in turns
python benchmarks/road.py --team 10                  # deep: seconds of a team of ten seeds beside ten seeds of their own

An old checkout is made by `git worktree add --detach PATH COMMIT` (issue 2 began at cafa811). All times are processor
times and the least of several rounds, but for --team, which is in seconds of the clock.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from checkouts import checkouts, in_turns, show

STEPS = 2_000_000
PIECES = 5


def least(work: Callable[[], object]) -> float:
    """Processor nanoseconds per step, of the quickest of some repeats."""
    spent = []
    for _ in range(PIECES):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent) * 1e9 / STEPS


def measure(task: str, learner: str) -> None:
    """Print the figures of whichever checkout is on the path; by names that all versions have."""
    import errands
    from errands.cli import main
    from errands.learners import make_learner
    from errands.tasks import load

    errands.train(load(task), learner, steps=3_000)

    def stored() -> None:
        home = os.getcwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            os.chdir(folder)
            with contextlib.suppress(SystemExit):
                main(["train", task, learner, "--steps", str(STEPS), "--quiet", "--json"])
            os.chdir(home)

    figures = {
        "the loop alone": least(lambda: make_learner(load(task), learner).advance(STEPS)),
        "errands.train": least(lambda: errands.train(load(task), learner, steps=STEPS)),
        "a run folder": least(stored),
    }
    print(json.dumps({f"{task} {learner}: {name}": figure for name, figure in figures.items()}))


def first_run(learner: str) -> None:
    """Print the processor seconds of a command that finds no compiled kernels."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ERRANDS_CACHE": folder, "XDG_CACHE_HOME": folder, "HOME": folder}
        command = [sys.executable, "-m", "errands", "train", "figure-1", learner, "--steps", "20000", "--json"]
        began = time.perf_counter()
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        clock = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = {"processor": used.ru_utime + used.ru_stime, "clock": clock}
    print(json.dumps({f"figure-1 {learner}: first run, {kind}": seconds for kind, seconds in spent.items()}))


def team(seeds: int, steps: int, width: int) -> None:
    """Wall seconds of some deep seeds side by side in one process, and in processes of their own."""
    from errands.runs.folder import create
    from errands.runs.request import Request
    from errands.runs.sweep import train_run
    from errands.tasks import load

    task = load("water-3")
    for name, size in (("one team", seeds), ("processes", 0)):
        settings = {"width": width}
        request = Request.of(task, "qcorm", settings=settings, steps=steps, seeds=range(seeds))
        request = replace(request, team=size)
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            train_run(create(Path(folder) / "run", request, git={}), quiet=True)
            spent = time.perf_counter() - began
            print(
                f"water-3 qcorm, width {width}, {seeds} seeds of {steps:,} steps, {name:>9}: {spent:.1f} s", flush=True
            )


def main() -> None:
    """Ask and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="delivery-8")
    parser.add_argument("--learner", default="qcorm")
    parser.add_argument("--base", metavar="PATH", help="an older checkout to compare with")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--part", choices=["steps", "first"], help="print one part of this checkout alone, as JSON")
    parser.add_argument("--team", type=int, default=0, metavar="SEEDS")
    parser.add_argument("--steps", type=int, default=2_000, help="of each seed of a team")
    parser.add_argument("--width", type=int, default=64, help="of the networks' layers")
    chosen = parser.parse_args()
    if chosen.team:
        team(chosen.team, chosen.steps, chosen.width)
    elif chosen.part:
        measure(chosen.task, chosen.learner) if chosen.part == "steps" else first_run(chosen.learner)
    else:
        both = checkouts(chosen.base)
        asked = [__file__, "--task", chosen.task, "--learner", chosen.learner]
        show(in_turns([*asked, "--part", "steps"], both, chosen.rounds), both, "ns per step")
        show(in_turns([*asked, "--part", "first"], both, chosen.rounds), both, "s")


if __name__ == "__main__":
    main()
