"""Code that a task file names (`kitchen:Kitchen-v0`, `labels:features`): imported only when the user says so."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from types import FunctionType, ModuleType
from typing import Any

from errands.errors import ConfigError, SpecError, words_of

NAMELESS = "<python>"
"""What stands for the module of a Python object that no file can name: a lambda, an inner function, an environment."""
_OURS = ("gymnasium", "errands")
"""Packages whose registered ids a file may always name, and whose functions never: `gymnasium.make` runs whatever it is told."""
_allowed: set[str] = set()


def allow(*names: str | Iterable[str]) -> None:
    """Let the code of modules in that task files and run folders name, as `--import` does on the command line.

    A file runs no code by itself, whatever this process has imported. Of an allowed module a file can name what the module
    (or, of a package, any of its modules) defines itself: environments, functions, and ids that it registered.

    Parameters:
        names: modules such as "kitchen", or lists of them, which are imported; those of the working folder are found last.

    >>> import errands
    >>> errands.allow("json")
    """
    for name in (name for given in names for name in ([given] if isinstance(given, str) else given)):
        if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
            raise ConfigError(f"'{str(name)[:60]}' cannot be imported; give the name of a module, such as kitchen")
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
    except KeyboardInterrupt:
        raise
    except BaseException as fault:
        raise ConfigError(f"importing '{name}' raised {words_of(fault)}; fix the module") from fault
    finally:
        if local:
            sys.path.remove(here)


@contextmanager
def isolated() -> Iterator[None]:
    """Python processes started inside do not look for modules in the working folder, where anybody's files may lie."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def allowed() -> tuple[str, ...]:
    """The modules that were allowed, in alphabetical order."""
    return tuple(sorted(_allowed))


def module_of(reference: str) -> ModuleType:
    """The module of a reference `module:name`, if the user has allowed it."""
    name = reference.partition(":")[0]
    if name == NAMELESS:
        raise SpecError(f"'{reference[:80]}' stands for a Python object that no file can name; give the task itself in Python")
    if name in _allowed:
        if name not in sys.modules:
            _load(name)
        return sys.modules[name]
    raise _refusal(f"'{reference[:80]}' names code", name)


def _refusal(what: str, module: str) -> SpecError:
    shown = module[:60] if all(part.isidentifier() for part in module.split(".")) else "MODULE"
    return SpecError(
        f"{what}, which a task file cannot run by itself; if you trust it, add --import {shown} to the command, "
        f"or errands.allow('{shown}') in Python"
    )


def function_of(reference: str) -> Callable[..., Any]:
    """The function behind `module:name`, defined in a module that the user has allowed."""
    # One that JAX has compiled, or a cache holds, is still a function of its module.
    return _defined(reference, "a function", lambda value: callable(value) and isinstance(inspect.unwrap(value), FunctionType))


def maker_of(reference: str) -> Callable[..., Any]:
    """What `module:name` makes environments with: a class of environments or a function, defined in a module that is allowed."""
    import gymnasium as gym

    def makes(value: object) -> bool:
        return isinstance(value, FunctionType) or (isinstance(value, type) and issubclass(value, gym.Env))

    return _defined(reference, "an environment or a function", makes)


def _defined(reference: str, wanted: str, fits: Callable[[object], bool]) -> Callable[..., Any]:
    module, _, name = reference.partition(":")
    # Not by getattr, which a module may answer with code of its own.
    value: Callable[..., Any] | None = vars(module_of(reference)).get(name)
    if value is None or not fits(value):
        came = f"a {type(value).__name__}" if value is not None else "not there"
        raise SpecError(f"'{reference[:80]}' should be {wanted} of the module '{module[:60]}', and is {came}")
    if not _lies_in(str(value.__module__), [module]):
        raise SpecError(
            f"'{reference[:80]}' is defined in '{value.__module__}', which '{module[:60]}' only imports; a file can name what a "
            "module defines itself: write a function there that calls it"
        )
    if isinstance(inspect.unwrap(value), FunctionType) and _lies_in(value.__module__, _OURS):
        raise SpecError(f"'{reference[:80]}' is a tool and no environment; a file can name ids of '{module[:60]}'")
    return value


def _lies_in(module: str, names: Iterable[str]) -> bool:
    """Whether a module is one of these or, where one of these is a package, part of it."""
    return any(module == name or module.startswith(f"{name}.") for name in names)


def registrar(name: str) -> str:
    """The module of the code behind a registered id; empty where nobody has registered it."""
    import gymnasium as gym

    spec = gym.registry.get(name)
    entry = spec.entry_point if spec is not None else None
    return entry.partition(":")[0] if isinstance(entry, str) else str(getattr(entry, "__module__", "") or "")


def check_id(name: str) -> None:
    """Refuse a registered id whose code is neither Gymnasium's, nor ours, nor of a module that the user has allowed."""
    module = registrar(name)
    if module and not _lies_in(module, (*_OURS, *_allowed)):
        raise _refusal(f"'{name[:80]}' is registered by code of '{module[:60]}'", module.partition(".")[0])


def reference_to(value: Callable[..., Any]) -> str | None:
    """`module:name` of a function that a task file can name; None for lambdas, inner functions and scripts."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if not module or module == "__main__" or not name.isidentifier():
        return None
    return f"{module}:{name}" if getattr(sys.modules.get(module), name, None) is value else None


def nameless(value: Any) -> str:
    """What stands for a Python object without a name where a run is stored."""
    return f"{NAMELESS}:{getattr(value, '__name__', type(value).__name__)}"
