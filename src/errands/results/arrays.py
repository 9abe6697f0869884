"""Arrays as one safetensors file: the same arrays always give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError

Arrays = dict[str, NDArray[Any]]


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of a safetensors file; names in order, numbers little-endian."""
    from safetensors.numpy import save

    plain = {name: np.ascontiguousarray(x).reshape(x.shape) for name, x in sorted(arrays.items())}
    return bytes(save(plain))


def unpack(data: bytes, path: Path) -> Arrays:
    """The arrays of a safetensors file, free to be changed."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return {name: np.array(x) for name, x in load(data).items()}
    except (SafetensorError, ValueError, KeyError, TypeError) as fault:
        raise StoreError(f"{path} is not a safetensors file ({str(fault)[:100]}); restore it from a copy") from None
