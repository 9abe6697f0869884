"""Where a run came from: versions of everything that matters, the state of the code, the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CORE = ("numpy", "numba", "llvmlite", "gymnasium", "safetensors")
BY_WORLD = {"cheetah": ("mujoco",), "gymnasium": ("mujoco",)}
DEEP = ("jax", "jaxlib")


def versions(world: str, deep: bool) -> dict[str, str]:
    """The versions on which the numbers of a run in this kind of world depend."""
    found = {"python": platform.python_version()}
    for name in ("errands", *CORE, *BY_WORLD.get(world, ()), *(DEEP if deep else ())):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def computer() -> dict[str, str | int]:
    """The machine in words."""
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count() or 1,
        "jit": "off" if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else "on",
    }


def git_state(folder: Path) -> dict[str, str]:
    """Commit, and whether files differ from it, of the code and of the folder it was run in; empty without git."""
    found = {}
    for name, place in (("errands", Path(__file__).parent), ("here", folder)):
        commit = _git(place, "rev-parse", "HEAD")
        if commit:
            found[f"{name}_commit"] = commit
            found[f"{name}_changed"] = "yes" if _git(place, "status", "--porcelain", "--untracked-files=no") else "no"
    return found


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "--no-optional-locks", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
