"""What a user means by the name of a task."""

from __future__ import annotations

from pathlib import Path

from errands.errors import SpecError
from errands.machines.numeric import NumericRM
from errands.tasks.catalogue import load


def machine_named(name: str, map_seed: int = 0) -> NumericRM:
    """The numeric machine of a task, or of a file in the 2022 text format."""
    if name.endswith(".txt"):
        from errands.machines.text2022 import parse_text2022

        return parse_text2022(read_text(Path(name)))
    return load(name, map_seed).machine


def read_text(path: Path, most: int = 1_000_000) -> str:
    """The text of a user's file, when it is one and not too large."""
    try:
        if path.stat().st_size > most:
            raise SpecError(f"{path} is larger than {most:,} bytes; a task file is smaller")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SpecError(f"there is no file '{path}'; check the path") from None
    except (OSError, UnicodeDecodeError) as fault:
        raise SpecError(f"'{path}' cannot be read as text: {fault}") from None
