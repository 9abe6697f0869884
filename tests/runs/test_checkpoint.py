"""Checkpoints and tables of evaluations: the newest good one is found, rows read back as they were written, damage is named."""

from __future__ import annotations

import csv
import io
import math
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.errors import StoreError
from errands.runs.checkpoint import (
    HEADER,
    line,
    newest,
    packed,
    parse,
    read_checkpoint,
    render,
    steps,
    write_checkpoint,
)
from errands.runs.documents import CheckpointDocument, write_document
from errands.runs.files import digest, write_file
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


def test_checkpoints_that_are_dropped_while_they_are_read_give_way_to_newer_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(tmp_path, 100, 200)
    trained = iter([(200, 300, 400)])

    def read_late(*given: object) -> object:
        stored(tmp_path, *next(trained, ()))
        return read_checkpoint(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("errands.runs.checkpoint.read_checkpoint", read_late)
    found = newest(tmp_path, 5)
    assert found is not None
    assert found.document.step == 400


def test_two_checkpoints_are_kept_and_the_first_is_remembered(tmp_path: Path) -> None:
    stored(tmp_path, 100, 200, 300, 400)
    assert steps(tmp_path) == [400, 300]
    found = newest(tmp_path, 5)
    assert found is not None
    assert (found.document.step, found.document.first_step) == (400, 100)
    assert len(list(tmp_path.iterdir())) == 4


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


HERE = Path("evaluations.csv")
PLAIN = st.builds(
    Evaluation,
    st.integers(0, 10**15),
    st.integers(0, 10**9),
    st.floats(allow_nan=False),
    st.booleans(),
)
MEANS = st.builds(
    Evaluation,
    st.integers(0, 10**15),
    st.floats(0),
    st.floats(allow_nan=False),
    st.floats(0, 1),
    st.integers(2, 10**6),
    *([st.floats(0, allow_nan=False)] * 2),
    *([st.floats(0, 1)] * 2),
)
EXACT = st.builds(
    Evaluation, st.integers(0, 10**15), st.floats(0), st.floats(allow_nan=False), st.floats(0, 1), st.just(0)
)


@given(st.lists(PLAIN | MEANS | EXACT, unique_by=lambda e: e.step).map(lambda rows: sorted(rows, key=lambda e: e.step)))
def test_expectations_and_means_read_back_beside_single_episodes(rows: list[Evaluation]) -> None:
    assert parse(render(rows), HERE) == rows
    assert newest_rows(packed({}, rows)) == rows


def newest_rows(data: bytes) -> list[Evaluation]:
    """The evaluations in the arrays of a checkpoint."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        mark = CheckpointDocument(
            seed=0, step=1, arrays_bytes=len(data), arrays_sha256=digest(data), evaluations_bytes=0,
            evaluations_sha256=digest(b""), first_step=1, first_sha256=digest(data), seconds=0.0,
            training_seconds=0.0, run=None,
        )  # fmt: skip
        write_file(folder / "checkpoint-1.safetensors", data)
        write_document(folder / "checkpoint-1.json", mark)
        return list(read_checkpoint(folder, 0, 1).evaluations)


@given(st.lists(PLAIN, unique_by=lambda e: e.step).map(lambda rows: sorted(rows, key=lambda e: e.step)))
def test_a_table_reads_back_to_the_last_bit(rows: list[Evaluation]) -> None:
    found = parse(render(rows), HERE)
    assert found == rows
    assert all(math.copysign(1, a.total_reward) == math.copysign(1, b.total_reward) for a, b in zip(found, rows, strict=True))


def test_other_programs_read_it_as_plain_comma_separated_values() -> None:
    none = dict.fromkeys(("length_low", "length_high", "success_low", "success_high"), "")
    text = render([Evaluation(1000, 10, 1.0, True), Evaluation(2000, 1000, -0.5, False)]).decode()
    assert list(csv.DictReader(io.StringIO(text))) == [
        {"step": "1000", "episode_length": "10", "total_reward": "1.0", "success": "1", "episodes": "1", **none},
        {"step": "2000", "episode_length": "1000", "total_reward": "-0.5", "success": "0", "episodes": "1", **none},
    ]


TORN = [
    b"1,2,3.0,1,1,,,,", b"1,2,nan,1,1,,,,\n", b"x,2,3.0,1,1,,,,\n", b"1,2,3.0,yes,1,,,,\n", b"\n", b"01,2,3.0,1,1,,,,\n",
    b"1,inf,3.0,1,1,,,,\n", b"1,2,3.0,1,20,nan,,,\n", b"1,2,3.0,1,1,,,\n", b"1_0,2,3.0,1,1,,,,\n",
]  # fmt: skip


@pytest.mark.parametrize("text", TORN)
def test_a_line_that_was_not_written_by_errands_is_named(text: bytes) -> None:
    with pytest.raises(StoreError, match=r"evaluations\.csv is damaged in line 3"):
        parse(HEADER + line(Evaluation(0, 1, 0.0, False)) + text, HERE)


def test_steps_must_grow_and_the_header_must_be_there() -> None:
    with pytest.raises(StoreError, match="steps do not grow"):
        parse(HEADER + 2 * line(Evaluation(5, 1, 0.0, False)), HERE)
    with pytest.raises(StoreError, match="not a table of evaluations"):
        parse(b"", HERE)
