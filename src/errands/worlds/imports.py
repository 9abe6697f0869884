"""Code that a task file names (`kitchen:Kitchen-v0`, `labels:features`): imported only when the user says so."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import PathFinder
from types import FunctionType, ModuleType
from typing import Any

from errands.errors import ConfigError, SpecError, words_of

_OWN = frozenset(
    {"errands", "gymnasium", "jax", "matplotlib", "mujoco", "numba", "numpy", "pydantic", "ray", "rich", "tyro"}
)
"""Libraries that errands itself loads: that they are there says nothing about what the user wants run."""
NAMELESS = "<python>"
"""What stands for the module of a Python object that no file can name: a lambda, an inner function, an environment."""
_allowed: set[str] = set()


def allow(names: Iterable[str]) -> None:
    """Import modules that the user named (`--import kitchen`); those of the working folder are found last."""
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise ConfigError(f"'{name[:60]}' cannot be imported; give the name of a module, such as kitchen")
        if name not in sys.modules:
            _load(name)
        _allowed.add(name)


def _load(name: str) -> None:
    """Import a module, from the working folder only where nothing installed has its name."""
    here = os.getcwd()
    local = PathFinder.find_spec(name.split(".")[0]) is None and here not in sys.path
    if local:
        sys.path.append(here)
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as fault:
        missing = f"there is no module '{name}' here" if fault.name == name else f"'{name}' needs '{fault.name}'"
        raise ConfigError(
            f"{missing}, neither installed nor in the working folder; check the name or install it"
        ) from None
    except Exception as fault:
        raise ConfigError(f"importing '{name}' raised {words_of(fault)}; mend the module") from fault
    finally:
        if local:
            sys.path.remove(here)


def allowed() -> tuple[str, ...]:
    """The modules that were allowed, in alphabetical order."""
    return tuple(sorted(_allowed))


def module_of(reference: str) -> ModuleType:
    """The module of a reference `module:name`, if the user has imported it or allowed that; else nothing is imported."""
    name = reference.partition(":")[0]
    if name == NAMELESS:
        raise SpecError(f"'{reference[:80]}' stands for a Python object that no file can name; give the task itself in Python")
    top = name.partition(".")[0]
    known = name in sys.modules and top not in _OWN and top not in sys.stdlib_module_names and top != "__main__"
    if name in _allowed or known:
        if name not in sys.modules:
            _load(name)
        return sys.modules[name]
    shown = name[:60] if all(part.isidentifier() for part in name.split(".")) else "MODULE"
    raise SpecError(
        f"'{reference[:80]}' names code, which a task file cannot run by itself; if you trust it, add --import {shown} "
        f"to the command, or import {shown} in Python first"
    )


def function_of(reference: str) -> Callable[..., Any]:
    """The function behind `module:name`, defined in a module that the user has imported."""
    module, _, name = reference.partition(":")
    function = getattr(module_of(reference), name, None) if name.isidentifier() else None
    if not isinstance(function, FunctionType):
        came = f"a {type(function).__name__}" if function is not None else "not there"
        raise SpecError(f"'{reference[:80]}' should be a function of the module '{module[:60]}', and is {came}")
    return function


def reference_to(value: Callable[..., Any]) -> str | None:
    """`module:name` of a function that a task file can name; None for lambdas, inner functions and scripts."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if not module or module == "__main__" or not name.isidentifier():
        return None
    return f"{module}:{name}" if getattr(sys.modules.get(module), name, None) is value else None


def nameless(value: Any) -> str:
    """What stands for a Python object without a name where a run is stored."""
    return f"{NAMELESS}:{getattr(value, '__name__', type(value).__name__)}"
