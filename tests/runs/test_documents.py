"""Documents read back, and no changed bit, wrong type or hostile shape is believed."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from errands.errors import StoreError
from errands.runs.documents import CheckpointDocument, ResultDocument, read_document, write_document

RESULT = ResultDocument(seed=3, steps=1000, final_length=12, final_success=True, order=["a", "é"], wall_seconds=0.5, optimum=12)


def forged(path: Path, **changes: object) -> None:
    """Write a document with a checksum that fits, as somebody hostile would."""
    import hashlib

    body = {**RESULT.model_dump(), **changes}
    plain = json.dumps(body, indent=1).encode() + b"\n"
    path.write_bytes(json.dumps({**body, "sha256": hashlib.sha256(plain).hexdigest()}, indent=1).encode() + b"\n")


def test_a_document_reads_back(tmp_path: Path) -> None:
    write_document(tmp_path / "a.json", RESULT)
    assert read_document(tmp_path / "a.json", ResultDocument) == RESULT
    assert json.loads((tmp_path / "a.json").read_text())["final_length"] == 12


def test_flipped_bits_of_a_document_are_noticed(tmp_path: Path) -> None:
    write_document(tmp_path / "a.json", RESULT)
    good = (tmp_path / "a.json").read_bytes()
    for place in random.Random(0).sample(range(8 * len(good)), 400):
        bad = bytearray(good)
        bad[place // 8] ^= 1 << place % 8
        (tmp_path / "b.json").write_bytes(bytes(bad))
        with pytest.raises(StoreError, match=r"b\.json is damaged"):
            read_document(tmp_path / "b.json", ResultDocument)


def test_truncations_of_a_document_are_noticed(tmp_path: Path) -> None:
    write_document(tmp_path / "a.json", RESULT)
    good = (tmp_path / "a.json").read_bytes()
    for size in random.Random(0).sample(range(len(good)), 100):
        (tmp_path / "b.json").write_bytes(good[:size])
        with pytest.raises(StoreError, match=r"b\.json is damaged"):
            read_document(tmp_path / "b.json", ResultDocument)


def test_a_forged_checksum_does_not_make_wrong_types_right(tmp_path: Path) -> None:
    forged(tmp_path / "a.json")
    assert read_document(tmp_path / "a.json", ResultDocument) == RESULT
    for changes in ({"seed": "0"}, {"seed": -1}, {"seed": 2**70}, {"order": "ab"}, {"steps": 1.5}, {"more": 1}, {"kind": "x"},
                    {"format": 2}, {"wall_seconds": None}, {"evaluations_sha256": "../../etc"}):  # fmt: skip
        forged(tmp_path / "a.json", **changes)
        with pytest.raises(StoreError, match="not of this version of errands"):
            read_document(tmp_path / "a.json", ResultDocument)


def test_another_kind_of_document_is_not_taken(tmp_path: Path) -> None:
    write_document(tmp_path / "a.json", RESULT)
    with pytest.raises(StoreError, match="not of this version"):
        read_document(tmp_path / "a.json", CheckpointDocument)


NONSENSE = [b"", b"null", b"[]", b"[" * 100_000, b'{"sha256": 1}', b"\xff\xfe", b'{"a": ' + b"9" * 9999 + b"}"]


@pytest.mark.parametrize("data", NONSENSE)
def test_what_is_no_document_is_damaged(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.json").write_bytes(data)
    with pytest.raises(StoreError, match=r"a\.json is damaged"):
        read_document(tmp_path / "a.json", ResultDocument)
