"""The command that was typed, written again from what was understood: what figures and reports are marked with."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any


def typed(verb: str, arguments: Any) -> str:
    """The command line of a verb's arguments; what has its default value is left out."""
    words, options = ["errands", verb], list[str]()
    for field in dataclasses.fields(arguments):
        value = getattr(arguments, field.name)
        if value == field.default or value is None:
            continue
        values = [str(v) for v in value] if isinstance(value, tuple | list) else [str(value)]
        flag = f"--{field.name.strip('_').replace('_', '-')}"
        if "Positional" in str(field.type):
            words += values
        elif isinstance(value, bool):
            options.append(flag if value else f"--no-{flag[2:]}")
        else:
            options += [flag, *values]
    return shlex.join([*words, *options])
