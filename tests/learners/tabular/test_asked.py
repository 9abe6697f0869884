"""Worlds without tables: interrupted in the middle of an episode, a run goes on as if nothing had happened."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from errands.learners import make_learner
from errands.learners.engines.tabular import SteppedWorld
from errands.tasks import Task

TAXI = """name = "taxi"
[world]
kind = "gymnasium"
id = "Taxi-v4"
kwargs = { fickle_passenger = true }
features = { red = [0, 1, 2, 3], home = [0, 85, 410, 475] }
limit = 60
[machine]
phrase = "any_order(red, home)"
"""


@pytest.mark.parametrize("name", ["qrm", "crm", "hrm", "qcorm", "qcorm-plus"])
def test_a_run_with_a_fickle_passenger_is_resumed_to_the_byte(name: str) -> None:
    task = Task.from_toml(TAXI)
    assert task.finite is None
    straight = make_learner(task, name)
    assert isinstance(straight.world, SteppedWorld)  # type: ignore[attr-defined]
    straight.advance(700)
    before = straight.save()
    straight.evaluate()
    straight.advance(800)
    resumed = make_learner(task, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resumed.restore({key: array.copy() for key, array in before.items()})
    resumed.advance(800)
    after, wanted = resumed.save(), straight.save()
    assert after.keys() == wanted.keys()
    for key, array in wanted.items():
        assert np.array_equal(after[key], array), key
    assert before["position"][2] > 0, "it was not in the middle of an episode"


def test_an_environment_that_cannot_be_put_back_starts_a_new_episode_and_says_so() -> None:
    learner = make_learner(Task.from_toml(TAXI), "qrm")
    learner.advance(10)
    saved = learner.save() | {"env": np.zeros(0, np.uint8)}
    with pytest.warns(UserWarning, match="starts a new episode, so this run will differ .* cannot be stored"):
        make_learner(Task.from_toml(TAXI), "qrm").restore(saved)
