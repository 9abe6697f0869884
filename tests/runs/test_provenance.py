"""Versions, machine and git state are those of this process and this folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import errands
from errands.runs.provenance import computer, git_state, versions

NOBODYS = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
"""An environment in which git knows no settings of the user, such as to sign every commit."""


def test_versions_are_those_that_run_and_only_those_that_matter() -> None:
    found = versions("office", deep=False)
    assert found["numpy"] == np.__version__
    assert found["errands"] == errands.__version__
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert "mujoco" not in found
    assert "jax" not in found


def test_the_commit_of_a_folder_is_told(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", "-C", str(tmp_path), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=NOBODYS).stdout

    git("init", "-q")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-q", "-m", "a")
    assert git_state(tmp_path)["here_commit"] == git("rev-parse", "HEAD").strip()


def test_a_folder_without_git_has_no_state(tmp_path: Path) -> None:
    assert "here_commit" not in git_state(tmp_path)


def test_the_machine_is_told() -> None:
    assert int(computer()["cores"]) >= 1
