"""`errands doctor`: what this machine has, and what is known not to work."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from errands import __version__
from errands.cli.verbs import Answer
from errands.errors import install
from errands.kernels import PLAIN, cache_folder, stranger
from errands.learners.base import cores, memory

CORE = ("numpy", "numba", "gymnasium", "pydantic", "rich", "safetensors", "matplotlib")
EXTRAS = {
    "deep": ("jax", "jaxtyping"),
    "mujoco": ("mujoco", "imageio"),
    "viewer": ("starlette", "uvicorn"),
    "ray": ("ray",),
    "sb3": ("stable-baselines3",),
    "tensorboard": ("tensorboardX",),
}
DRAWN_BY = ("screen", "egl", "osmesa")


@dataclass(frozen=True)
class Arguments:
    """Look at this machine."""


def run(arguments: Arguments) -> Answer:
    """Report what was found; the exit code is 1 when something is known not to work."""

    document: dict[str, Any] = {
        "errands": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": cores(),
        "memory_gb": round(memory() / 1e9, 1),
        "versions": {name: _version(name) for name in CORE},
        "extras": {extra: {name: _version(name) for name in names} for extra, names in EXTRAS.items()},
        "gpu": _gpu(),
        "rendering": {
            "screen": bool(os.environ.get("DISPLAY")),
            "egl": find_library("EGL") is not None,
            "osmesa": find_library("OSMesa") is not None,
            "MUJOCO_GL": os.environ.get("MUJOCO_GL"),
        },
        "cache": _cache(),
    }
    document["faults"] = _faults(document)
    return Answer(document, "\n".join(_lines(document)), int(bool(document["faults"])))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _gpu() -> dict[str, Any]:
    """What the driver says, and what jax would use; jax is asked only where it is installed."""
    gpu: dict[str, Any] = {"driver": None, "jax": None}
    if tool := shutil.which("nvidia-smi"):
        asked = [tool, "--query-gpu=name,driver_version", "--format=csv,noheader"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=20)  # noqa: S603 (a fixed command)
        gpu["driver"] = done.stdout.strip() or None
    if importlib.util.find_spec("jax"):
        import jax

        gpu["jax"] = sorted({device.platform for device in jax.devices()})
    return gpu


def _cache() -> dict[str, Any]:

    folder = cache_folder()
    files = list(folder.glob("*/*.bin"))
    place = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return {
        "folder": str(folder),
        "kernels": len(files),
        "megabytes": round(sum(f.stat().st_size for f in files) / 1e6, 1),
        "plain": PLAIN,
        "writable": os.access(place, os.W_OK),
        "others_write": next((str(path) for path in map(stranger, (folder, *files)) if path), None),
    }


def _faults(machine: dict[str, Any]) -> list[str]:
    """Combinations that are known not to work, each with what to do."""
    drawn = any(machine["rendering"][kind] for kind in DRAWN_BY)
    known = {
        "compiled kernels cannot be kept and every start takes 20 s; set ERRANDS_CACHE to a folder that can be written":
            not machine["cache"]["writable"],
        f"others own or may write {machine['cache']['others_write']}, so compiled kernels are not read from there and every start "
        "takes 20 s; run: chmod go-w on it, or set ERRANDS_CACHE to a folder of your own":
            machine["cache"]["others_write"],
        "there is a GPU but this jax uses the CPU only; run: pip install jax[cuda13]":
            machine["gpu"]["driver"] and machine["gpu"]["jax"] == ["cpu"],
        "MuJoCo has nothing to draw with (no screen, EGL or OSMesa); install libegl1 to render HalfCheetah":
            _version("mujoco") and not drawn,
        "NUMBA_DISABLE_JIT is set: every learner runs in plain Python, some hundred times slower; unset it":
            os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"),
        "the current folder cannot be written, and runs are stored in it; change to another":
            Path.cwd() != Path("/") and not os.access(Path.cwd(), os.W_OK),
    }  # fmt: skip
    missing = [f"{name} is missing; run: {install()}" for name, version in machine["versions"].items() if version is None]
    return missing + [sentence for sentence, holds in known.items() if holds]


def _lines(machine: dict[str, Any]) -> Iterator[str]:
    yield f"errands {machine['errands']}, Python {machine['python']}, {machine['system']}"
    yield f"{machine['cores']} cores, {machine['memory_gb']} GB"
    yield "core        " + ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    for extra, versions in machine["extras"].items():
        have = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
        yield f"{extra:11} " + (have if all(versions.values()) else f"not installed; run: {install(extra)}")
    gpu = machine["gpu"]
    yield f"gpu         {gpu['driver'] or 'none'}; jax uses {', '.join(gpu['jax']) if gpu['jax'] else 'nothing'}"
    drawn = [kind for kind in DRAWN_BY if machine["rendering"][kind]]
    yield f"drawing     {', '.join(drawn) or 'nothing to draw MuJoCo with'}"
    cache = machine["cache"]
    by = "; kernels are compiled as numba does by itself" if cache["plain"] else ""
    yield f"cache       {cache['kernels']} files, {cache['megabytes']} MB in {cache['folder']}{by}"
    yield ""
    yield from (f"fault: {fault}" for fault in machine["faults"]) if machine["faults"] else ["No known faults."]
