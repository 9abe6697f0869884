"""errands: reinforcement learning on long tasks whose parts can be done in any order."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from errands.ids import register_with_gymnasium

__version__ = "0.2.0"

# The names of the front door stand once, in the stub beside this file; the home of each is loaded when it is asked for.
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOME = {name: module for module, name in re.findall(r"^from (\S+) import (\w+) as \2", _STUB, re.MULTILINE)}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'errands' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


register_with_gymnasium()
