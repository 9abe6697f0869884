"""A million random and mutated task files: nothing but tasks and SpecErrors.

    python benchmarks/fuzz.py [COUNT]
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "tasks"))
from test_spec import fuzz


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    pieces = 100
    begun = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        accepted = sum(pool.map(fuzz, range(1_000, 1_000 + pieces), [count // pieces] * pieces))
    seconds = time.perf_counter() - begun
    print(f"{count:,} files read in {seconds:.0f} s: {accepted:,} tasks, {count - accepted:,} SpecErrors, nothing else")


if __name__ == "__main__":
    main()
