"""Settings of a learner as words and as plain data: `alpha=0.1` on the command line, a JSON object in a run folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from errands.errors import ConfigError, UnknownName
from errands.learners.base import LearnerConfig


def with_words(base: LearnerConfig, words: Iterable[str]) -> LearnerConfig:
    """The settings with some fields set by words like `alpha=0.1`."""
    given: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise ConfigError(f"'{word[:100]}' sets nothing; write a setting as name=value, such as gamma=0.95")
        given[name.strip().replace("-", "_")] = text.strip()
    return with_values(base, given)


def with_values(base: LearnerConfig, given: Mapping[str, Any]) -> LearnerConfig:
    """The settings with some fields replaced, each read as its field's type."""
    hints = get_type_hints(type(base))
    names = [f.name for f in dataclasses.fields(base) if f.init]
    changed = {}
    for name, value in given.items():
        if name not in names:
            raise UnknownName(f"setting of {type(base).__name__}", name[:100], names)
        changed[name] = _read(name, value, hints[name])
    return dataclasses.replace(base, **changed)


def as_document(config: LearnerConfig) -> dict[str, Any]:
    """The settings as plain data; `with_values` reads them back."""
    listed = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if f.init}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in listed.items()}


def _read(name: str, value: Any, hint: Any) -> Any:
    if isinstance(value, str) and get_origin(hint) is tuple:
        value = [part for part in value.strip("()[] ").split(",") if part.strip()]
    if isinstance(value, str) and hint is not str and value.lower() in ("none", "null"):
        value = None
    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as fault:
        said = fault.errors(include_url=False, include_context=False)[0]["msg"]
        raise ConfigError(f"{name} was given {str(value)[:60]!r}; {said[:1].lower()}{said[1:]}") from None
