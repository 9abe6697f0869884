"""Checkpoints: the newest good one is found, the one before it is kept, and damage is told by file."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from errands.errors import StoreError
from errands.runs.checkpoint import newest, steps, write_checkpoint
from errands.tables import Evaluation

ARRAYS = {"q": np.arange(12.0).reshape(3, 4), "mask": np.array([2**64 - 1], np.uint64), "none": np.zeros((0, 2), np.int32)}
ROWS = [Evaluation(100, 7, 0.1, True), Evaluation(200, 6, 1.0, False)]


def stored(folder: Path, *at: int) -> None:
    before = None
    for step in at:
        before = write_checkpoint(folder, 5, step, {**ARRAYS, "step": np.array([step])}, ROWS, 1.5, before)


def test_arrays_and_evaluations_come_back(tmp_path: Path) -> None:
    stored(tmp_path, 200)
    found = newest(tmp_path, 5)
    assert found is not None
    assert found.evaluations == tuple(ROWS)
    assert found.document.seconds == 1.5
    for name, array in ARRAYS.items():
        assert found.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(found.arrays[name], array)
        found.arrays[name][...] = 0


def test_two_checkpoints_are_kept_and_the_first_is_remembered(tmp_path: Path) -> None:
    stored(tmp_path, 100, 200, 300, 400)
    assert steps(tmp_path) == [400, 300]
    found = newest(tmp_path, 5)
    assert found is not None
    assert (found.document.step, found.document.first_step) == (400, 100)
    assert len(list(tmp_path.iterdir())) == 5


def test_nothing_stored_is_no_checkpoint(tmp_path: Path) -> None:
    assert newest(tmp_path, 5) is None
    assert newest(tmp_path / "missing", 5) is None


@pytest.mark.parametrize("end", ["json", "safetensors"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path: Path, end: str) -> None:
    stored(tmp_path, 300, 400)
    path = tmp_path / f"checkpoint-400.{end}"
    good, dice = path.read_bytes(), random.Random(end)
    for _ in range(200):
        bad = bytearray(good)
        bad[dice.randrange(len(bad))] ^= 1 << dice.randrange(8)
        path.write_bytes(bytes(bad) if dice.random() < 0.7 else good[: dice.randrange(len(good))])
        found = newest(tmp_path, 5)
        assert found is not None
        assert found.document.step == 300
        assert str(path) in found.notes[0]


def test_when_none_is_good_the_file_is_named_and_the_way_out_told(tmp_path: Path) -> None:
    stored(tmp_path, 300, 400)
    for path in tmp_path.glob("*.safetensors"):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreError, match=r"checkpoint-400.safetensors .*no other checkpoint is good: remove"):
        newest(tmp_path, 5)


def test_a_checkpoint_of_another_seed_or_step_is_refused(tmp_path: Path) -> None:
    stored(tmp_path, 300)
    with pytest.raises(StoreError, match="belongs to seed 5, step 300"):
        newest(tmp_path, 6)
    (tmp_path / "checkpoint-300.json").rename(tmp_path / "checkpoint-900.json")
    with pytest.raises(StoreError, match="belongs to seed 5, step 300"):
        newest(tmp_path, 5)


def test_a_crash_between_the_two_files_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    stored(tmp_path, 300)
    (tmp_path / "checkpoint-400.safetensors").write_bytes(b"whole or half, no document names it")
    found = newest(tmp_path, 5)
    assert found is not None
    assert found.document.step == 300
    write_checkpoint(tmp_path, 5, 500, ARRAYS, ROWS, 2.0, found.document)
    assert {p.name for p in tmp_path.glob("*.safetensors")} == {"checkpoint-300.safetensors", "checkpoint-500.safetensors"}
