"""The formats by name."""

from __future__ import annotations

from errands.machines.graph import MachineGraph
from errands.plots.machine import FORMATS


def test_the_formats_are_those_of_the_command() -> None:
    assert list(FORMATS) == ["text", "svg", "dot", "mermaid", "json"]


def test_every_format_draws_every_machine(graph: MachineGraph) -> None:
    for name, draw in FORMATS.items():
        assert isinstance(draw(graph), dict if name == "json" else str)
