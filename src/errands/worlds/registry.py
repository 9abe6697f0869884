"""Worlds by the word of task files, and their Gymnasium ids; heavy libraries load only when a world needs them."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from errands.errors import SpecError, UnknownName
from errands.worlds.base import World

KINDS: Mapping[str, tuple[str, str]] = {
    "grid": ("errands.worlds.drawn_grid", "GridWorld"),
    "delivery": ("errands.worlds.delivery", "Delivery"),
    "office": ("errands.worlds.office", "Office"),
    "visit": ("errands.worlds.visit", "Visit"),
    "water": ("errands.worlds.water_env", "Water"),
    "cheetah": ("errands.worlds.cheetah", "HalfCheetah"),
    "gymnasium": ("errands.worlds.gymnasium_world", "GymnasiumWorld"),
}
"""Module and class behind each kind of world."""

IDS: Mapping[str, Mapping[str, Any]] = {
    "errands/Grid-v0": {
        "kind": "grid",
        "rows": ("1s.", "..A", "...", "2.."),
        "legend": {"1": "b1", "2": "b2", "s": "s"},
    },
    "errands/Delivery-v0": {"kind": "delivery"},
    "errands/Office-v0": {"kind": "office"},
    "errands/Visit-v0": {"kind": "visit"},
    "errands/Water-v0": {"kind": "water"},
    "errands/HalfCheetah-v0": {"kind": "cheetah"},
}
"""The settings behind each registered id; `gymnasium.make(id, boxes=8)` replaces some of them."""


def world_class(kind: str) -> type[World]:
    """The class behind a kind of world."""
    if kind not in KINDS:
        raise UnknownName("kind of world", kind, KINDS)
    module, name = KINDS[kind]
    found: type[World] = getattr(importlib.import_module(module), name)
    return found


def make_world(kind: str, settings: Mapping[str, Any]) -> World:
    """The world that a task file's [world] table describes, all keys but `kind` given as settings."""
    built = world_class(kind)
    known = inspect.signature(built).parameters
    for name in settings:
        if name not in known:
            raise UnknownName(f"setting of the world '{kind}'", name, known)
    missing = [n for n, p in known.items() if p.default is p.empty and n not in settings and not _has_factory(built, n)]
    if missing:
        raise SpecError(f"the world '{kind}' lacks {' and '.join(missing)}; add it to the [world] table")
    return built(**settings)


def _has_factory(built: type[Any], name: str) -> bool:
    fields = {field.name: field for field in dataclasses.fields(built)}
    return fields[name].default_factory is not dataclasses.MISSING


def make_env(kind: str, render_mode: str | None = None, **settings: Any) -> gym.Env[Any, Any]:
    """The entry point of the registered ids: the environment of a world."""
    return make_world(kind, settings).env(render_mode)


def register_all() -> None:
    """Register every id with Gymnasium, once."""
    for name, settings in IDS.items():
        if name not in gym.registry:
            gym.register(id=name, entry_point="errands.worlds.registry:make_env", kwargs=dict(settings))
