"""`errands show`: a task's machine as text, picture or data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from errands.cli.options import OnMap, machine_named
from errands.cli.verbs import Answer, Positional
from errands.errors import ConfigError
from errands.learners.dirl.graph import abstract_graph, picture
from errands.machines import KINDS
from errands.machines.graph import graph_of


@dataclass(frozen=True)
class Arguments(OnMap):
    """Draw a machine."""

    task: Positional[str]
    """A catalogue name, or the path of a task file or of a machine of others (.txt, .json, .yaml; see errands lint)."""
    as_: Literal["numeric", "boolean", "agenda", "coupled", "graph"] = "numeric"
    """Which of the four machines, or the abstract graph that dirl searches."""
    format: Literal["text", "svg", "dot", "json"] = "text"
    """How it is written."""
    output: Path | None = None
    """Write to this file instead of printing."""


def run(arguments: Arguments) -> Answer:
    """Draw the machine that was asked for."""
    from errands.plots.machine import FORMATS

    numeric = machine_named(arguments.task, arguments.map_seed)
    kind = arguments.as_
    graph = picture(abstract_graph(numeric)) if kind == "graph" else graph_of(KINDS[kind](numeric))
    drawn = FORMATS[arguments.format](graph)
    if not isinstance(drawn, str):
        drawn = json.dumps(drawn, ensure_ascii=False, indent=1)
    machine = FORMATS["json"](graph)
    document = {"task": arguments.task, "as": kind, "states": len(graph.nodes), "machine": machine}
    if arguments.output is not None:
        try:
            arguments.output.write_text(drawn, encoding="utf-8")
        except OSError as fault:
            raise ConfigError(
                f"'{arguments.output}' cannot be written: {fault.strerror}; choose another --output"
            ) from None
        return Answer({**document, "file": str(arguments.output)}, f"wrote {arguments.output}")
    return Answer(document, drawn)
