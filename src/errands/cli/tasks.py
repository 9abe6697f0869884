"""`errands tasks`: the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from errands.cli.verbs import Answer
from errands.tasks.catalogue import CATALOGUE
from errands.terminal import table


@dataclass(frozen=True)
class Arguments:
    """List the catalogue."""


def run(arguments: Arguments) -> Answer:
    """List every family of tasks."""
    families: list[dict[str, Any]] = [
        {"name": e.shown, "from": e.low or None, "to": e.high or None, "about": e.about} for e in CATALOGUE
    ]
    listed = table("Tasks by name; N is any number in the range", ("name", "N"), rest="what it is")
    for family in families:
        listed.add_row(family["name"], f"{family['from']}-{family['to']}" if family["from"] else "", family["about"])
    return Answer({"families": families}, listed)
