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
from errands.learners import home_of, is_finite
from errands.learners.base import LearnerConfig
from errands.tasks.task import Task

PRESETS = ("tuned", "paper")
CUSTOM = "custom"
"""In place of a preset's name: the settings were given whole, no preset had a part in them."""
Settings = Mapping[str, Any] | Iterable[str]
"""Values by the names of fields, or words like `alpha=0.1`."""


def config_of(learner: str, preset: str, task: Task, settings: Settings = ()) -> LearnerConfig:
    """The settings of a learner: its preset, with `settings` on top; `tuned` knows the worlds of the catalogue."""
    if preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    return with_settings(_preset(learner, preset, task), settings, learner)


def stored_config(learner: str, task: Task, document: Mapping[str, Any]) -> LearnerConfig:
    """The settings that `as_document` wrote; a StoreError where another version, with other settings, wrote them."""
    base = _preset(learner, "tuned", task)
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


def _preset(learner: str, preset: str, task: Task) -> LearnerConfig:
    home_of(task, learner)
    if learner == "dirl" and not is_finite(task):
        from errands.learners.dirl.config import deep_dirl_preset

        return deep_dirl_preset(preset, task)
    if not is_finite(task):
        from errands.learners.deep.config import deep_preset

        return deep_preset(learner, preset, task)
    if learner == "scout":
        from errands.learners.scout import ScoutConfig

        # An evaluation is twenty episodes of the environment itself where nothing tells what would come of them.
        return ScoutConfig() if task.finite is not None or task.certain else ScoutConfig(eval_every=1_000)
    if learner == "qcorm-plus":
        from errands.learners.tabular.qcorm_plus import QCoRMPlusConfig

        return QCoRMPlusConfig()
    if learner == "dirl":
        from errands.learners.dirl import DiRLConfig

        if preset == "paper":
            return DiRLConfig(alpha=1e-5, q_init=0.0, rollouts=300, training_share=0.38)
        return DiRLConfig(alpha=1.0 if _certain(task) else 0.1)
    return _paper(learner) if preset == "paper" else _tuned(learner, task)


def _paper(learner: str) -> LearnerConfig:
    from errands.learners.tabular.hrm import HRMConfig
    from errands.learners.tabular.qcorm import QCoRMConfig
    from errands.learners.tabular.qrm import QRMConfig

    if learner in ("qcorm", "qcorm-0"):
        return QCoRMConfig(alpha=1e-5, alpha_eta=0.005, alpha_k=0.005, joint=learner == "qcorm")
    if learner == "hrm":
        return HRMConfig(alpha=1e-5, alpha_controller=1e-5)
    return QRMConfig(alpha=1e-5)


def _tuned(learner: str, task: Task) -> LearnerConfig:
    from errands.learners.tabular.hrm import HRMConfig
    from errands.learners.tabular.qcorm import QCoRMConfig
    from errands.learners.tabular.qrm import QRMConfig

    office = task.world.kind == "office"
    alpha = 1.0 if _certain(task) else 0.1
    if learner == "qcorm":
        return QCoRMConfig(epsilon=0.3 if office else 0.1)
    if learner == "qcorm-0":
        return QCoRMConfig(joint=False, alpha=alpha, q_init=1.0, alpha_eta=0.2 if office else 0.05)
    if learner == "hrm":
        return HRMConfig(alpha=alpha / 2, alpha_controller=alpha / 2)
    if learner == "qrm" and task.world.kind == "visit":
        return QRMConfig(alpha=alpha, epsilon=0.3)
    return QRMConfig(alpha=alpha, q_init=1.0)


def _certain(task: Task) -> bool:
    """Whether every move has one outcome, so that the newest target is the true one; starts may differ."""
    return task.finite is None or task.finite.table.next.shape[2] == 1
