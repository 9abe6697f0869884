"""A machine as a picture's value: boxes and arrows, before anything is drawn (Figures 1b and 2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Node:
    """One box: a machine state with the text in it."""

    text: str
    status: int = 0
    """tables.RUNNING, SUCCESS or FAILURE."""
    initial: bool = False
    group: int | None = None
    """Coupled states of one group are occupied at once and share an ellipse."""


@dataclass(frozen=True)
class Edge:
    """One arrow: from and to are indices of nodes; equal for a self-loop."""

    source: int
    target: int
    guard: str
    reward: str


@dataclass(frozen=True)
class MachineGraph:
    """All boxes and arrows of one machine."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
