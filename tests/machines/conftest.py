"""Packages of others whose machines are imported here: fetched once, unpacked, never installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PEERS = Path(__file__).parents[2] / ".pytest_cache" / "peers"


def fetched(requirement: str, *options: str) -> Path:
    """The folder in which an archive of a package lies unpacked; skipped where none can be had."""
    folder = PEERS / requirement.replace("=", "-")
    if not folder.exists():
        new = folder.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--retries", "0", "--timeout", "10"]
        done = subprocess.run([*words, *options, "-d", new, requirement], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{requirement} cannot be fetched here")
        for archive in list(new.iterdir()):
            if archive.suffix == ".whl":
                zipfile.ZipFile(archive).extractall(new)
            else:
                shutil.unpack_archive(archive, new, filter="data")
        new.rename(folder)
    return folder


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Puts such a package on the path, for one test."""
    before = set(sys.modules)

    def on_path(requirement: str, *options: str, inside: str = ".") -> Path:
        folder = fetched(requirement, *options) / inside
        monkeypatch.syspath_prepend(folder)
        return folder

    yield on_path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("pycrm", "examples", "multiagent_rlrm"):
            del sys.modules[name]
