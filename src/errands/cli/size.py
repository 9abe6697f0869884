"""`errands size`: how many states each machine of a task has, without building any."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from errands.cli.options import allow_digits, count_text, machine_named
from errands.cli.verbs import Answer, Positional
from errands.machines import size


@dataclass(frozen=True)
class Arguments:
    """Count the states of a task's machines."""

    task: Positional[str]
    """A catalogue name or the path of a task file."""


def run(arguments: Arguments) -> Answer:
    """Count them."""
    machine = machine_named(arguments.task)
    sizes = size(machine)
    allow_digits()
    lines = [f"{'numeric':10} {len(machine):,}", *(f"{name:10} {count_text(count)}" for name, count in asdict(sizes).items())]
    return Answer({"task": arguments.task, "numeric": len(machine), **asdict(sizes)}, "\n".join(lines))
