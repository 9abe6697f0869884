"""A saved learner is a stranger's: its form is described once, and whatever has another form is refused in a sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from errands.errors import StoreError
from errands.learners import make_learner
from errands.learners.base import Learner, Saved, SavedArray, checked
from errands.tasks import load

LEARNERS = ("qrm", "crm", "hrm", "qcorm", "qcorm-plus")
STEPS = 700


def learner(name: str, task: str = "figure-1") -> Learner:
    """A fresh learner with a short memory of recent steps."""
    return make_learner(load(task), name, 0, settings={"recent": 1024} if name == "qcorm-plus" else {})


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("task", ["figure-1", "office-2"])
def test_save_writes_what_the_form_describes_and_restore_takes_it(name: str, task: str) -> None:
    first, second = learner(name, task), learner(name, task)
    first.advance(STEPS)
    saved = first.save()
    assert set(saved) == set(first.form())
    assert all(array.about for array in first.form().values())
    second.restore(saved)
    first.advance(STEPS)
    second.advance(STEPS)
    assert {k: x.tobytes() for k, x in first.save().items()} == {k: x.tobytes() for k, x in second.save().items()}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_long_stretch_is_the_same_as_many_short_ones(name: str) -> None:
    """A compiled loop is called for 50,000 steps at a time; that it ends there asks for nothing."""
    long, short = learner(name), learner(name)
    long.advance(120_000)
    for _ in range(12):
        short.advance(10_000)
    assert {k: x.tobytes() for k, x in long.save().items()} == {k: x.tobytes() for k, x in short.save().items()}


FORM = {
    "q": SavedArray("float64", (2, "n"), "values", 0.0, 1.0),
    "next": SavedArray("int64", ("n",), "places in a row of q", low=-1, into="n"),
}
GOOD = {"q": np.zeros((2, 3)), "next": np.array([-1, 2, 0])}
WRONG: list[tuple[Saved, str]] = [
    ({"q": GOOD["q"]}, "the saved array 'next' is missing; q, next were wanted"),
    (GOOD | {"other": np.zeros(1)}, "a saved array is called 'other'; only q, next were wanted"),
    (GOOD | {"q": np.zeros((2, 3), np.float32)}, r"'q' is float32 \[2, 3\]; float64 \[2, n\] was wanted"),
    (GOOD | {"q": np.zeros((2, 3, 1))}, r"'q' is float64 \[2, 3, 1\]; float64 \[2, n\] was wanted"),
    (GOOD | {"next": np.zeros(4, np.int64)}, r"'next' is int64 \[4\]; int64 \[n\] was wanted"),
    (GOOD | {"next": np.array([0, 3, 0])}, "'next' has values from 0 to 3; -1 to 2 was wanted"),
    (GOOD | {"q": np.full((2, 3), np.nan)}, "'q' has values from nan to nan; 0.0 to 1.0 was wanted"),
]


@pytest.mark.parametrize(("saved", "sentence"), WRONG)
def test_what_has_another_form_is_refused_by_name(saved: Saved, sentence: str) -> None:
    assert checked(dict(GOOD), FORM) == {"n": 3}
    with pytest.raises(StoreError, match=sentence):
        checked(saved, FORM)


def damaged(saved: Saved, dice: np.random.Generator) -> Iterator[Saved]:
    """Every array in turn dropped, retyped, reshaped, emptied, and with single values at and beyond every edge."""
    edges = [-(2**62), -2, -1, 0, 1, 2, 3, 7, 1000, 2**31 - 1, 2**62, np.nan, np.inf, -np.inf, 0.5]
    for name, array in saved.items():
        yield {k: x for k, x in saved.items() if k != name}
        for dtype in (np.int8, np.int32, np.int64, np.uint64, np.float32, np.float64, np.bool_, np.complex128):
            with np.errstate(all="ignore"):
                yield saved | {name: array.astype(dtype)}
        whole = np.atleast_1d(array)
        for shape in (whole[:0], array[None], array.ravel()[:1], np.concatenate([whole, whole]), whole[..., :-1]):
            yield saved | {name: shape.copy()}
        for edge in edges:
            copy = array.copy().reshape(-1)
            if not copy.size:
                continue
            with np.errstate(all="ignore"):
                value = np.array(edge).astype(array.dtype)
            copy[dice.integers(copy.size)] = value
            yield saved | {name: copy.reshape(array.shape)}
            yield saved | {name: np.full_like(array, value)}


def fuzz(name: str, seed: int, count: int) -> dict[str, int]:
    """Restore damaged learners and train on: refused, or taken and alive; an IndexError tells of a hole in the form."""
    trained, dice = learner(name), np.random.default_rng(seed)
    trained.advance(STEPS)
    every = list(damaged(trained.save(), dice))
    tally = {"refused": 0, "taken": 0}
    for i in dice.permutation(len(every))[:count]:
        ours = learner(name)
        try:
            ours.restore(every[i])
        except StoreError as refusal:
            tally["refused"] += "\n" not in str(refusal)
            continue
        ours.advance(300)
        ours.evaluate()
        assert isinstance(ours.order, tuple)
        tally["taken"] += 1
    return tally


PROGRAM = """
import json, sys
sys.path.append(sys.argv[1])
from test_saved import LEARNERS, fuzz
print(json.dumps({name: fuzz(name, 0, int(sys.argv[2])) for name in sys.argv[3].split(",")}))
"""


def in_a_process(count: int, names: tuple[str, ...], **variables: str) -> dict[str, dict[str, int]]:
    """The fuzzer in a process of its own, which a signal may end."""
    command = [sys.executable, "-c", PROGRAM, os.path.dirname(__file__), str(count), ",".join(names)]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    tally: dict[str, dict[str, int]] = json.loads(done.stdout)
    return tally


def test_damaged_arrays_are_refused_or_harmless() -> None:
    """`make bounds` asks the same with every index checked by the compiler, benchmarks/fuzz_saved.py thousands of times."""
    for tally in in_a_process(80, LEARNERS).values():
        assert sum(tally.values()) == 80
        assert tally["refused"] > 30
