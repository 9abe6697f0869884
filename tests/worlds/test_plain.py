"""Plain data comes back as it was, through JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from errands.worlds.plain import plain, rich


def through(value: Any) -> Any:
    return rich(json.loads(json.dumps(plain(value))))


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, 2.5, "text", [], [1, [2, "a"]], (), (1, (2,)), set(), {1, 2}, frozenset({"a"}), b"", b"\x00\xff",
        {}, {"a": 1, (1, 2): [b"x"]}, {"~array": 3}, {1: {2: {3: (4,)}}},
    ],
)  # fmt: skip
def test_values_come_back_with_their_kind(value: Any) -> None:
    found = through(value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "bool", "<M8[s]"])
def test_arrays_keep_type_shape_and_every_bit(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    found = through(array)
    assert (found.dtype, found.shape) == (array.dtype, (2, 3))
    assert found.tobytes() == array.tobytes()
    found[0, 0] = found[1, 1]


def test_numpy_numbers_stay_numpy_numbers() -> None:
    found = through({"x": np.float32(0.1), "n": np.uint64(2**63)})
    assert type(found["x"]) is np.float32
    assert found == {"x": np.float32(0.1), "n": np.uint64(2**63)}


def test_an_empty_array_comes_back() -> None:
    assert through(np.zeros((0, 4))).shape == (0, 4)
