"""The paper's learners on many tasks, one seed each, 10^6 steps: how many end exactly optimal.

    python benchmarks/subsets.py [offices] [delivery-4] [delivery-8] [visit-8]
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

from errands.learners import make_learner
from errands.oracle.optimum import optimum
from errands.tasks import Task, any_order, avoid, load
from errands.worlds import Office

LEARNERS = ("crm", "qcorm-0", "qcorm")
STEPS = 1_000_000


def offices() -> list[Task]:
    """All 57 subsets of two to six offices."""
    names = [c for n in range(2, 7) for c in combinations([f"o{i}" for i in range(1, 7)], n)]
    return [Task("-".join(c), Office(), avoid("decoration", any_order(*c, before="coffee"))) for c in names]


def tasks_of(kind: str) -> list[Task]:
    count = 100 if kind == "delivery-4" else 50
    return offices() if kind == "offices" else [load(kind, map_seed=seed) for seed in range(1_000, 1_000 + count)]


def ends_optimal(name: str, task: Task) -> bool:
    best = optimum(task, orders=False).length
    learner = make_learner(task, name)
    learner.advance(STEPS)
    last = learner.evaluate()
    return last.success and last.episode_length == best


def main() -> None:
    for kind in sys.argv[1:] or ["offices", "delivery-4", "delivery-8", "visit-8"]:
        tasks = tasks_of(kind)
        for name in LEARNERS:
            with ThreadPoolExecutor(2) as pool:
                solved = sum(pool.map(lambda task, name=name: ends_optimal(name, task), tasks))
            print(f"{kind}: {name} ends optimal on {solved} of {len(tasks)}", flush=True)


if __name__ == "__main__":
    main()
