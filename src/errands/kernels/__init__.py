"""Compiled loops over flat tables; the compiler's cache is keyed by all kernel sources, so no edit goes unnoticed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def cache_folder() -> Path:
    """Where compiled kernels are kept: one folder for each state of the kernel sources and tables."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted([*here.rglob("*.py"), here.parent / "tables.py"]):
        digest.update(str(source.relative_to(here.parent)).encode() + b"\0" + source.read_bytes())
    home = os.environ.get("ERRANDS_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "errands" / digest.hexdigest()[:16]


os.environ["NUMBA_CACHE_DIR"] = str(cache_folder())

from numba import njit  # noqa: E402

jit = njit(cache=True, nogil=True, error_model="numpy")
"""Compile with a cache and without the interpreter's lock; plain Python when NUMBA_DISABLE_JIT is set."""

hot = njit(cache=True, nogil=True, error_model="numpy", forceinline=True, _nrt=False)  # type: ignore[call-overload]
"""The same for inner loops: no reference counts (they cost 2 to 8 times the work), so no new arrays or slices."""
