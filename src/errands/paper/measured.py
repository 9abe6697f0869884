"""Measured cells: the seeds of a method on a task, trained by a clock that counts only this thread, and kept."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from errands.analysis.curve import APART, Curve, curve_of
from errands.errors import ErrandsError
from errands.kernels import fingerprint
from errands.learners import make_learner
from errands.learners.base import Learner
from errands.learners.presets import as_document, config_of
from errands.paper.paper import Cell, Method
from errands.runs.cost import cost
from errands.runs.files import digest, write_file
from errands.runs.request import prepare
from errands.runs.run import best_length
from errands.tables import Evaluation
from errands.tasks.catalogue import load
from errands.tasks.task import Task

BUDGETS = 9
"""How many budgets, each half of the next, a method is run for that is evaluated only at its end."""


@dataclass(frozen=True)
class Trained:
    """One seed: its evaluations and the seconds that training took, evaluations and compilation left out."""

    evaluations: tuple[Evaluation, ...]
    seconds: float
    steps: int


@dataclass(frozen=True)
class Measured:
    """All seeds of a cell, or the error that they ended in."""

    cell: Cell
    seeds: tuple[Trained, ...]
    optimum: float | None
    error: str = ""

    @property
    def curve(self) -> Curve:
        """The learning curve of the seeds."""
        method, rows = self.cell.method, [s.evaluations for s in self.seeds]
        return curve_of(method.name, self.cell.task, rows, self.optimum, method.learner in APART)

    @property
    def per_million(self) -> list[float]:
        """Seconds per million training steps, by seed."""
        return [s.seconds / s.steps * 1e6 for s in self.seeds]


def measure_all(cells: Iterable[Cell], folder: Path, workers: int, told: Callable[[str], None]) -> list[Measured]:
    """Measure cells in threads (compiled loops hold no lock); those that the folder already has are read from there."""
    wanted = list(cells)
    found = {cell: known for cell in wanted if (known := stored(folder, cell)) is not None}
    rest = [cell for cell in wanted if cell not in found]
    warm(rest)
    with ThreadPoolExecutor(workers) as pool:
        futures = {pool.submit(measure, cell): cell for cell in rest}
        try:
            for count, future in enumerate(as_completed(futures), 1):
                cell = futures[future]
                found[cell] = future.result()
                _write(folder, found[cell])
                told(f"[{count}/{len(rest)}] {cell.name}: {_said(found[cell])}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [found[cell] for cell in wanted]


def forecast(cell: Cell) -> float:
    """The seconds of one core that a cell will probably take, from a short piece of it."""
    task = _loaded(cell.task)
    method = cell.method
    asked = prepare(task, method.learner, method.machine, cell.preset, (), cell.steps, range(cell.seeds), git={})
    return cell.seeds * cost(asked, task).seconds


def measure(cell: Cell) -> Measured:
    """Train every seed of a cell."""
    task, best = _solved(cell.task)
    try:
        return Measured(cell, tuple(_seed(cell, task, seed) for seed in range(cell.seeds)), best)
    except (ErrandsError, MemoryError) as fault:
        return Measured(cell, (), best, f"{fault}" or type(fault).__name__)


@lru_cache(maxsize=64)
def _loaded(name: str) -> Task:
    return load(name)


@lru_cache(maxsize=64)
def _solved(name: str) -> tuple[Task, float | None]:
    task = _loaded(name)
    best = best_length(task)
    return task, best.length if best else None


def _seed(cell: Cell, task: Task, seed: int) -> Trained:
    def made() -> Learner:
        return make_learner(task, cell.method.learner, seed, cell.method.machine, None, cell.preset)

    evaluations, seconds, learner = list[Evaluation](), 0.0, made()
    if type(learner).train is not Learner.train:
        return _budgets(made, cell.steps)
    for evaluation, took in timed(learner, cell.steps):
        evaluations.append(evaluation)
        seconds += took
    return Trained(tuple(evaluations), seconds, learner.step)


def _budgets(made: Callable[[], Learner], steps: int) -> Trained:
    """A method that is evaluated only when it ends: one complete run for each of some budgets; the last is timed."""
    evaluations, took = list[Evaluation](), 0.0
    for budget in sorted({max(1, steps // 2**k) for k in range(BUDGETS)}):
        learner, began = made(), time.thread_time()
        last = list(learner.train(budget))[-1]
        took = time.thread_time() - began
        evaluations.append(replace(last, step=budget))
    return Trained(tuple(evaluations), took, steps)


def timed(learner: Learner, steps: int) -> Iterator[tuple[Evaluation, float]]:
    """Learner.train, with the seconds of this thread that each stretch of training took."""
    every = learner.config.eval_every
    while learner.step < steps:
        began = time.thread_time()
        learner.advance(min((learner.step // every + 1) * every, steps) - learner.step)
        took = time.thread_time() - began
        yield learner.evaluate(), took


def warm(cells: Iterable[Cell]) -> None:
    """Compile what some cells need before any clock runs."""
    for method, family in dict.fromkeys((c.method, c.task.split("-")[0]) for c in cells):
        _warm(method, family)


@lru_cache(maxsize=256)
def _warm(method: Method, family: str) -> None:
    learner = make_learner(load(f"{family}-2"), method.learner, 0, method.machine)
    learner.advance(20)
    learner.evaluate()


def _said(measured: Measured) -> str:
    if measured.error:
        return measured.error
    good = sum(s.evaluations[-1].success for s in measured.seeds)
    last = sorted(s.evaluations[-1].episode_length for s in measured.seeds)
    middle = last[len(last) // 2]
    return f"{good} of {len(measured.seeds)} succeed, middle length {middle}, optimum {measured.optimum:g}"


def _mark(cell: Cell) -> str:
    """What a stored cell must have been made of: task, settings, steps, seeds and kernels."""
    task = _loaded(cell.task)
    config = as_document(config_of(cell.method.learner, cell.preset, task))
    asked: dict[str, Any] = {**asdict(cell), "config": config, "text": task.to_toml(), "kernels": fingerprint()}
    return digest(json.dumps(asked, sort_keys=True).encode())


def _path(folder: Path, cell: Cell) -> Path:
    return folder / f"{cell.name.replace(' ', '_')}.json"


def _write(folder: Path, measured: Measured) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "seconds": s.seconds,
            "steps": [e.step for e in s.evaluations],
            "lengths": [e.episode_length if e.success else -e.episode_length for e in s.evaluations],
        }
        for s in measured.seeds
    ]
    kept = {"mark": _mark(measured.cell), "optimum": measured.optimum, "error": measured.error, "seeds": rows}
    write_file(_path(folder, measured.cell), json.dumps(kept, separators=(",", ":")).encode())


def stored(folder: Path, cell: Cell) -> Measured | None:
    """A stored cell; None where there is none or it was made of something else."""
    try:
        kept = json.loads(_path(folder, cell).read_bytes())
        if kept["mark"] != _mark(cell):
            return None
        seeds = tuple(_trained(row) for row in kept["seeds"])
    except (OSError, ValueError, KeyError, TypeError, ErrandsError):
        return None
    return Measured(cell, seeds, kept["optimum"], kept["error"])


def _trained(row: dict[str, Any]) -> Trained:
    """A stored seed; the length of a failed episode is kept below zero."""
    pairs = zip(row["steps"], row["lengths"], strict=True)
    rows = tuple(Evaluation(step, abs(n), float(n > 0), n > 0) for step, n in pairs)
    return Trained(rows, row["seconds"], rows[-1].step)
