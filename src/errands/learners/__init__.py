"""Learners by name: one literal mapping from the names of the front door to where each method lives."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from errands.errors import ConfigError, TaskError, UnknownName, install
from errands.learners.base import Learner, LearnerConfig
from errands.tasks.task import Task


@dataclass(frozen=True)
class Entry:
    """Where a method lives and what it can be run on."""

    about: str
    tabular: str | None
    """module:Class for finite worlds."""
    deep: str | None
    """module:Class for continuous worlds."""
    machines: tuple[str, ...] = ()
    """The machines it can be run on, the default first; empty when it has its own."""
    own: str | None = None
    """The machine that it always uses."""
    apart: bool = False
    """Whether it is evaluated only at its end: each budget is then a run of its own, and no curve joins two."""
    stops: bool = False
    """Whether it ends by itself, once it has proved its policy; `steps` is then the most that it may take."""
    default_steps: int = 1_000_000
    """Training steps where none are asked for."""


_DEEP = "errands.learners.deep.learner:DeepLearner"


LEARNERS: Mapping[str, Entry] = {
    "qrm": Entry(
        "Q-learning over world x machine", "errands.learners.tabular.qrm:QRM", _DEEP, ("agenda", "boolean")
    ),
    "crm": Entry(
        "QRM with counterfactual steps in every machine state",
        "errands.learners.tabular.qrm:CRM", _DEEP, ("agenda", "boolean"),
    ),
    "hrm": Entry(
        "options for machine transitions under a controller",
        "errands.learners.tabular.hrm:HRM", _DEEP, ("agenda", "boolean"),
    ),
    "qcorm": Entry("the paper's method on the coupled machine", "errands.learners.tabular.qcorm:QCoRM", _DEEP, own="coupled"),
    "qcorm-0": Entry(
        "QCoRM without joint optimisation", "errands.learners.tabular.qcorm:QCoRM", _DEEP, own="coupled"
    ),
    "qcorm-plus": Entry(
        "ours: exact orders from learnt values", "errands.learners.tabular.qcorm_plus:QCoRMPlus", _DEEP, own="coupled"
    ),
    "dirl": Entry(
        "edges of an abstract graph learnt one by one",
        "errands.learners.dirl:DiRL", "errands.learners.dirl.deep:DeepDiRL", own="agenda", apart=True,
    ),
    "scout": Entry(
        "ours: learn the world once, plan, stop with a certificate", "errands.learners.scout:Scout", None, stops=True,
        default_steps=20_000,
    ),
}  # fmt: skip


def default_learner(task: Task) -> str:
    """The learner used when none is named: scout on finite worlds, qcorm-plus elsewhere."""
    return "scout" if is_finite(task) else "qcorm-plus"


def is_finite(task: Task) -> bool:
    """Whether tabular learners can be run: the world has tables, or Discrete spaces."""
    return task.finite is not None or task.world.discrete


def continuous_actions(task: Task) -> bool:
    """Whether actions are numbers and not choices: what decides between TD3 and DDQN, in learners and presets alike."""
    return task.world.continuous_actions


def entry_of(name: str) -> Entry:
    """The entry of a learner's name."""
    if name not in LEARNERS:
        raise UnknownName("learner", name, LEARNERS)
    return LEARNERS[name]


def machine_of(name: str, machine: str | None) -> str | None:
    """The machine that a learner is run on: the one asked for, or its default; None when it has its own."""
    machines = entry_of(name).machines
    if machine is None:
        return machines[0] if machines else None
    if machine not in machines:
        wanted = f"it runs on {' or '.join(machines)}" if machines else "it uses its own machine; leave --machine out"
        raise ConfigError(f"learner '{name}' cannot be run on machine '{machine}'; {wanted}")
    return machine


def home_of(task: Task, name: str) -> str:
    """module:Class of a learner for this kind of world; a TaskError where it has none."""
    world = "finite" if is_finite(task) else "continuous"
    home = entry_of(name).tabular if world == "finite" else entry_of(name).deep
    if home is None:
        able = [n for n, e in LEARNERS.items() if (e.tabular if world == "finite" else e.deep)]
        advice = "; or give the task a state function, which makes its world finite" if task.world.numberable else ""
        raise TaskError(f"learner '{name}' cannot be run on the {world} world of '{task.name}'; use {', '.join(able)}{advice}")
    if world == "continuous" and importlib.util.find_spec("jax") is None:
        raise TaskError(f"learner '{name}' needs JAX on a continuous world; type: {install('deep')}")
    return home


def make_learner(
    task: Task,
    name: str,
    seed: int = 0,
    machine: str | None = None,
    config: LearnerConfig | None = None,
    preset: str = "tuned",
    settings: Mapping[str, Any] | None = None,
) -> Learner:
    """A learner ready to train: a preset with `settings` on top, or a whole `config` in place of both."""
    from errands.learners.presets import config_of

    kind = machine_of(name, machine)
    home = home_of(task, name)
    if config is not None and settings:
        raise ConfigError("both config and settings were given; give the settings alone, or inside the config")
    wanted = config_of(name, preset if config is None else "tuned", task, settings or {})
    if config is not None and not isinstance(config, type(wanted)):
        raise ConfigError(f"learner '{name}' takes a {type(wanted).__name__}, and was given a {type(config).__name__}")
    module, class_name = home.split(":")
    keywords: dict[str, Any] = {} if kind is None else {"machine": kind}
    if home == _DEEP:
        keywords["learner"] = name
    learner: Learner = getattr(importlib.import_module(module), class_name)(task, config or wanted, seed, **keywords)
    return learner
