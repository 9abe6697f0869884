"""Thousands of damaged checkpoints of every tabular learner: refused in a sentence, or taken without leaving an array.

    python benchmarks/fuzz_saved.py [COUNT]        (each also with NUMBA_BOUNDSCHECK=1)
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "learners" / "tabular"))
from test_saved import LEARNERS, in_a_process


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    for variables in ({}, {"NUMBA_BOUNDSCHECK": "1"}):
        begun = time.perf_counter()
        for name, tally in in_a_process(count, LEARNERS, **variables).items():
            print(f"{name}: {tally['refused']:,} refused, {tally['taken']:,} taken and alive", flush=True)
        print(f"in {time.perf_counter() - begun:.0f} s {'with every index checked' if variables else ''}")


if __name__ == "__main__":
    main()
