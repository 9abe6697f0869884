"""The settings of a learner: a preset, and what is set on top of it by words or by values.

`tuned` works, `paper` has the numbers that the paper prints (Section 5, Parameters); `custom` is the label of settings
that were given whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from errands.errors import ConfigError, StoreError, UnknownName
from errands.learners import LEARNERS, form_of, method_of
from errands.learners.base import LearnerConfig
from errands.learners.method import Facts
from errands.tasks.task import Task

PRESETS = ("tuned", "paper")
CUSTOM = "custom"
"""In place of a preset's name: the settings were given whole, no preset had a part in them."""
Settings = Mapping[str, Any] | Iterable[str]
"""Values by the names of fields, or words like `alpha=0.1`."""


def config_of(
    learner: str, preset: str, task: Task, settings: Settings = (), steps: int | None = None
) -> LearnerConfig:
    """The settings of a learner: its preset, with `settings` on top; `tuned` knows catalogue and, for users, the steps."""
    facts = Facts(task) if steps is None else Facts(task, steps)
    base: LearnerConfig = form_of(task, learner).settings(learner, _known(preset), facts)
    return with_settings(base, settings, learner)


def stored_config(learner: str, task: Task, document: Mapping[str, Any]) -> LearnerConfig:
    """The settings that `as_document` wrote; a StoreError where another version, with other settings, wrote them."""
    base = config_of(learner, "tuned", task)
    known = as_document(base)
    for name in [*document, *known]:
        if name not in known or name not in document:
            who, whom = ("that version", "this one") if name not in known else ("this version", "that one")
            raise StoreError(
                f"the run was written by another version of errands: {who} knows a setting '{name[:60]}' of '{learner}' "
                f"that {whom} does not; use the version that wrote it"
            )
    return with_settings(base, document, learner)


def with_settings(base: LearnerConfig, settings: Settings, learner: str) -> LearnerConfig:
    """The settings with some fields replaced, each read as its field's type."""
    if not isinstance(settings, Iterable):
        raise ConfigError(f"settings are {settings!r}; give a mapping, or words such as 'gamma=0.95'")
    kind: Any = type(base)  # mypy does not take the class of a protocol for hashable
    readers, names, changed = _readers(kind), list(as_document(base)), dict[str, Any]()
    for name, value in (settings if isinstance(settings, Mapping) else _words(settings)).items():
        if name not in names:
            raise UnknownName(f"setting of {learner}", str(name)[:100], names)
        changed[name] = _read(name, value, *readers[name])
    return dataclasses.replace(base, **changed)


def as_document(config: LearnerConfig) -> dict[str, Any]:
    """The settings as plain data; `with_settings` reads them back."""
    listed = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if f.init}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in listed.items()}


def _words(words: Iterable[str]) -> dict[str, str]:
    values = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise ConfigError(f"'{word[:100]}' sets nothing; write a setting as name=value, such as gamma=0.95")
        values[name.strip().replace("-", "_")] = text.strip()
    return values


@cache
def _readers(kind: type[Any]) -> dict[str, tuple[Any, TypeAdapter[Any]]]:
    """The type of each field and what reads it; a viewer builds a learner for every moment that it shows."""
    hints = get_type_hints(kind)
    return {f.name: (hints[f.name], TypeAdapter(hints[f.name])) for f in dataclasses.fields(kind) if f.init}


def _read(name: str, value: Any, hint: Any, reader: TypeAdapter[Any]) -> Any:
    if isinstance(value, str) and get_origin(hint) is tuple:
        value = [part for part in value.strip("()[] ").split(",") if part.strip()]
    if isinstance(value, str) and hint is not str and value.lower() in ("none", "null"):
        value = None
    try:
        return reader.validate_python(value)
    except ValidationError as fault:
        said = fault.errors(include_url=False, include_context=False)[0]["msg"]
        raise ConfigError(f"{name} was given {str(value)[:60]!r}; {said[:1].lower()}{said[1:]}") from None


def deep_preset(learner: str, preset: str, task: Task) -> Any:
    """The settings of a learner with networks under a preset, also where the world has tables."""
    form = method_of(learner).deep
    if form is None:
        raise UnknownName("deep learner", learner, [name for name, method in LEARNERS.items() if method.deep])
    return form.settings(learner, _known(preset), Facts(task))


def _known(preset: str) -> str:
    if preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    return preset
