"""Thousands of damaged checkpoints of deep learners and of DiRL with networks: refused in a sentence, or taken and alive.

    python benchmarks/deep_fuzz.py [COUNT] [CASE...]        (COUNT damages of each case, drawn from all of them)

A damage drops, retypes, reshapes or empties an array, puts values at and beyond every edge into it, or tears the JSON of
saved environments. What is refused must be a StoreError of one line; what is taken is trained on and evaluated.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from errands.errors import StoreError
from errands.learners.base import Learner, Saved
from errands.learners.dirl.deep import DeepDiRL
from errands.learners.engines.deep.learner import DeepLearner
from errands.learners.presets import deep_preset
from errands.tasks import Task, load

sys.path.append(str(Path(__file__).parents[1] / "tests" / "learners" / "tabular"))
from test_saved import damaged

SMALL: dict[str, Any] = {"width": 4, "depth": 1, "batch": 2, "capacity": 60, "warmup": 5, "platform": "cpu"}
SIDES = {"left": {"index": 0, "below": -0.1}, "right": {"index": 0, "above": 0.1}}


def deep(task: Task, learner: str, **more: Any) -> Callable[[], Learner]:
    """How a small deep learner is made."""
    if learner.startswith("qcorm") and learner != "qcorm-plus":
        more |= {"ground_batch": 2}
    config = dataclasses.replace(deep_preset(learner, "tuned", task), **SMALL, **more)
    return lambda: DeepLearner(task, config, 0, learner)


def dirl(task: Task) -> Callable[[], Learner]:
    """How a small DiRL with networks is made."""
    config = dataclasses.replace(
        deep_preset("dirl", "tuned", task), **SMALL, edge_steps=120, rollouts=3, edge_limit=20, full_reward=1.0
    )
    return lambda: DeepDiRL(task, config, 0)


def cases() -> dict[str, tuple[Callable[[], Learner], int]]:
    """How each learner is made, and the steps before it is saved."""
    cart = Task.from_env("CartPole-v1", SIDES, "any_order(left, right)", limit=40)
    figure = load("figure-1")
    cheetah = Task.from_toml(load("cheetah-bcd").text.replace('"fixed"', '"fixed"\nlimit = 30'))
    return {
        **{f"figure-1 {name}": (deep(figure, name), 80) for name in ("qrm", "crm", "qcorm", "qcorm-0", "qcorm-plus")},
        "figure-1 hrm": (deep(figure, "hrm", controller_capacity=6), 80),
        "water-2 crm": (deep(load("water-2"), "crm"), 80),
        "cheetah-bcd qcorm": (deep(cheetah, "qcorm"), 80),
        "CartPole qcorm, 4 environments": (deep(cart, "qcorm", envs=4, eval_every=400, standardise=True), 80),
        "figure-1 dirl": (dirl(figure), 2_000),
        "CartPole dirl": (dirl(cart), 2_000),
    }


def torn(saved: Saved, dice: np.random.Generator) -> Iterator[Saved]:
    """The JSON of saved environments with parts of it dropped, doubled or replaced."""
    if "environments" not in saved:
        return
    document = json.loads(bytes(saved["environments"]))
    values = [None, -1, 1e30, "x", [], {}, [[]], {"a": 1}, True]

    def spoilt(part: Any) -> Any:
        if isinstance(part, dict | list) and part and dice.random() < 0.85:
            keys = list(part) if isinstance(part, dict) else range(len(part))
            key = keys[dice.integers(len(keys))]
            copy = part.copy()
            copy[key] = spoilt(part[key])
            return copy
        return values[dice.integers(len(values))]

    for _ in range(200):
        text = json.dumps(spoilt(document)).encode()
        cut = text[: dice.integers(len(text))] if dice.random() < 0.2 else text
        yield saved | {"environments": np.frombuffer(cut, np.uint8)[None]}


def fuzz(make: Callable[[], Learner], steps: int, count: int) -> dict[str, int]:
    """Restore damaged learners and train on."""
    dice = np.random.default_rng(0)
    trained = make()
    trained.advance(steps)
    saved = trained.save()
    every = [*damaged(saved, dice), *torn(saved, dice)]
    tally = {"refused": 0, "taken": 0, "ways": len(every)}
    ours = make()
    for i in dice.permutation(len(every))[:count]:
        try:
            ours.restore(every[i])
        except StoreError as refusal:
            if "\n" in str(refusal):
                raise AssertionError(f"a refusal of several lines: {refusal}") from None
            tally["refused"] += 1
            continue
        ours.advance(40)
        ours.evaluate()
        tally["taken"] += 1
    return tally


def main() -> None:
    """Damage every case, or those named."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    for name, (make, steps) in cases().items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        begun = time.perf_counter()
        tally = fuzz(make, steps, count)
        spent = time.perf_counter() - begun
        told = f"{tally['refused']:,} refused, {tally['taken']:,} taken and alive"
        print(f"{name}: {told} (of {tally['ways']:,} ways; {spent:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
