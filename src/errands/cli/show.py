"""`errands show`: a task's machine as text, picture or data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from errands.cli.tell import Answer
from errands.errors import ConfigError


@dataclass(frozen=True)
class Arguments:
    """Draw a machine."""

    task: tyro.conf.Positional[str]
    """A catalogue name, the path of a task file, or of a machine in the 2022 text format (.txt)."""
    as_: Annotated[Literal["numeric", "boolean", "agenda", "coupled", "graph"], tyro.conf.arg(name="as")] = "numeric"
    """Which of the four machines, or the abstract graph that dirl searches."""
    format: Literal["text", "svg", "dot", "mermaid", "json"] = "text"
    """How it is written."""
    output: Path | None = None
    """Write to this file instead of printing."""
    map_seed: int = 0
    """The seed of random maps."""


def run(arguments: Arguments) -> Answer:
    """Draw the machine that was asked for."""
    from errands.cli.options import machine_named
    from errands.learners.dirl.graph import abstract_graph, picture
    from errands.machines import couple, unfold_agenda, unfold_boolean
    from errands.machines.graph import MachineGraph, graph_of
    from errands.plots.machine import FORMATS

    numeric = machine_named(arguments.task, arguments.map_seed)
    kinds: dict[str, Callable[[], MachineGraph]] = {
        "numeric": lambda: graph_of(numeric),
        "boolean": lambda: graph_of(unfold_boolean(numeric)),
        "agenda": lambda: graph_of(unfold_agenda(numeric)),
        "coupled": lambda: graph_of(couple(unfold_agenda(numeric))),
        "graph": lambda: picture(abstract_graph(numeric)),
    }
    graph = kinds[arguments.as_]()
    drawn = FORMATS[arguments.format](graph)
    if not isinstance(drawn, str):
        import json

        drawn = json.dumps(drawn, ensure_ascii=False, indent=1)
    machine = FORMATS["json"](graph)
    document = {"task": arguments.task, "as": arguments.as_, "states": len(graph.nodes), "machine": machine}
    if arguments.output is not None:
        try:
            arguments.output.write_text(drawn, encoding="utf-8")
        except OSError as fault:
            raise ConfigError(
                f"'{arguments.output}' cannot be written: {fault.strerror}; choose another --output"
            ) from None
        return Answer({**document, "file": str(arguments.output)}, f"wrote {arguments.output}")
    return Answer(document, drawn)
