"""Worlds: Gymnasium environments around pure rules. None knows a machine; errands/ids.py registers them."""

from __future__ import annotations

import importlib
from typing import Any

from errands.worlds.base import KINDS, FiniteWorld, World, make_world

_HOMES = {name: module for module, name in KINDS.values()}

__all__ = ["KINDS", "FiniteWorld", "World", "make_world", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'errands.worlds' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
