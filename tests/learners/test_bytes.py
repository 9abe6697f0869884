"""Every learner on every kind of world under every preset does to the byte what it did when the table was made.

`bytes.json` beside this file holds checksums for each run of `RUNS`; `python tests/learners/test_bytes.py [scout ...]` makes it
anew, or the rows whose names hold one of these words.
What is compared depends on no name and no layout: evaluations as exact floats, the arrays that were learnt (value tables,
networks, models) as a set of checksums, and the state of the random generator.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest

from errands.learners import make_learner, method_of
from errands.learners.base import Learner
from errands.tasks import Task, load
from errands.tasks.phrases import sequence
from errands.worlds import GymnasiumWorld

STORED = Path(__file__).parent / "bytes.json"
ENV = '[world]\nkind = "gymnasium"\nid = "{id}"\nfeatures = {{ left = {left}, right = {right} }}\nlimit = 40\n'
SMALL = {"width": 16, "depth": 2, "batch": 8, "capacity": 400, "warmup": 40, "platform": "cpu"}


class BareLake(gym.Env[Any, Any]):
    """FrozenLake without the table that it publishes."""

    def __init__(self, is_slippery: bool, render_mode: str | None = None) -> None:
        self.lake = gym.make("FrozenLake-v1", is_slippery=is_slippery, render_mode=render_mode)
        self.observation_space, self.action_space = self.lake.observation_space, self.lake.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return self.lake.reset(seed=seed)

    def step(self, action: Any) -> Any:
        return self.lake.step(action)


if "errands-tests/BareLake-v0" not in gym.registry:
    gym.register("errands-tests/BareLake-v0", BareLake, max_episode_steps=100)


class Run(NamedTuple):
    """One row of the table."""

    task: str
    learner: str
    preset: str = "tuned"
    machine: str | None = None
    steps: int = 1_200
    heavy: bool = False

    @property
    def id(self) -> str:
        return "/".join(filter(None, (self.task, self.learner, self.machine, self.preset)))


TABULAR = ("qrm", "crm", "hrm", "qcorm", "qcorm-0", "qcorm-plus", "dirl", "scout")
DEEP = TABULAR[:-1]
RUNS = [
    *(Run(task, learner) for task in ("delivery-2", "office-2", "visit-4", "slippery", "lake") for learner in TABULAR),
    *(Run("bare-lake", learner, steps=600) for learner in TABULAR if learner != "dirl"),
    *(Run("slippery", learner, machine="boolean") for learner in TABULAR[:3]),
    *(Run("office-2", learner, "paper") for learner in TABULAR),
    *(Run("water-2", learner, steps=240) for learner in DEEP),
    *(Run("water-2", learner, "paper", steps=240, heavy=True) for learner in DEEP),
    *(Run("cheetah-bc", learner, steps=120, heavy=True) for learner in ("crm", "hrm", "qcorm", "qcorm-0", "qcorm-plus", "dirl")),
    *(Run("cheetah-bc", learner, "paper", steps=120, heavy=True) for learner in ("qrm", "qcorm", "dirl")),
    *(Run("cart-pole", learner, steps=120, heavy=True) for learner in ("crm", "hrm", "qcorm", "qcorm-plus", "dirl")),
    *(Run("hill", learner, steps=120, heavy=True) for learner in ("qrm", "qcorm", "qcorm-plus", "dirl")),
]


def task_of(name: str) -> Task:
    if name == "slippery":
        return Task.from_toml(load("figure-1").to_toml().replace("[world]", "[world]\nslip = 0.2"))
    if name in ("lake", "bare-lake"):
        given = "FrozenLake-v1" if name == "lake" else "errands-tests/BareLake-v0"
        world = GymnasiumWorld(given, {"corner": [3], "goal": [15]}, {"is_slippery": True})
        return Task("lake", world, sequence("corner", "goal"))
    if name == "crossing":  # the four corners of a large lake, which the machine may visit in any order
        world = '[world]\nkind = "gymnasium"\nid = "FrozenLake8x8-v1"\nfeatures = { a = [7], b = [21], c = [40], d = [63] }\n'
        return Task.from_toml(f'name = "crossing"\n{world}[machine]\nphrase = "any_order(a, b, c, d)"\n')
    sides = {
        "cart-pole": ("CartPole-v1", "{ index = 0, below = -0.02 }", "{ index = 0, above = 0.02 }"),
        "hill": ("MountainCarContinuous-v0", "{ index = 0, below = -0.52 }", "{ index = 0, above = -0.48 }"),
    }
    if name in sides:
        env, left, right = sides[name]
        world = ENV.format(id=env, left=left, right=right)
        return Task.from_toml(f'name = "{name}"\n{world}[machine]\nphrase = "any_order(left, right)"\n')
    return load(name)


def checksums(run: Run) -> dict[str, str]:
    """What a run did: its evaluations, what it learnt, and where its random numbers stand."""
    task, settings = task_of(run.task), dict[str, Any]()
    if task.finite is None and run.task != "bare-lake":
        settings = dict(SMALL)
    if run.learner == "dirl":  # several edges in so few steps
        settings |= {"edge_steps": run.steps // 8, "rollouts": 3, "edge_limit": 10}
    learner = make_learner(task, run.learner, 3, run.machine, preset=run.preset, settings=settings)
    shown = []
    for _ in range(4):
        learner.advance(run.steps // 4)
        seen = learner.evaluate()
        shown.append([seen.step, *(float(x).hex() for x in (seen.episode_length, seen.total_reward, seen.success))])
    # Positions, counts and texts are told by what comes after them; an array whose numbers are all alike holds nothing.
    parts = (np.ascontiguousarray(part) for part in learner.save().values() if part.dtype != np.uint8 and part.size >= 16)
    learnt = sorted({hashlib.sha256(part.tobytes()).hexdigest() for part in parts if (part != part.flat[0]).any()})
    # The networks of deep learners draw from keys, which are compared through all that came of them.
    state = learner.rng.bit_generator.state
    each = {"evaluations": shown, "learnt": learnt, "random": state}
    return {name: hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:16] for name, part in each.items()}


def everything(learner: Learner) -> str:
    """A hash of all that a learner would save."""
    found = hashlib.sha256()
    for name, array in sorted(learner.save().items()):
        found.update(name.encode() + str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def made_on() -> dict[str, str]:
    """What the last bits of networks depend on."""
    import jaxlib

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    return {"jaxlib": jaxlib.__version__, "processor": processor, "plain": os.environ.get("JAX_DISABLE_MOST_OPTIMIZATIONS", "0")}


def marked(run: Run) -> Any:
    return pytest.param(run, id=run.id, marks=[pytest.mark.slow] if run.heavy else [])


@pytest.mark.parametrize("run", [marked(run) for run in RUNS])
def test_a_run_does_what_it_did(run: Run) -> None:
    stored = json.loads(STORED.read_text())
    if run.task.startswith(("water", "cheetah", "cart", "hill")):
        if find_spec("jax") is None or (run.task.startswith("cheetah") and find_spec("mujoco") is None):
            pytest.skip("JAX or MuJoCo is not installed")
        if made_on() != stored["made on"]:
            pytest.skip(f"networks were compared on {stored['made on']}, whose last bits differ from those here")
    assert checksums(run) == stored["runs"][run.id]


def test_the_table_has_every_run_once() -> None:
    names = [run.id for run in RUNS]
    assert len(set(names)) == len(names)
    assert set(json.loads(STORED.read_text())["runs"]) == set(names)


COPIES = {"envs": 8, "rollout": 5, "width": 8, "minibatches": 2, "eval_every": 200, "cut": 50}
CUTS = [
    *((task, learner, {}, 1_060) for task in ("slippery", "lake") for learner in TABULAR),
    *(("bare-lake", learner, {}, 1_060) for learner in TABULAR if learner != "dirl"),
    *(("office-2", "scout", {}, 1_060), ("crossing", "scout", {}, 1_060), ("crossing", "scout", {"host": True}, 1_060)),
    *(("water-2", learner, SMALL, 260) for learner in DEEP),
    *(("water-2", learner, COPIES, 400) for learner in ("pqn", "ppo")),
    ("cart-pole", "crm", SMALL, 220),
    ("cart-pole", "qcorm", SMALL | {"envs": 2, "learn_every": 2, "eval_every": 100}, 220),
]
"""Task, learner, settings and steps."""


@pytest.mark.parametrize(("task", "learner", "settings", "steps"), CUTS)
def test_what_is_learnt_does_not_depend_on_when_it_is_looked_at(
    task: str, learner: str, settings: dict[str, Any], steps: int
) -> None:
    """In pieces of 1, 50 and 1,000 steps (or the least that can be taken) with evaluations in between, and at once.

    DiRL plans for the steps that it is given, so it is looked at after each edge instead.
    """
    if "width" in settings:
        pytest.importorskip("jax")
    apart = method_of(learner).evaluated_at_end
    if apart:
        settings = settings | {"edge_steps": steps // 8, "rollouts": 3, "edge_limit": 10}
    seen = set()
    for piece in (1, steps) if apart else (1, 50, 1_000, steps):
        trained = make_learner(task_of(task), learner, 1, settings=settings)
        if apart:
            for _ in trained.explore(steps):  # type: ignore[attr-defined]
                if piece == 1:
                    trained.evaluate()
        while not apart and trained.step < steps and not trained.finished:
            together = trained.config.step_multiple
            trained.advance(min(-(-piece // together) * together, steps - trained.step))
            if piece < steps and (piece > 1 or trained.step % 10 == 0):
                trained.evaluate()
        seen.add(everything(trained))
    assert len(seen) == 1


if __name__ == "__main__":
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # as in the tests
    rows = json.loads(STORED.read_text())["runs"] if len(sys.argv) > 1 else {}
    for row in (row for row in RUNS if len(sys.argv) == 1 or any(word in row.id for word in sys.argv[1:])):
        rows[row.id] = checksums(row)
        sys.stdout.write(f"{row.id}\n")
        sys.stdout.flush()
    STORED.write_text(json.dumps({"made on": made_on(), "runs": rows}, indent=1) + "\n")
