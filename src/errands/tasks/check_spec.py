"""What is to be checked, by name: MODULE:ENV, a Gymnasium id, a catalogue name or a task file."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym

from errands.errors import ErrandsError, SpecError, UnknownName
from errands.tasks.catalogue import load, load_file
from errands.tasks.check import Report, check
from errands.tasks.check_walk import EnvFactory
from errands.tasks.task import Task


def run_check(spec: str, features: str | None = None, task: Path | None = None, steps: int = 1000) -> Report:
    """The report on what a name stands for; a task's own world is checked against that task unless another is given."""
    if steps < 1:
        raise SpecError(f"steps is {steps}, and must be at least 1")
    factory, own = _resolve(spec)
    function = None if features is None else import_attribute(features)
    if function is not None and not callable(function):
        raise SpecError(
            f"'{features}' is a {type(function).__name__}, not a function of (observation, action, next, info)"
        )
    return check(factory, function, load_file(task) if task is not None else own, steps)


def _resolve(spec: str) -> tuple[EnvFactory, Task | None]:
    if spec in gym.registry:
        return lambda: gym.make(spec, disable_env_checker=True), None
    if ":" in spec:
        maker = import_attribute(spec)
        return _checked(spec, maker), None
    try:
        task = load(spec)
    except UnknownName as fault:
        raise SpecError(f"'{spec}' is no MODULE:ENV, no Gymnasium id, and {fault}") from None
    return task.world.env, task


def _checked(spec: str, maker: Any) -> EnvFactory:
    """A maker of environments whose faults are told in a sentence."""
    if isinstance(maker, gym.Env):
        raise SpecError(f"'{spec}' is one environment; name its class or a function, so that fresh ones can be made")
    if not callable(maker):
        raise SpecError(f"'{spec}' is a {type(maker).__name__}; name a class or a function that makes an environment")

    def make() -> gym.Env[Any, Any]:
        env = maker()
        if not isinstance(env, gym.Env):
            raise SpecError(f"'{spec}' made a {type(env).__name__}, not a gymnasium.Env; return an environment")
        return env

    try:
        make().close()
    except ErrandsError:
        raise
    except Exception as fault:
        raise SpecError(f"'{spec}' cannot be made without arguments: {type(fault).__name__}: {fault}") from fault
    return make


def import_attribute(path: str) -> Any:
    """What MODULE:NAME stands for; modules of the current directory are found too."""
    if not re.fullmatch(r"[^\W\d][\w.]*:[^\W\d][\w.]*", path):
        raise SpecError(f"'{path}' is not of the form MODULE:NAME, such as my_env:MyEnv")
    module_name, _, names = path.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as fault:
        raise SpecError(f"the module '{module_name}' cannot be imported: {type(fault).__name__}: {fault}") from fault
    for name in names.split("."):
        if not hasattr(found, name):
            known = [n for n in vars(found) if not n.startswith("_")] if hasattr(found, "__dict__") else []
            raise UnknownName(f"attribute of '{module_name}'", name, known)
        found = getattr(found, name)
    return found
