"""Pictures of machines by the name of their format (Figures 1b and 2): text, SVG, DOT, Mermaid, JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from errands.machines.graph import MachineGraph
from errands.plots.machine_code import as_dot, as_json, as_mermaid
from errands.plots.machine_svg import as_svg
from errands.plots.machine_text import as_text

FORMATS: Mapping[str, Callable[[MachineGraph], str | dict[str, Any]]] = {
    "text": as_text,
    "svg": as_svg,
    "dot": as_dot,
    "mermaid": as_mermaid,
    "json": as_json,
}
"""How `errands show --format` draws a machine."""

__all__ = ["FORMATS", "as_dot", "as_json", "as_mermaid", "as_svg", "as_text"]
