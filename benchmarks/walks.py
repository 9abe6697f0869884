"""How many files of errands a command walks through: those in which a function body runs, in order of the first call.

The commands are toys of the three walks of the house plan. Threads and this process count; processes that a command starts
do not, so everything is trained in this one.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import threading
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

import errands
from errands.cli import main

SOURCES = str(Path(errands.__file__).parent) + os.sep
WALKS = {
    "train office-1 qcorm": ["train", "office-1", "qcorm", "--steps", "60", "--quiet"],
    "train water-3 qcorm": [
        "train", "water-3", "qcorm", "--steps", "60", "--quiet", "--set", "width=8", "--set", "warmup=20", "--set", "batch=8",
        "--set", "eval_every=30",
    ],
    "reproduce office-3 --dry-run": ["reproduce", "office-3", "--dry-run", "--quiet"],
}  # fmt: skip


def imports(frame: FrameType | None) -> bool:
    """Whether a call comes from the import of a module of errands."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(SOURCES):
            return True
        frame = frame.f_back
    return False


def walked(words: list[str]) -> list[str]:
    """The files in which a function ran while a command did, in order of the first call."""
    files: dict[str, None] = {}

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        # Bodies of modules and classes are not functions, and what runs while they are imported is no visit.
        if event == "call" and code.co_filename.startswith(SOURCES) and code.co_flags & CO_OPTIMIZED and not imports(frame):
            files.setdefault(code.co_filename.removeprefix(SOURCES))

    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        threading.setprofile(watch)
        sys.setprofile(watch)
        try:
            assert main(words) in (0, 1)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            os.chdir(here)
    return list(files)


if __name__ == "__main__":
    for title, words in WALKS.items():
        files = walked(words)
        print(f"{title}: {len(files)} files, {sum('learners/engines/deep/' in f for f in files)} of them in learners/deep")
        if "--list" in sys.argv:
            print("  " + " ".join(files))
