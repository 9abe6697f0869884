"""QCoRM+ repeats itself: in pieces or at once, resumed or not, compiled or not; with tables or one outcome at a time."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands.learners.qcorm_plus.settings import QCoRMPlusConfig
from errands.learners.qcorm_plus.tabular import QCoRMPlus
from errands.oracle.certificate import certificate
from errands.oracle.optimum import optimum
from errands.tasks import Task, load

CASES = ["figure-1", "corridor", "slippery"]
LAKE = '[world]\nkind = "gymnasium"\nid = "{id}"\nkwargs = {{ is_slippery = {slip} }}\nfeatures = {{ key = [3], goal = [15] }}\n'


def learner(case: str, seed: int = 3) -> QCoRMPlus:
    config = QCoRMPlusConfig(recent=1 << 8, replays=4)
    if case == "slippery":
        return QCoRMPlus(Task.from_toml(load("figure-1").to_toml().replace("[world]", "[world]\nslip = 0.2")), config, seed)
    return QCoRMPlus(load(case), config, seed)


def digest(of: QCoRMPlus) -> str:
    """A hash of everything that the learner would save."""
    found = hashlib.sha256()
    for name, array in sorted(of.save().items()):
        found.update(name.encode() + str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


@pytest.mark.parametrize("case", CASES)
def test_the_same_seed_gives_the_same_bytes_however_it_is_cut(case: str) -> None:
    whole, cut = learner(case), learner(case)
    whole.advance(2_000)
    for piece in (1, 7, 992, 1_000):
        cut.advance(piece)
        cut.evaluate()
    assert digest(whole) == digest(cut)


@pytest.mark.parametrize("case", CASES)
def test_a_resumed_run_equals_one_that_was_never_interrupted(case: str) -> None:
    whole, first, second = learner(case), learner(case), learner(case)
    whole.advance(2_500)
    first.advance(1_234)
    second.restore(first.save())
    second.advance(2_500 - 1_234)
    assert digest(second) == digest(whole)
    assert second.evaluate() == whole.evaluate()


def test_a_policy_is_a_value_that_training_does_not_change() -> None:
    trained = learner("corridor")
    trained.advance(60)
    early = trained.policy
    before = [early.act(s, (0, 3), None) for s in range(15)]
    fresh = learner("corridor")
    fresh.advance(60)
    trained.advance(5_000)
    assert before == [early.act(s, (0, 3), None) for s in range(15)]
    assert all(fresh.policy.act(s, (1, 3), None) == early.act(s, (1, 3), None) for s in range(15))


def test_compiled_and_plain_python_give_the_same_bytes() -> None:
    """The same script with NUMBA_DISABLE_JIT off and on."""
    script = (
        "import hashlib, numpy as np, warnings\n"
        "warnings.simplefilter('error', RuntimeWarning)\n"
        "from errands.learners.qcorm_plus.tabular import QCoRMPlus\n"
        "from errands.learners.qcorm_plus.settings import QCoRMPlusConfig\n"
        "from errands.tasks import Task, load\n"
        "text = load('figure-1').to_toml().replace('[world]', '[world]\\nslip = 0.2')\n"
        "few = QCoRMPlusConfig(recent=256, replays=2, backwards=64, passes=2, eval_every=400)\n"
        "for task in (load('corridor'), Task.from_toml(text)):\n"
        "    learner = QCoRMPlus(task, few, 2)\n"
        "    found = hashlib.sha256(repr(list(learner.train(400))).encode())\n"
        "    for key, array in sorted(learner.save().items()):\n"
        "        found.update(key.encode() + np.ascontiguousarray(array).tobytes())\n"
        "    print(task.name, found.hexdigest())\n"
    )
    said = []
    for disable in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disable}
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        said.append(done.stdout)
    assert said[0] == said[1]
    assert len(said[0].splitlines()) == 2


class Bare(gym.Env[Any, Any]):
    """FrozenLake without the table that it publishes."""

    def __init__(self, is_slippery: bool, render_mode: str | None = None) -> None:
        self.lake = gym.make("FrozenLake-v1", is_slippery=is_slippery, render_mode=render_mode)
        self.observation_space, self.action_space = self.lake.observation_space, self.lake.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return self.lake.reset(seed=seed)

    def step(self, action: Any) -> Any:
        return self.lake.step(action)


@pytest.fixture
def bare() -> Iterator[str]:
    gym.register("Bare-v0", Bare, max_episode_steps=100)
    errands.allow(__name__.partition(".")[0])  # which defines it
    yield "Bare-v0"
    del gym.registry["Bare-v0"]


def lake(name: str, phrase: str, slip: bool = False) -> Task:
    world = LAKE.format(id=name, slip=str(slip).lower())
    return Task.from_toml(f'name = "lake"\n{world}[machine]\nphrase = "{phrase}"\n')


def test_a_frozen_lake_is_crossed_with_the_key_in_8_steps() -> None:
    """(0,0) -> (0,3) -> (3,3) around the holes: 3 + 5 steps."""
    task = lake("FrozenLake-v1", "sequence(key, goal)")
    trained = QCoRMPlus(task, QCoRMPlusConfig(), 0)
    trained.advance(3_000)
    assert certificate(trained.policy, task).length == 8


def test_a_slippery_lake_is_crossed_as_well_as_can_be() -> None:
    task = lake("FrozenLake-v1", "goal", slip=True)
    trained = QCoRMPlus(task, QCoRMPlusConfig(), 0)
    trained.advance(100_000)
    best = optimum(task, orders=False)
    assert best.discounted is not None
    assert certificate(trained.policy, task, best=best).discounted >= 0.98 * best.discounted


def test_taxi_visits_its_four_corners_from_every_start_by_the_shortest_ways() -> None:
    corners = {"r": (0, 0), "g": (0, 4), "y": (4, 0), "b": (4, 3)}
    cells = {n: [((r * 5 + c) * 5 + p) * 4 + d for p in range(5) for d in range(4)] for n, (r, c) in corners.items()}
    features = ", ".join(f"{name} = {states}" for name, states in cells.items())
    world = f'[world]\nkind = "gymnasium"\nid = "Taxi-v4"\nfeatures = {{ {features} }}\n'
    task = Task.from_toml(f'name = "taxi"\n{world}[machine]\nphrase = "any_order(r, g, y, b)"\n')
    trained = QCoRMPlus(task, QCoRMPlusConfig(), 0)
    trained.advance(100_000)
    best = optimum(task, orders=False)
    assert best.length is not None
    assert certificate(trained.policy, task, best=best).length == pytest.approx(best.length)


def test_an_environment_without_tables_is_learnt_step_by_step(bare: str) -> None:
    task = lake(bare, "sequence(key, goal)")
    assert task.finite is None
    trained = QCoRMPlus(task, QCoRMPlusConfig(recent=256), 0)
    trained.advance(1_500)
    resumed = QCoRMPlus(task, QCoRMPlusConfig(recent=256), 0)
    resumed.restore(trained.save())
    trained.advance(500)
    resumed.advance(500)
    assert (resumed.evaluate().episode_length, resumed.evaluate().success) == (8, True)
    assert resumed.steps_to_go["0{}key"] == 8
    # The lake inside `Bare` goes on where it was: once it began anew, and the world was then taken for a random one.
    mine = trained.save()
    assert all(np.array_equal(array, mine[key]) for key, array in resumed.save().items())
