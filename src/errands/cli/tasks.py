"""`errands tasks`: the catalogue, with sizes and optima."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import Group

from errands.cli.options import OnMap
from errands.cli.verbs import Answer
from errands.machines import size
from errands.oracle.optimum import optimum
from errands.tasks.catalogue import CATALOGUE, load
from errands.terminal import table

SHOWN = ("figure-1", "corridor", "delivery-2", "delivery-8", "office-3", "office-6", "visit-5", "visit-12",
         "letters-6", "water-3", "water-5", "cheetah-bcd", "cheetah-bcde")  # fmt: skip


@dataclass(frozen=True)
class Arguments(OnMap):
    """List the catalogue."""



def run(arguments: Arguments) -> Answer:
    """List every family of tasks, and examples with what is known of them."""

    rows = [_row(name, arguments.map_seed) for name in SHOWN]
    families: list[dict[str, Any]] = [
        {"name": e.shown, "from": e.low or None, "to": e.high or None, "about": e.about} for e in CATALOGUE
    ]
    listed = table("Tasks by name; N is any number in the range", ("name", "N"), rest="what it is")
    for family in families:
        listed.add_row(family["name"], f"{family['from']}-{family['to']}" if family["from"] else "", family["about"])
    examples = table("Examples", ("task", "world"), ("agenda states", "coupled", "policies", "optimum"))
    for row in rows:
        optimum = "continuous world" if row["optimum"] is None else f"{row['optimum']:g}"
        sizes = f"{row['agenda']:,}", f"{row['coupled']:,}", str(row["policies"])
        examples.add_row(row["task"], row["world"], *sizes, optimum)
    return Answer({"families": families, "examples": rows}, Group(listed, examples))


def _row(name: str, map_seed: int) -> dict[str, Any]:

    task = load(name, map_seed)
    sizes = size(task.machine)
    return {
        "task": name,
        "world": task.world.kind,
        "agenda": sizes.agenda,
        "coupled": sizes.coupled,
        "policies": sizes.policies,
        # That of Water takes seconds: 'errands solve' has it.
        "optimum": None if task.finite is None else optimum(task).length,
    }
