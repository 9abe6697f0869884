"""`errands size`: how many states each machine of a task has, without building any."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass

import tyro

from errands.cli.tell import Answer

MOST_DIGITS = 20_000


@dataclass(frozen=True)
class Arguments:
    """Count the states of a task's machines."""

    task: tyro.conf.Positional[str]
    """A catalogue name or the path of a task file."""


def allow_digits() -> None:
    """Let exact sizes be printed: 4,096 subtasks have more orders than Python prints digits of by default."""
    sys.set_int_max_str_digits(MOST_DIGITS)


def run(arguments: Arguments) -> Answer:
    """Count them."""
    from errands.cli.options import machine_named
    from errands.machines import size

    machine = machine_named(arguments.task)
    sizes = size(machine)
    allow_digits()
    lines = [f"{'numeric':10} {len(machine):,}", *(f"{name:10} {count:,}" for name, count in asdict(sizes).items())]
    return Answer({"task": arguments.task, "numeric": len(machine), **asdict(sizes)}, "\n".join(lines))
