"""Worlds: Gymnasium environments around pure rules. None knows a machine; errands/ids.py registers them."""

from __future__ import annotations

import importlib
from typing import Any

from errands.worlds.base import KINDS, FiniteWorld, World, make_world

_HOMES = {
    **{name: module for module, name in KINDS.values()},
    "GridLayout": "errands.worlds.grid",
    "Restorable": "errands.worlds.saving",
    "distances": "errands.worlds.grid",
    "finite_from_p": "errands.worlds.gymnasium.published",
    "grid_svg": "errands.worlds.picture",
    "grid_text": "errands.worlds.picture",
    "unreachable_features": "errands.worlds.grid",
}

__all__ = ["KINDS", "FiniteWorld", "World", "make_world", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'errands.worlds' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
