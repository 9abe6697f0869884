"""Checkpoints are a stranger's: what a deep learner saves has its form, and every crafted array is refused in a sentence."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

import numpy as np
import pytest

from errands.errors import StoreError
from errands.learners.base import SavedArray, checked
from errands.learners.engines.deep.learner import DeepLearner
from errands.learners.presets import deep_preset
from errands.tasks import load
from errands.worlds.saving import from_json, to_json

SMALL = {"width": 4, "depth": 1, "batch": 2, "capacity": 20, "warmup": 5}


@pytest.fixture(scope="module", params=["figure-1 qcorm", "figure-1 hrm", "water-2 crm", "cheetah-bcd qcorm"])
def learner(request) -> DeepLearner:
    name, method = request.param.split()
    task = load(name)
    more = (
        {"ground_batch": 2}
        if method == "qcorm"
        else {"controller_capacity": 6}
        if method == "hrm"
        else {}
    )
    trained = DeepLearner(task, dataclasses.replace(deep_preset(method, "tuned", task), **SMALL, **more), 0, method)
    trained.advance(12)
    return trained


def crafted(array: np.ndarray, wanted: SavedArray) -> Iterator[np.ndarray]:
    """Arrays of another type or shape, and those beyond the bounds."""
    yield array.astype("complex64")
    yield array[None]
    if array.ndim and array.dtype != np.uint8:
        yield array[..., :0]
        yield np.concatenate([array, array], axis=-1)
    if array.size and array.dtype.kind == "f":
        for bad in (np.nan, -np.inf):
            yield np.full_like(array, bad)
        if wanted.high is not None and np.max(wanted.high) < 1e30:
            yield np.full_like(array, np.max(wanted.high) + 1)
    if array.size and array.dtype.kind == "i":
        if wanted.low is not None:
            yield np.full_like(array, np.min(wanted.low) - 1)
        if wanted.high is not None and np.max(wanted.high) < np.iinfo(array.dtype).max:
            yield np.full_like(array, np.max(wanted.high) + 1)


def test_what_is_saved_has_the_form_that_is_described(learner):
    saved, form = learner.save(), learner.form()
    assert set(saved) == set(form)
    checked(saved, form)
    assert all(array.about for array in form.values())


def test_every_crafted_array_is_refused_and_nothing_of_it_is_kept(learner):
    saved, form = learner.save(), learner.form()
    count = 0
    for name, wanted in form.items():
        for array in crafted(saved[name], wanted):
            with pytest.raises(StoreError):
                learner.restore({**saved, name: array})
            count += 1
        with pytest.raises(StoreError, match="missing"):
            learner.restore({key: array for key, array in saved.items() if key != name})
    assert count > 100
    with pytest.raises(StoreError, match="a saved array is called 'more'"):
        learner.restore({**saved, "more": np.zeros(1)})
    if "environments" in form:
        for text in (
            b"",
            b"{",
            b"[]",
            b"[[3, 0, 0, {}]]",
            b"[[{}, 99, 0, {}]]",
        ):
            with pytest.raises(StoreError, match="the saved environments cannot be"):
                learner.restore({**saved, "environments": np.frombuffer(text, np.uint8)[None]})
        (whole,) = json.loads(bytes(saved["environments"]))
        robot = from_json(whole[0])
        for name, bad in (("origin", []), ("steps", -1), ("physics", [np.nan] * len(robot["physics"]))):
            spoilt = [[to_json({**robot, name: bad}), *whole[1:]]]
            with pytest.raises(StoreError, match="the saved environments cannot be taken back"):
                learner.restore({**saved, "environments": np.frombuffer(json.dumps(spoilt).encode(), np.uint8)[None]})
    learner.restore(saved)
    again = learner.save()
    assert all(again[name].tobytes() == saved[name].tobytes() for name in saved)


def test_a_buffer_with_a_row_too_few_contradicts_its_step(learner):
    saved = learner.save()
    with pytest.raises(StoreError, match="contradict one another: the buffer has a row for every step"):
        learner.restore({**saved, "buffer": saved["buffer"][:-1]})
