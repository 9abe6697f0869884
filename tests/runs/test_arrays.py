"""The same arrays give the same bytes, whatever their order in memory or in the mapping."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from errands.errors import StoreError
from errands.runs.files import pack, unpack


def test_bytes_depend_on_names_and_numbers_only() -> None:
    table = np.arange(6.0).reshape(2, 3)
    first = pack({"a": table, "b": np.array(3)})
    second = pack({"b": np.array(3), "a": np.asfortranarray(table)})
    assert first == second
    assert unpack(first, Path("x"))["b"].shape == ()


@pytest.mark.parametrize("data", [b"", b"\xff" * 8, b"\x02\0\0\0\0\0\0\0{}junk", (2**62).to_bytes(8, "little") + b"{}"])
def test_what_is_no_safetensors_file_is_refused(data: bytes) -> None:
    with pytest.raises(StoreError, match="not a safetensors file"):
        unpack(data, Path("x"))
