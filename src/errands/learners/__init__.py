"""Learners by name: every folder here that declares methods, and those that a user registers."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from typing import Any

from errands.errors import ConfigError, TaskError, UnknownName, install
from errands.learners.base import Learner, LearnerConfig
from errands.learners.method import Form, Method, loaded
from errands.tasks.task import Task


def _shipped() -> list[Method]:
    """The methods that the folders of this package declare, in the order that they give themselves."""
    folders = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__) if found.ispkg]
    return sorted((method for folder in folders for method in getattr(folder, "METHODS", ())), key=lambda method: method.order)


_registered = {method.name: method for method in _shipped()}
LEARNERS: Mapping[str, Method] = _registered
"""Every method by its name."""


def register(method: Method) -> None:
    """Make a method of your own a learner like any other: trained, stored, resumed, compared and shown by its name.

    Parameters:
        method: what it is called, where its classes are, and how its runs are driven.

    >>> from errands.learners.method import Form, Method
    >>> register(Method("mine", "always the first action", tabular=Form("mine:Mine", "mine:MineConfig")))
    >>> "mine" in LEARNERS
    True
    """
    if not method.tabular and not method.deep:
        raise ConfigError(f"method '{method.name}' has neither a tabular nor a deep form; give it one")
    if (known := _registered.get(method.name)) is not None and known != method:
        raise ConfigError(f"a learner is called '{method.name}' already; choose another name")
    _registered[method.name] = method


def default_learner(task: Task) -> str:
    """The learner used when none is named: the first method that is the default for this kind of world."""
    kind = "networks" if not is_finite(task) else "rewards" if task.paid_beside_success else "tables"
    if kind == "networks" and importlib.util.find_spec("jax") and task.batched is not None:
        # A row of values for each set of subtasks that are still to be done: from seven on these are too many to be quick.
        if len(task.machine.subtasks) <= 6:
            kind = "batched"
        elif task.world.family is not None and not task.machine.gauges and not task.paid_beside_success:
            kind = "families"
    return next(name for name, method in LEARNERS.items() if method.default_for == kind)


def is_finite(task: Task) -> bool:
    """Whether tabular learners can be run: the world has tables, or Discrete spaces."""
    return task.finite is not None or task.world.discrete


def method_of(name: str) -> Method:
    """The method of a learner's name."""
    if name not in LEARNERS:
        raise UnknownName("learner", name, LEARNERS)
    return LEARNERS[name]


def machine_of(name: str, machine: str | None) -> str | None:
    """The machine that a learner is run on: the one asked for, or its default; None when it has its own."""
    machines = method_of(name).machines
    if machine is None:
        return machines[0] if machines else None
    if machine not in machines:
        wanted = f"it runs on {' or '.join(machines)}" if machines else "it uses its own machine; leave --machine out"
        raise ConfigError(f"learner '{name}' cannot be run on machine '{machine}'; {wanted}")
    return machine


def form_of(task: Task, name: str) -> Form:
    """The form of a learner for this kind of world; a TaskError where it has none."""
    world = "finite" if is_finite(task) else "continuous"
    form = method_of(name).tabular if world == "finite" else method_of(name).deep
    if form is None:
        able = [n for n, method in LEARNERS.items() if (method.tabular if world == "finite" else method.deep)]
        advice = "; or give the task a state function, which makes its world finite" if task.world.numberable else ""
        raise TaskError(f"learner '{name}' cannot be run on the {world} world of '{task.name}'; use {', '.join(able)}{advice}")
    if form.success_alone and (paid := task.paid_beside_success):
        raise TaskError(f"learner '{name}' looks at success alone, and '{task.name}' pays {paid}; use {default_learner(task)}")
    if world == "continuous" and importlib.util.find_spec("jax") is None:
        raise TaskError(f"learner '{name}' needs JAX on a continuous world; run: {install('deep')}")
    return form


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
    form = form_of(task, name)
    if config is not None and settings:
        raise ConfigError("both config and settings were given; give the settings alone, or inside the config")
    wanted = config_of(name, preset if config is None else "tuned", task, settings or {})
    if config is not None and not isinstance(config, type(wanted)):
        raise ConfigError(f"learner '{name}' takes a {type(wanted).__name__}, and was given a {type(config).__name__}")
    keywords: dict[str, Any] = {} if kind is None else {"machine": kind}
    if form.team:
        keywords["learner"] = name
    learner: Learner = loaded(form.learner)(task, config or wanted, seed, **keywords)
    return learner
