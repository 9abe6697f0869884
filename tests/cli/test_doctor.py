"""`errands doctor`: what is here, and what is known not to work, each fault with what to do."""

from __future__ import annotations

import importlib.metadata
import json
import os
from pathlib import Path

import pytest

from errands.cli import main
from errands.errors import install


def asked(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    code = main(["doctor", "--json"])
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return code, document


@pytest.fixture(autouse=True)
def healthy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder and a cache that can be written, and compiled kernels."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ERRANDS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")


def test_versions_cores_and_memory_are_those_of_this_machine(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, found = asked(capsys)
    assert found["versions"]["numpy"] == importlib.metadata.version("numpy")  # type: ignore[index]
    assert found["cores"] == len(os.sched_getaffinity(0))
    assert found["cache"]["kernels"] == 0  # type: ignore[index]
    assert found["cache"]["folder"].startswith(str(tmp_path))  # type: ignore[index]
    assert found["cache"]["writable"] is True  # type: ignore[index]


def test_a_switched_off_compiler_is_a_fault(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, before = asked(capsys)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    code, after = asked(capsys)
    assert code == 1
    (new,) = set(after["faults"]) - set(before["faults"])  # type: ignore[call-overload]
    assert new.startswith("NUMBA_DISABLE_JIT is set")
    assert main(["doctor"]) == 1
    assert f"fault: {new}" in capsys.readouterr().out


def test_a_missing_package_is_a_fault_with_what_to_type(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name in ("numba", "ray"):
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    code, found = asked(capsys)
    assert code == 1
    assert any("numba is missing; run: pip install" in fault for fault in found["faults"])  # type: ignore[attr-defined]
    main(["doctor"])
    assert f"not installed; run: {install('ray')}" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no owners of files as Unix has them")
def test_a_cache_that_others_may_write_is_a_fault(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    _, before = asked(capsys)
    (tmp_path / "cache").chmod(0o777)
    code, after = asked(capsys)
    (new,) = set(after["faults"]) - set(before["faults"])  # type: ignore[call-overload]
    assert (code, after["cache"]["others_write"]) == (1, str(tmp_path / "cache"))  # type: ignore[index]
    assert new.startswith(f"others own or may write {tmp_path / 'cache'}, so compiled kernels are not read")


def test_a_cache_that_cannot_be_written_is_a_fault(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: False if mode == os.W_OK else real(path, mode))
    code, found = asked(capsys)
    assert code == 1
    said = "\n".join(found["faults"])  # type: ignore[arg-type]
    assert "set ERRANDS_CACHE to a folder that can be written" in said
    assert "the current folder cannot be written" in said
