"""The paper's learners on many tasks, 10^6 steps: how many end exactly optimal, seed by seed.

python benchmarks/subsets.py [offices] [delivery-4] [delivery-8] [visit-8] [seeds=10]
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations, repeat

from errands.learners import make_learner
from errands.learners.presets import config_of
from errands.oracle.optimum import optimum
from errands.tasks import Task, any_order, avoid, load
from errands.worlds import Office

LEARNERS: dict[str, dict[str, str]] = {
    "crm": {},
    "qcorm-0": {},
    "qcorm": {},
    "qcorm, all remaining": {"lifted": "remaining"},
}
STEPS = 1_000_000


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


def main() -> None:
    words = sys.argv[1:]
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
