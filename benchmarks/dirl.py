"""DiRL against the paper's claims: one complete run per budget, ten seeds, printed as the tables of docs/methods/dirl.md.

python benchmarks/dirl.py published    a fixed number of steps and 300 rollouts an edge, as published code does
python benchmarks/dirl.py within       the same within 10^6 interactions, the paper's limit
python benchmarks/dirl.py shared       the total given, shared among the edges (the defaults of `errands train`)
python benchmarks/dirl.py heldout      maps and numbers of offices on which nothing was chosen, within 10^6 interactions
python benchmarks/dirl.py maps         delivery-2 on 100 maps: how often the declared order is the optimal one
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from statistics import median
from typing import cast

from errands.learners.dirl.settings import DiRLConfig
from errands.learners.dirl.tabular import DiRL
from errands.learners.presets import config_of
from errands.oracle.optimum import optimum
from errands.tasks import Task, load

TASKS = ("delivery-2", "delivery-8", "office-3", "office-6")
PRESETS = ("paper", "tuned")
SEEDS = range(10)
COLUMNS = ("task (optimum)", "preset", "budget", "succeed", "optimal", "length", "edges", "interactions", "in training")


def settings(preset: str, task: Task) -> DiRLConfig:
    return cast(DiRLConfig, config_of("dirl", preset, task))


def row(task: Task, preset: str, budget: str, config: DiRLConfig, steps: int) -> Iterable[object]:
    best = optimum(task, orders=False).length
    learners = [DiRL(task, config, seed) for seed in SEEDS]
    ends = [next(iter(learner.train(steps))) for learner in learners]
    lengths = [e.episode_length for e in ends if e.success]
    taken = median(learner.step for learner in learners)
    trained = median(learner.training_steps for learner in learners)
    return (
        f"{task.name} ({best:g})", preset, budget, f"{len(lengths)}/{len(ends)}", sum(x == best for x in lengths),
        f"{median(lengths):g}" if lengths else "-", f"{median(len(x.results) for x in learners):g}",
        f"{taken:,.0f}", f"{trained / taken:.0%}",
    )  # fmt: skip


def published() -> Iterable[Iterable[object]]:
    for name in TASKS:
        for preset in PRESETS:
            for steps in (1_000, 3_000, 10_000, 30_000):
                task = load(name)
                config = replace(settings(preset, task), edge_steps=steps, rollouts=300)
                yield row(task, preset, f"{steps:,} an edge", config, 10**9)


def within() -> Iterable[Iterable[object]]:
    tried = {"delivery-8": (500, 1_000, 1_500, 2_000, 3_000), "office-6": (2_000, 3_000, 5_000, 10_000)}
    for name in TASKS:
        for preset in PRESETS:
            for steps in tried.get(name, (3_000, 10_000, 30_000)):
                task = load(name)
                config = replace(settings(preset, task), edge_steps=steps, rollouts=300)
                yield row(task, preset, f"{steps:,} an edge", config, 1_000_000)


def shared() -> Iterable[Iterable[object]]:
    for name in TASKS:
        for preset in PRESETS:
            for steps in (100_000, 300_000, 1_000_000):
                task = load(name)
                yield row(task, preset, f"{steps:,} in all", settings(preset, task), steps)


def heldout() -> Iterable[Iterable[object]]:
    tasks = [load("delivery-8", map_seed=seed) for seed in range(1, 6)] + [load("office-4"), load("office-5")]
    for i, task in enumerate(tasks, 1):
        for preset in PRESETS:
            config = settings(preset, task)
            where = f"map {i}" if task.name == "delivery-8" else "office"
            yield row(task, preset, f"{where}, shared", config, 1_000_000)
            for steps in (500, 1_000, 1_500, 2_000, 3_000) if task.name == "delivery-8" else ():
                fixed = replace(config, edge_steps=steps, rollouts=300)
                yield row(task, preset, f"{where}, {steps:,} an edge", fixed, 1_000_000)


def maps() -> Iterable[Iterable[object]]:
    gaps = []
    for seed in range(100):
        task = load("delivery-2", map_seed=seed)
        (end,) = DiRL(task, settings("tuned", task), 0).train(300_000)
        gaps.append(end.episode_length - (optimum(task, orders=False).length or 0) if end.success else None)
    kept = [gap for gap in gaps if gap is not None]
    yield "maps", len(gaps)
    yield "succeed", len(kept)
    yield "optimal", kept.count(0)
    yield "median gap of the others", median([gap for gap in kept if gap] or [0])


def main(which: str) -> None:
    rows = {"published": published, "within": within, "heldout": heldout, "shared": shared, "maps": maps}[which]
    if which != "maps":
        print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for cells in rows():
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["shared"])
