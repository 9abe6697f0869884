"""errands: reinforcement learning on long tasks whose parts can be done in any order."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from errands.ids import register_with_gymnasium

if TYPE_CHECKING:
    from errands.errors import ConfigError, ErrandsError, SpecError, StoreError, TaskError, UnknownName
    from errands.features import Change
    from errands.learners.base import LearnerConfig
    from errands.machines import (
        AgendaRM,
        BooleanRM,
        CoupledRM,
        Label,
        NumericRM,
        Outcome,
        Sizes,
        couple,
        size,
        unfold_agenda,
        unfold_boolean,
    )
    from errands.machines.lower import lower
    from errands.oracle.certificate import Certificate, certificate
    from errands.oracle.optimum import Optimum, optimum
    from errands.policies.file import read_policy
    from errands.runs.run import Run, open, resume, train, training  # noqa: A004
    from errands.tables import Evaluation
    from errands.tasks import Task, load
    from errands.tasks.ltlf import from_ltlf
    from errands.tasks.phrases import any_order, avoid, either, repeat, sequence
    from errands.tasks.product import product
    from errands.tasks.transitions import RewardMachineReplay
    from errands.worlds.imports import allow

__version__ = "0.1.0"

_HOMES = {
    "errands.errors": ["ConfigError", "ErrandsError", "SpecError", "StoreError", "TaskError", "UnknownName"],
    "errands.policies.file": ["read_policy"],
    "errands.runs.run": ["Run", "open", "resume", "train", "training"],
    "errands.features": ["Change"],
    "errands.learners.base": ["LearnerConfig"],
    "errands.machines": [
        "AgendaRM", "BooleanRM", "CoupledRM", "Label", "NumericRM", "Outcome", "Sizes",
        "couple", "size", "unfold_agenda", "unfold_boolean",
    ],
    "errands.machines.lower": ["lower"],
    "errands.oracle.certificate": ["Certificate", "certificate"],
    "errands.oracle.optimum": ["Optimum", "optimum"],
    "errands.tables": ["Evaluation"],
    "errands.tasks": ["Task", "load"],
    "errands.tasks.ltlf": ["from_ltlf"],
    "errands.tasks.phrases": ["any_order", "avoid", "either", "repeat", "sequence"],
    "errands.tasks.product": ["product"],
    "errands.tasks.transitions": ["RewardMachineReplay"],
    "errands.worlds.imports": ["allow"],
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AgendaRM",
    "BooleanRM",
    "Certificate",
    "Change",
    "ConfigError",
    "CoupledRM",
    "ErrandsError",
    "Evaluation",
    "Label",
    "LearnerConfig",
    "NumericRM",
    "Optimum",
    "Outcome",
    "RewardMachineReplay",
    "Run",
    "Sizes",
    "SpecError",
    "StoreError",
    "Task",
    "TaskError",
    "UnknownName",
    "allow",
    "any_order",
    "avoid",
    "certificate",
    "couple",
    "either",
    "from_ltlf",
    "load",
    "lower",
    "open",
    "optimum",
    "product",
    "read_policy",
    "repeat",
    "resume",
    "sequence",
    "size",
    "train",
    "training",
    "unfold_agenda",
    "unfold_boolean",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'errands' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


register_with_gymnasium()
