"""The table of evaluations reads back as it was written, and a torn line is named."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.errors import StoreError
from errands.runs.checkpoint import HEADER, line, packed, parse, read_checkpoint, render
from errands.runs.documents import CheckpointDocument, write_document
from errands.runs.files import digest, write_file
from errands.tables import Evaluation

HERE = Path("evaluations.csv")
ROWS = st.builds(
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


@given(st.lists(ROWS | MEANS | EXACT, unique_by=lambda e: e.step).map(lambda rows: sorted(rows, key=lambda e: e.step)))
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
        )  # fmt: skip
        write_file(folder / "checkpoint-1.safetensors", data)
        write_document(folder / "checkpoint-1.json", mark)
        return list(read_checkpoint(folder, 0, 1).evaluations)


@given(st.lists(ROWS, unique_by=lambda e: e.step).map(lambda rows: sorted(rows, key=lambda e: e.step)))
def test_a_table_reads_back_to_the_last_bit(rows: list[Evaluation]) -> None:
    found = parse(render(rows), HERE)
    assert found == rows
    assert all(math.copysign(1, a.total_reward) == math.copysign(1, b.total_reward) for a, b in zip(found, rows, strict=True))


def test_other_programs_read_it_as_plain_comma_separated_values() -> None:
    text = render([Evaluation(1000, 10, 1.0, True), Evaluation(2000, 1000, -0.5, False)]).decode()
    assert list(csv.DictReader(io.StringIO(text))) == [
        {"step": "1000", "episode_length": "10", "total_reward": "1.0", "success": "true"},
        {"step": "2000", "episode_length": "1000", "total_reward": "-0.5", "success": "false"},
    ]


TORN = [b"1,2,3.0,true", b"1,2,nan,true\n", b"x,2,3.0,true\n", b"1,2,3.0,yes\n", b"\n", b"01,2,3.0,true\n"]


@pytest.mark.parametrize("text", TORN)
def test_a_line_that_was_not_written_by_errands_is_named(text: bytes) -> None:
    with pytest.raises(StoreError, match=r"evaluations\.csv is damaged in line 3"):
        parse(HEADER + line(Evaluation(0, 1, 0.0, False)) + text, HERE)


def test_steps_must_grow_and_the_header_must_be_there() -> None:
    with pytest.raises(StoreError, match="steps do not grow"):
        parse(HEADER + 2 * line(Evaluation(5, 1, 0.0, False)), HERE)
    with pytest.raises(StoreError, match="not a table of evaluations"):
        parse(b"", HERE)
