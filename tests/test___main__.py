"""`python -m errands` is the same command, with the same exit codes."""

from __future__ import annotations

import subprocess
import sys

from errands import __version__


def errands(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "errands", *words], capture_output=True, text=True, check=False)


def test_it_tells_its_version_and_exits_well() -> None:
    done = errands("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"errands {__version__}\n", "")


def test_a_mistake_is_exit_code_two_and_one_line_on_standard_error() -> None:
    done = errands("sise", "figure-1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "errands: no verb is called 'sise'; did you mean 'size'?\n"
