"""Saved Scouts and DiRLs are a stranger's: every array damaged in many ways is refused in a sentence or harmless."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from errands.errors import StoreError
from errands.learners import LEARNERS, make_learner
from errands.learners.base import Learner
from errands.machines.stepping import Stepper
from errands.machines.unfolding import unfold_agenda
from errands.oracle.episode import walk
from errands.tasks import Task, load

LAKE = Task.from_toml(
    'name = "lake"\n[world]\nkind = "gymnasium"\nid = "FrozenLake-v1"\nkwargs = { is_slippery = true }\n'
    'features = { corner = [3], goal = [15] }\n[machine]\nphrase = "sequence(corner, goal)"\n'
)
MANY = Task.from_toml(
    'name = "many"\n[world]\nkind = "visit"\nplaces = 70\nsize = 10\n'
    f'[machine]\nphrase = "any_order({", ".join(f"v{i + 1}" for i in range(70))})"\n'
)
CASES: dict[str, tuple[Callable[[], Learner], int]] = {
    "certain": (lambda: make_learner(load("office-2"), "scout", 0), 150),
    "random": (lambda: make_learner(LAKE, "scout", 0), 250),
    "host": (lambda: make_learner(LAKE, "scout", 0, settings={"host": True}), 120),
    "many": (lambda: make_learner(MANY, "scout", 0, settings={"kicks": 10}), 200),
    "dirl": (lambda: make_learner(load("figure-1"), "dirl", 0, settings={"edge_steps": 200, "rollouts": 5}), 1_500),
}


def damages() -> ModuleType:
    """The fuzzer of the tabular learners."""
    path = Path(__file__).parent / "tabular" / "test_saved.py"
    spec = importlib.util.spec_from_file_location("tabular_saved", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fuzz(name: str, seed: int, count: int) -> dict[str, int]:
    """Restore damaged learners and train on: how many were refused, and how many taken and alive."""
    make, steps = CASES[name]
    trained, dice = make(), np.random.default_rng(seed)
    trained.advance(steps)
    every = list(damages().damaged(trained.save(), dice))
    tally = {"refused": 0, "taken": 0}
    for i in dice.permutation(len(every))[:count]:
        ours = make()
        try:
            ours.restore(every[i])
        except StoreError as refusal:
            tally["refused"] += "\n" not in str(refusal)
            continue
        ours.advance(60)
        ours.evaluate()
        tally["taken"] += 1
    return tally


PROGRAM = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("saved", sys.argv[1])
saved = importlib.util.module_from_spec(spec)
spec.loader.exec_module(saved)
print(json.dumps({name: saved.fuzz(name, 0, int(sys.argv[2])) for name in sys.argv[3].split(",")}))
"""


def in_a_process(count: int, *names: str, **variables: str) -> dict[str, dict[str, int]]:
    """The fuzzer in a process of its own, which a signal may end."""
    command = [sys.executable, "-c", PROGRAM, __file__, str(count), ",".join(names)]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    tally: dict[str, dict[str, int]] = json.loads(done.stdout)
    return tally


@pytest.mark.parametrize("name", CASES)
def test_save_writes_what_the_form_describes_and_restore_takes_it(name: str) -> None:
    make, steps = CASES[name]
    first, second = make(), make()
    first.advance(steps)
    saved = first.save()
    assert set(saved) == set(first.form())
    assert all(array.about for array in first.form().values())
    second.restore(saved)
    assert {k: x.tobytes() for k, x in second.save().items()} == {k: x.tobytes() for k, x in saved.items()}
    first.advance(80)
    second.advance(80)
    assert {k: x.tobytes() for k, x in first.save().items()} == {k: x.tobytes() for k, x in second.save().items()}


def test_damaged_arrays_are_refused_or_harmless() -> None:
    """`make bounds` asks the same with every index checked by the compiler, benchmarks/fuzz_saved.py thousands of times."""
    for tally in in_a_process(60, *CASES).values():
        assert sum(tally.values()) == 60
        assert tally["refused"] > 30


def test_parts_of_a_saved_scout_that_contradict_each_other_are_refused() -> None:
    make, steps = CASES["certain"]
    scout = make()
    scout.advance(steps)
    saved = scout.save()
    notes = json.loads(saved["told"].tobytes())
    other = {"proof": None, "labels": [["lava"], *notes["labels"][1:]]}
    for change, said in (
        ({"known.tried": saved["known.tried"] + 1}, "does not sum to 'known.tried'"),
        ({"agent.mask": np.zeros(1, np.uint64)}, "no state of the agenda"),
        ({"told": np.frombuffer(json.dumps(other).encode(), np.uint8)}, "other labels than this world"),
        ({"told": np.frombuffer(b"[]", np.uint8)}, "holds no proof and labels"),
        ({"world": np.ones(3, np.uint8)}, "'world' is no state of this world"),
    ):
        with pytest.raises(StoreError, match=said):
            make().restore(saved | change)

OF_ONE_MAP = sorted(name for name, method in LEARNERS.items() if not (method.tabular and method.tabular.networks))


@pytest.mark.parametrize("name", OF_ONE_MAP)
@pytest.mark.parametrize("task", ["figure-1", "delivery-2"])
def test_what_acting_needs_is_enough_to_act_and_less_than_training_needs(task: str, name: str) -> None:
    """Every situation of the task, in a learner that has not trained itself."""
    loaded = load(task)
    trained = make_learner(loaded, name)
    trained.advance(3_000)
    arrays = {key: array.copy() for key, array in trained.acting().items()}
    other = make_learner(loaded, name)
    other.act_by(arrays)
    policy, again = trained.policy, other.policy
    cells = range(loaded.finite.states)
    situations = [(cell, state) for state in unfold_agenda(loaded.machine).states for cell in cells]
    for cell, state in situations:
        assert policy.act(cell, state, None)[0] == again.act(cell, state, None)[0]
    assert other.steps_to_go == trained.steps_to_go
    assert walk(again, loaded) == walk(policy, loaded)
    trained.advance(100)  # what was handed out is a view: training went on unharmed
    assert set(arrays) <= set(trained.save())


def test_a_network_acts_without_its_replay_buffer_and_its_optimiser() -> None:
    """The scale of what is observed is part of the policy; so is what is known of steps to go."""
    small = {"width": 16, "depth": 1, "capacity": 500, "warmup": 20, "platform": "cpu", "standardise": True}
    task = Task.from_env("Pendulum-v1", {"up": {"index": 0, "above": 0.9}}, "up", limit=50)
    trained, other = (make_learner(task, "qcorm", settings=small) for _ in range(2))
    trained.advance(150)
    arrays = trained.acting()
    assert {"buffer", "environments", "step"}.isdisjoint(arrays)
    assert 3 * sum(array.nbytes for array in arrays.values()) < sum(array.nbytes for array in trained.save().values())
    other.act_by(arrays)
    first, second, state, dice = trained.policy, other.policy, Stepper(task.machine).start, np.random.default_rng(0)
    for _ in range(20):
        seen = dice.normal(size=3).astype(np.float32)
        np.testing.assert_array_equal(first.act(seen, state, None)[0], second.act(seen, state, None)[0])
    assert other.steps_to_go == trained.steps_to_go
