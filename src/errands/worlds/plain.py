"""Plain data as JSON: arrays, numpy numbers, bytes, tuples and sets are marked, so that they come back as they were."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Plain data as JSON can hold it; arrays, numpy numbers, bytes and tuples are marked."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        data = base64.b64encode(array.tobytes()).decode()
        return {"~array": [array.dtype.str, list(array.shape), data, isinstance(value, np.generic)]}
    if isinstance(value, bytes):
        return {"~bytes": base64.b64encode(value).decode()}
    if isinstance(value, tuple | set | frozenset):
        return {f"~{type(value).__name__}": [plain(v) for v in value]}
    if isinstance(value, dict):
        return {"~dict": [[plain(k), plain(v)] for k, v in value.items()]}
    return [plain(v) for v in value] if isinstance(value, list) else value


def rich(value: Any) -> Any:
    """The data behind `plain`."""
    if isinstance(value, list):
        return [rich(v) for v in value]
    if not isinstance(value, dict):
        return value
    ((mark, inner),) = value.items()
    if mark == "~array":
        dtype, shape, data, scalar = inner
        array = np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()
        return array[()] if scalar else array
    if mark == "~bytes":
        return base64.b64decode(inner)
    if mark == "~dict":
        return {rich(k): rich(v) for k, v in inner}
    return {"~tuple": tuple, "~set": set, "~frozenset": frozenset}[mark](rich(v) for v in inner)
