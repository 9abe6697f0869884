"""QCoRM+ measured: optimal on every held-out map, near the optimum where moves slip, time per step, ablation.

    python benchmarks/exact_qcorm_plus.py [maps|slip|speed|wild|large|ablation ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "tests" / "learners"))
import scout_tasks
from test_qcorm_plus import drawn_office

from errands.learners.qcorm_plus.settings import QCoRMPlusConfig
from errands.learners.qcorm_plus.tabular import QCoRMPlus
from errands.oracle.certificate import certificate
from errands.oracle.optimum import Optimum, optimum
from errands.tasks import Task, load
from errands.tasks.catalogue import task_text

MAPS, SLIPPERY, WILD, STEPS = 200, 20, 2_000, 20_000
LIGHT = QCoRMPlusConfig(recent=1 << 12)
Make = Callable[[int], Task]


def catalogue() -> Iterator[tuple[str, Task]]:
    names = ["figure-1", "corridor", *(f"office-{n}" for n in range(2, 7))]
    names += [f"delivery-{n}" for n in range(2, 9)] + [f"visit-{n}" for n in range(4, 13)]
    return ((name, load(name)) for name in names)


KINDS: dict[str, Make] = {
    "delivery 2-8": lambda seed: load(f"delivery-{2 + seed % 7}", map_seed=1_000 + seed),
    "visit 4-12": lambda seed: load(f"visit-{4 + seed % 9}", map_seed=1_000 + seed),
    "random office 2-6": lambda seed: drawn_office(2 + seed % 5, 1_000 + seed),
}


def slippery(name: str) -> Make:
    return lambda seed: Task.from_toml(task_text(name, 1_000 + seed).replace("[machine]", "slip = 0.1\n\n[machine]"))


SLIPS: dict[str, Make] = {
    "delivery-4": slippery("delivery-4"),
    "visit-5": slippery("visit-5"),
    "random office-4": lambda seed: drawn_office(4, 1_000 + seed, 0.1),
    "office-4 (20 seeds)": slippery("office-4"),
}


def first_optimal(task: Task, best: float, config: QCoRMPlusConfig = LIGHT, seed: int = 0, every: int = 100) -> int:
    """The step from which all later greedy episodes are optimal; -1 where the last one is not."""
    learner, since = QCoRMPlus(task, config, seed), -1
    while learner.step < STEPS:
        learner.advance(every)
        found = learner.evaluate()
        if not found.success or found.episode_length != best:
            since = -1
        elif since < 0:
            since = learner.step
    return since


def line(name: str, found: list[int]) -> str:
    good = [step for step in found if step >= 0]
    middle, worst = (int(np.median(good)), max(good)) if good else (-1, -1)
    return f"{name:24} {len(good):4} of {len(found):4} optimal; steps until then: median {middle}, worst {worst}"


def maps() -> None:
    for name, task in catalogue():
        best = optimum(task, orders=False).length
        assert best is not None
        print(f"{name:24} optimum {best:g}: optimal from step {first_optimal(task, best)}", flush=True)
    for kind, make in KINDS.items():
        found = []
        for seed in range(MAPS):
            task = make(seed)
            found.append(first_optimal(task, optimum(task, orders=False).length or -1, every=500))
        print(line(kind, found), flush=True)


def share(task: Task, best: Optimum, learner: QCoRMPlus) -> float:
    assert best.discounted is not None
    return certificate(learner.policy, task, best=best).discounted / best.discounted


def slip(kinds: dict[str, Make] = SLIPS, config: QCoRMPlusConfig | None = None, title: str = "") -> None:
    marks = (16_000, 32_000, 64_000, 128_000, 300_000)
    for kind, make in kinds.items():
        rows = []
        for seed in range(SLIPPERY):
            task = make(seed)
            best, learner = optimum(task, orders=False), QCoRMPlus(task, config or QCoRMPlusConfig(), seed)
            row = []
            for mark in marks:
                learner.advance(mark - learner.step)
                row.append(share(task, best, learner))
            rows.append(row)
        mean, least = np.mean(rows, axis=0), np.min(rows, axis=0)
        shown = "  ".join(f"{m // 1000}k {a:.3f}/{b:.3f}" for m, a, b in zip(marks, mean, least, strict=True))
        print(f"{title + kind:24} share of the optimal return, mean/worst: {shown}", flush=True)


def speed() -> None:
    QCoRMPlus(load("figure-1"), QCoRMPlusConfig(), 0).advance(100)
    for name in ("delivery-2", "delivery-8", "delivery-12", "delivery-16", "office-6", "visit-8", "visit-12"):
        learner = QCoRMPlus(load(name), QCoRMPlusConfig(), 0)
        costs = []
        for count in (STEPS, 1_000_000):
            before = time.process_time()
            learner.advance(count)
            costs.append((time.process_time() - before) / count * 1e9)
        print(f"{name:24} {costs[0]:8.0f} ns per step while learning (20k), {costs[1]:.0f} after that", flush=True)


def wild() -> None:
    """Random machines on random mazes: the judge is a search that shares no code with the learner."""
    found, without = [], []
    for seed in range(WILD):
        task = scout_tasks.task(seed)
        best = scout_tasks.shortest(task)
        if best <= task.world.limit:
            for config, results in ((LIGHT, found), (QCoRMPlusConfig(recent=1 << 12, corrections=False), without)):
                learner = QCoRMPlus(task, config, 0)
                learner.advance(STEPS)
                last = learner.evaluate()
                results.append(STEPS if last.success and last.episode_length == best else -1)
    print(line("wild tasks", found))
    print(line("... without corrections", without), flush=True)


def large() -> None:
    for name, steps in (("visit-16", 6_000), ("visit-18", 6_000)):
        before = time.process_time()
        learner = QCoRMPlus(load(name), QCoRMPlusConfig(), 0)
        learner.advance(steps)
        length, spent = learner.evaluate().episode_length, time.process_time() - before
        print(f"{name:24} {length} steps after {steps}, {spent:.1f} s, {len(learner.agenda.status):,} nodes", flush=True)


def ablation() -> None:
    ways = {
        "all": LIGHT,
        "no backward replay": QCoRMPlusConfig(recent=1 << 12, passes=0),
        "no corrections": QCoRMPlusConfig(recent=1 << 12, corrections=False),
        "one table per label": QCoRMPlusConfig(recent=1 << 12, landmarks=1),
        "... and no corrections": QCoRMPlusConfig(recent=1 << 12, landmarks=1, corrections=False),
    }
    tasks = {
        "office-6": [load("office-6")], "corridor": [load("corridor")],
        "delivery-8": [load("delivery-8", map_seed=seed) for seed in range(20)],
        "visit-8": [load("visit-8", map_seed=seed) for seed in range(20)],
        "wild": [t for t in map(scout_tasks.task, range(60)) if scout_tasks.shortest(t) <= t.world.limit],
    }  # fmt: skip
    for way, config in ways.items():
        for name, group in tasks.items():
            judge = scout_tasks.shortest if name == "wild" else lambda t: optimum(t, orders=False).length or -1
            print(line(f"{way}: {name}", [first_optimal(t, judge(t), config, every=250) for t in group]), flush=True)
    hard = {"random office-4": SLIPS["random office-4"]}
    for title, config in (("no replay: ", QCoRMPlusConfig(replays=0)), ("epsilon .05: ", QCoRMPlusConfig(epsilon=0.05))):
        slip(hard, config, title)


PARTS = {"maps": maps, "slip": slip, "speed": speed, "wild": wild, "large": large, "ablation": ablation}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(f"-- {part}")
        PARTS[part]()
