"""The exact optimum of Water on many maps: lengths, seconds, and every plan replayed by the task's own environment.

    python benchmarks/exact_water.py [TASK] [MAPS]
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import errands


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "water-5"
    maps = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    errands.optimum(errands.load("water-2"))  # compiled
    lengths, seconds = [], []
    for seed in range(maps):
        task, begun = errands.load(name, seed), time.process_time()
        best = errands.optimum(task)
        seconds.append(time.process_time() - begun)
        env = task.env()
        env.reset(seed=0)
        *_, last = [env.step(action) for action in best.actions]
        if not last[4]["success"] or len(best.actions) != best.length:
            raise SystemExit(f"map {seed}: {best.length} steps, and the environment disagrees")
        lengths.append(best.length)
    spent = f"{np.mean(seconds):.2f} s a map on one core, at most {max(seconds):.2f}"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    found = f"mean {np.mean(lengths):.2f} steps, {min(lengths)} to {max(lengths)}"
    print(f"{name}, maps 0 to {maps - 1}: {found}; {spent}; {memory:.1f} GB")
    print(*lengths)


if __name__ == "__main__":
    main()
