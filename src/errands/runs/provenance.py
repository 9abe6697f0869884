"""Where a run came from: versions of everything that matters, the state of the code, the machine."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CORE = ("numpy", "numba", "llvmlite", "gymnasium", "safetensors")
BY_WORLD = {"cheetah": ("mujoco",), "gymnasium": ("mujoco",)}
DEEP = ("jax", "jaxlib")


def versions(world: str, deep: bool) -> dict[str, str]:
    """The versions on which the numbers of a run in this kind of world depend."""
    names = ("errands", *CORE, *BY_WORLD.get(world, ()), *(DEEP if deep else ()))
    return {"python": platform.python_version(), **_installed(names)}


def computer() -> dict[str, str | int]:
    """The machine in words."""
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count() or 1,
        "jit": "off" if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else "on",
    }


def git_state(folder: Path) -> dict[str, str]:
    """The commits of the code and of the folder it was run in.

    Git's files are read; git is not run, since a folder's own settings can make it start other programs.
    """
    state = {}
    for name, place in (("errands", Path(__file__).parent), ("here", folder)):
        with suppress(OSError, ValueError):
            state[f"{name}_commit"] = _commit(_repository(place))
    return state


def changes_since(made: Mapping[str, str], git: Mapping[str, str]) -> list[str]:
    """What a run was made with (its versions, the commit of errands) and is not what there is now, in words."""
    now, here = {"python": platform.python_version(), **_installed(made)}, git_state(Path.cwd())
    changed = [(name, then, now.get(name, "absent")) for name, then in sorted(made.items())]
    # An installed errands has no commit: then its version is all that there is to compare.
    if "errands_commit" in git.keys() & here.keys():
        changed.append(("errands commit", git["errands_commit"][:10], here["errands_commit"][:10]))
    return [f"{name} {then} then, {today} now" for name, then, today in changed if then != today]


def _installed(names: Iterable[str]) -> dict[str, str]:
    found = {}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _repository(folder: Path) -> Path:
    """Where git keeps the files of the working tree that a folder lies in."""
    for tree in (folder.resolve(), *folder.resolve().parents):
        store = tree / ".git"
        if store.is_file():  # a worktree or submodule: the file says where
            store = tree / _small(store).removeprefix("gitdir:").strip()
        if (store / "HEAD").is_file():
            return store
    raise FileNotFoundError(folder)


def _small(path: Path, most: int = 50_000_000) -> str:
    if not path.is_file() or path.stat().st_size > most:
        raise FileNotFoundError(path)
    return path.read_text(encoding="utf-8").strip()


def _commit(store: Path) -> str:
    """The commit that HEAD names: in a file of its own, or among the packed ones."""
    head = _small(store / "HEAD")
    shared = store / _small(store / "commondir") if (store / "commondir").is_file() else store
    if head.startswith("ref:"):
        name = head.removeprefix("ref:").strip()
        # The folder may be anybody's: HEAD must not make us read files outside git's own.
        if ".." in Path(name).parts or not name.startswith("refs/"):
            raise ValueError(name)
        own = next((place / name for place in (store, shared) if (place / name).is_file()), None)
        if own is not None:
            head = _small(own)
        else:
            lines = (line.split(" ") for line in _small(shared / "packed-refs").splitlines())
            head = next(line[0] for line in lines if line[1:] == [name])
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", head):
        raise ValueError(head)
    return head
