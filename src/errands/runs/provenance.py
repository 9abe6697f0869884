"""Where a run came from: versions of everything that matters, the state of the code, the machine."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import stat
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CORE = ("numpy", "numba", "llvmlite", "gymnasium", "safetensors")
BY_WORLD = {"cheetah": ("mujoco",), "gymnasium": ("mujoco",)}
DEEP = ("jax", "jaxlib")
MAX_COMPARED = 200_000_000
"""Bytes of tracked files that are read to see whether they differ from git's index."""


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
    """Commit, and whether tracked files differ from the index, of the code and of the folder it was run in.

    Git's files are read; git is not run, since a folder's own settings can make it start other programs.
    """
    state = {}
    for name, place in (("errands", Path(__file__).parent), ("here", folder)):
        with suppress(OSError, ValueError, UnicodeDecodeError, struct.error):
            tree, store = _repository(place)
            state[f"{name}_commit"] = _commit(store)
            state[f"{name}_changed"] = "yes" if _changed(tree, store) else "no"
    return state


def changes_since(made: Mapping[str, str], git: Mapping[str, str]) -> list[str]:
    """What a run was made with (its versions, the commit of errands) and is not what there is now, in words."""
    now, here = {"python": platform.python_version(), **_installed(made)}, git_state(Path.cwd())
    changed = [(name, then, now.get(name, "absent")) for name, then in sorted(made.items())]
    # An installed errands has no commit: then its version is all that there is to compare.
    if {"errands_commit", "errands_changed"} <= git.keys() & here.keys():
        changed.append(("errands commit", _state(git), _state(here)))
    return [f"{name} {then} then, {today} now" for name, then, today in changed if then != today]


def _state(git: Mapping[str, str]) -> str:
    return git["errands_commit"][:10] + (" with changes" if git["errands_changed"] == "yes" else "")


def _installed(names: Iterable[str]) -> dict[str, str]:
    found = {}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _repository(folder: Path) -> tuple[Path, Path]:
    """The working tree that a folder lies in, and where git keeps its files."""
    for tree in (folder.resolve(), *folder.resolve().parents):
        store = tree / ".git"
        if store.is_file():  # a worktree or submodule: the file says where
            store = tree / _small(store).removeprefix("gitdir:").strip()
        if (store / "HEAD").is_file():
            return tree, store
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


def _changed(tree: Path, store: Path) -> bool:
    """Whether a tracked file is not as the index has it: by size and time, by content where the time differs."""
    index, left = store / "index", MAX_COMPARED
    data = index.read_bytes() if index.is_file() and index.stat().st_size < 50_000_000 else b""
    kind, version, count = struct.unpack(">4sLL", data[:12])
    if kind != b"DIRC" or version not in (2, 3):
        raise ValueError("an index of another kind")
    at = 12
    for _ in range(count):
        # An entry has its time of modification at byte 8, mode at 24, size at 36, SHA-1 at 40, flags at 60, name at 62.
        # Flag 0x4000 says that two more bytes of flags come before the name.
        seconds, nanoseconds, mode, size = (struct.unpack_from(">L", data, at + k)[0] for k in (8, 12, 24, 36))
        blob, flags = data[at + 40 : at + 60], struct.unpack_from(">H", data, at + 60)[0]
        begin = at + 62 + (2 if flags & 0x4000 else 0)
        end = data.index(b"\0", begin)
        name = data[begin:end].decode()
        at += (end - at + 8) // 8 * 8  # entries are padded with one to eight zeros
        if mode >> 12 != 0o10:
            continue  # links and submodules
        try:
            there = os.lstat(tree / name)
        except OSError:
            return True
        # Some builds of git store whole seconds only.
        same_time = (there.st_mtime_ns == seconds * 10**9 + nanoseconds) or (
            nanoseconds == 0 and there.st_mtime_ns // 10**9 == seconds
        )
        if there.st_size & 0xFFFFFFFF != size:
            return True
        if not same_time and stat.S_ISREG(there.st_mode):
            left -= there.st_size
            # The folder may be anybody's, and so may what its index names: then nothing is said.
            if left < 0 or not (tree / name).resolve().is_relative_to(tree):
                raise ValueError(name)
            # Git's name for a file's content: the SHA-1 of a short header and the bytes.
            content = (tree / name).read_bytes()
            if hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).digest() != blob:
                return True
    return False
