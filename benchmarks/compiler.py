"""What kernels/compiler.py is worth: first run, warm start, ns per step and us per call, with it and as numba compiles by itself.

python benchmarks/compiler.py                          # both ways on this Python's numba
python benchmarks/compiler.py --python PATH [PATH ...]   # and with other Pythons, whose numba may be another; errands is this one's

All are processor times; the first run finds no compiled kernels, the warm start does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS, CALLS = 1_000_000, 3_000


def measure(learner: str) -> None:
    """Print the figures of this process as JSON."""
    began = time.process_time()
    import numba

    from errands.kernels import PLAIN
    from errands.learners import make_learner
    from errands.tasks import load

    task = load("delivery-8")
    make_learner(task, learner).advance(3_000)
    start, spent = time.process_time() - began, []
    for _ in range(3):
        student, before = make_learner(task, learner), time.process_time()
        student.advance(STEPS)
        spent.append(time.process_time() - before)
    before = time.process_time()
    for step in range(CALLS):
        student.advance(STEPS + step + 1)
    call = (time.process_time() - before) / CALLS
    how = f"numba {numba.__version__}, {'plain' if PLAIN else 'kernels/compiler.py'}"
    print(json.dumps([how, start, min(spent) * 1e9 / STEPS, call * 1e6]))


def main() -> None:
    """Ask and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="*", default=[], help="other Pythons that have numba, numpy, gymnasium, pydantic")
    parser.add_argument("--learner", default="qcorm")
    parser.add_argument("--part", action="store_true", help="print the figures of this process alone")
    chosen = parser.parse_args()
    if chosen.part:
        return measure(chosen.learner)
    print("compiled by                        first run s  warm start s  ns per step  us per call")
    for python in [sys.executable, *chosen.python]:
        for how in ("", "plain"):
            with tempfile.TemporaryDirectory() as cache:
                source = str(Path(__file__).parents[1] / "src")
                environment = {**os.environ, "ERRANDS_CACHE": cache, "ERRANDS_COMPILER": how, "PYTHONPATH": source}
                command = [python, __file__, "--part", "--learner", chosen.learner]
                first, second = (json.loads(subprocess.check_output(command, env=environment, text=True)) for _ in range(2))
            print(f"{first[0]:34} {first[1]:11.1f}  {second[1]:12.1f}  {second[2]:11.1f}  {second[3]:11.1f}", flush=True)
    return None


if __name__ == "__main__":
    main()
